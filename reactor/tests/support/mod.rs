//! What the tests of this crate share. Each of them uses a part of it.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod child;
pub(crate) mod emulation;
pub(crate) mod system;

use std::future::Future;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};
use windlass_reactor::{Async, Backend, Event, Events, Handle, NotifierKind, Poller, Reactor};

/// Longer than anything that is to happen takes, also on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(10);

/// The shortest wait that `backend` knows, apart from none at all: the tick of its clock.
pub(crate) fn shortest_wait(backend: Backend) -> Duration {
    match backend {
        Backend::DevPoll => Duration::from_millis(10),
        _ => Duration::ZERO,
    }
}

/// Runs `test` with a poller of every back end and notifier that this machine has.
pub(crate) fn each_poller(test: impl Fn(&Poller)) {
    for backend in back_ends() {
        for notifier in NotifierKind::ALL {
            let Ok(poller) = Poller::with_notifier(backend, *notifier) else {
                println!("{backend} with {notifier}: not here");
                continue;
            };
            println!("{backend} with {notifier}");
            let _limit = TimeLimit::of(Duration::from_secs(60));
            test(&poller);
        }
    }
}

/// Runs `test` with a reactor on every back end and notifier that this machine has.
pub(crate) fn each_reactor(test: impl Fn(Reactor)) {
    for backend in back_ends() {
        for notifier in NotifierKind::ALL {
            let Ok(poller) = Poller::with_notifier(backend, *notifier) else {
                continue;
            };
            println!("{backend} with {notifier}");
            let _limit = TimeLimit::of(Duration::from_secs(60));
            test(Reactor::with_poller(poller));
        }
    }
}

/// The back ends that work here; only one if the environment variable `WINDLASS_TEST_ONLY` names it.
pub(crate) fn back_ends() -> Vec<Backend> {
    let mut works = Backend::available();
    if let Ok(name) = std::env::var("WINDLASS_TEST_ONLY") {
        works.retain(|backend| backend.name() == name);
        assert!(!works.is_empty(), "{name} does not work here");
    }
    works
}

/// Ends the process if it is not dropped in time: a test that hangs says so.
pub(crate) struct TimeLimit {
    _done: mpsc::Sender<()>,
}

impl TimeLimit {
    pub(crate) fn of(limit: Duration) -> Self {
        let (done, wait) = mpsc::channel::<()>();
        let test = thread::current().name().unwrap_or("a test").to_owned();
        thread::spawn(move || {
            if wait.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("{test} hangs: {limit:?} are over");
                std::process::abort();
            }
        });
        Self { _done: done }
    }
}

/// Waits once, for `timeout` at the most, and returns what came.
#[track_caller]
pub(crate) fn wait(poller: &Poller, timeout: Duration) -> Vec<Event> {
    let mut events = Events::new();
    poller.wait(&mut events, Some(timeout)).unwrap();
    events.iter().copied().collect()
}

/// Waits until an event comes.
#[track_caller]
pub(crate) fn wait_for_one(poller: &Poller) -> Event {
    let events = wait(poller, LONG);
    assert_eq!(events.len(), 1, "{events:?}");
    events[0]
}

/// Fails if there is an event now.
#[track_caller]
pub(crate) fn expect_nothing(poller: &Poller) {
    let events = wait(poller, Duration::ZERO);
    assert!(events.is_empty(), "{events:?}");
}

/// Counts how often it is woken.
#[derive(Default)]
pub(crate) struct CountingWaker {
    wakes: AtomicUsize,
}

impl CountingWaker {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let counter = Arc::new(Self::default());
        (counter.clone(), Waker::from(counter))
    }

    pub(crate) fn count(&self) -> usize {
        self.wakes.load(Ordering::SeqCst)
    }
}

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
    }
}

/// Two ends that are connected: one for futures, one that blocks.
pub(crate) fn pair() -> (Async<UnixStream>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (Async::new(ours).unwrap(), theirs)
}

/// Reads a little.
pub(crate) fn read(mut stream: &UnixStream) -> std::io::Result<usize> {
    stream.read(&mut [0; 16])
}

/// Polls once with `waker`.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Runs `future` on this thread, which turns `reactor` whenever there is nothing else to do.
pub(crate) fn run_on<F: Future>(reactor: &mut Reactor, future: F) -> F::Output {
    struct EndsTurn {
        woken: AtomicBool,
        handle: Handle,
    }
    impl Wake for EndsTurn {
        fn wake(self: Arc<Self>) {
            self.woken.store(true, Ordering::SeqCst);
            self.handle.notify().unwrap();
        }
    }
    let handle = reactor.handle().clone();
    let state = Arc::new(EndsTurn {
        woken: AtomicBool::new(true),
        handle: handle.clone(),
    });
    let waker = Waker::from(state.clone());
    let mut future = pin!(future);
    loop {
        while state.woken.swap(false, Ordering::SeqCst) {
            let polled = handle.enter(|| future.as_mut().poll(&mut Context::from_waker(&waker)));
            if let Poll::Ready(output) = polled {
                return output;
            }
        }
        reactor.turn(None).unwrap();
    }
}

/// Turns `reactor` until `done` says so.
#[track_caller]
pub(crate) fn turn_until(reactor: &mut Reactor, done: impl Fn() -> bool) {
    let end = Instant::now() + LONG;
    while !done() {
        assert!(Instant::now() < end, "it does not come about");
        reactor.turn(Some(Duration::from_millis(5))).unwrap();
    }
}

/// Looks until `done` says so.
#[track_caller]
pub(crate) fn look_until(done: impl Fn() -> bool) {
    let end = Instant::now() + LONG;
    while !done() {
        assert!(Instant::now() < end, "it does not come about");
        thread::sleep(Duration::from_micros(200));
    }
}
