//! Runs a future on the thread that asks for it: as a worker, or as a guest.
//!
//! The first thread in `block_on` takes the *seat* of worker 0 and runs tasks as well. Whoever
//! comes while the seat is taken is a guest: it runs its own future, and sleeps by itself; its
//! sockets and timers are served by the process's own reactor.

use crate::context::{self, Context, Queues};
use crate::pinned::{self, Pinned};
use crate::queue::Own;
use crate::runtime::Shared;
use crate::task::{Runnable, discard, discard_panic};
use crate::wait::wait;
use crate::watch::Tenant;
use crate::worker::{Goal, Worker};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{self, Poll, Wake, Waker};
use std::thread;
use windlass_reactor::{Handle as ReactorHandle, Reactor, late};

/// The index of the worker that is whoever calls `block_on`.
const SEAT: usize = 0;

/// What the worker in the seat has of its own, while nobody sits there.
pub(crate) struct Seat {
    pub(crate) reactor: Reactor,
    /// The own queue, which is empty.
    ready: Own<Runnable>,
    /// The waker of the last root future, to be used again once nobody else has it.
    pub(crate) root: Arc<Root>,
}

impl Seat {
    pub(crate) fn new(reactor: Reactor, ready: Own<Runnable>) -> Self {
        Self {
            reactor,
            ready,
            root: Arc::new(Root::new(Weak::new())),
        }
    }
}

/// Runs `future` on this thread until it is done; see [`Runtime::block_on`].
#[track_caller]
pub(crate) fn block_on_runtime<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    shared.refuse_if_inherited();
    if context::is_entered() {
        step_aside(|| visit(shared, future))
    } else {
        sit_or_visit(shared, future)
    }
}

pub(crate) fn sit_or_visit<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    let seat = shared.seat.lock().take();
    match seat {
        Some(seat) => sit(shared, seat, future),
        None => visit(shared, future),
    }
}

/// Blocks a thread that turns a reactor: what waits on it goes elsewhere meanwhile.
pub(crate) fn step_aside<R>(body: impl FnOnce() -> R) -> R {
    match ReactorHandle::current() {
        Some(reactor) => reactor.step_aside(body),
        None => body(),
    }
}

/// Runs `future` by itself; others run the tasks that it spawns.
fn visit<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    let context = Context {
        shared: shared.clone(),
        queues: None,
    };
    context::enter(context, || wait(future)).0
}

/// Runs `future`, and tasks, as the worker in the seat.
fn sit<F: Future>(shared: &Arc<Shared>, mut seat: Seat, future: F) -> F::Output {
    if Arc::strong_count(&seat.root) > 1 || seat.root.shared.strong_count() == 0 {
        seat.root = Arc::new(Root::new(Arc::downgrade(shared)));
    }
    seat.root.expect_poll();
    let mut seated = Seated::sit_down(shared, seat);
    let mut result = None;
    // Not returned by the closure: what a block returns is leaked if what it drops then panics.
    let dropped = contain(|| {
        let future = pin!(future);
        result = Some(seated.run(future));
    });
    // The seat is free for the next whatever the future did.
    seated.stand_up();
    match (result, dropped) {
        (Some(Ok(output)), Ok(())) => output,
        // Of two panics the first tells more, as in tasks.
        (Some(Err(panic)), dropped) => {
            discard_panic(dropped);
            resume_unwind(panic)
        }
        (output, Err(panic)) => {
            discard(output);
            resume_unwind(panic)
        }
        (None, Ok(())) => unreachable!("it has run, or panicked"),
    }
}

/// A thread that is the worker in the seat, until it stands up.
pub(crate) struct Seated {
    shared: Arc<Shared>,
    pinned: Arc<Pinned>,
    root: Arc<Root>,
    worker: Worker,
    /// What the thread had entered before.
    outer_context: Option<Context>,
    outer_reactor: Option<ReactorHandle>,
}

impl Seated {
    pub(crate) fn sit_down(shared: &Arc<Shared>, seat: Seat) -> Self {
        let pinned = pinned::of_this_thread(shared);
        pinned.arrive(shared, SEAT);
        let Seat {
            reactor,
            ready,
            root,
        } = seat;
        shared.posts[SEAT].settle(Tenant {
            pinned: Arc::downgrade(&pinned),
            root: Arc::downgrade(&root),
        });
        reactor.attach();
        let handle = reactor.handle().clone();
        let worker = Worker::new(shared.clone(), SEAT, pinned.clone(), reactor);
        let context = Context {
            shared: shared.clone(),
            queues: Some(Queues::new(ready, pinned.clone())),
        };
        Self {
            shared: shared.clone(),
            pinned,
            root,
            worker,
            outer_context: context::replace(Some(context)),
            outer_reactor: late::replace_current(Some(handle)),
        }
    }

    /// Goes on until `future` is done, which was polled just now.
    pub(crate) fn go_on<F: Future>(&mut self, future: Pin<&mut F>) -> thread::Result<F::Output> {
        self.root.is_running.store(false, Ordering::Relaxed);
        let mut goal = RootFuture::new(future, &self.root);
        contain(|| self.worker.run_on(&mut goal))
    }

    /// Runs until `future` is done. The panics of either are returned.
    fn run<F: Future>(&mut self, future: Pin<&mut F>) -> thread::Result<F::Output> {
        let mut goal = RootFuture::new(future, &self.root);
        contain(|| self.worker.run(&mut goal))
    }

    pub(crate) fn stand_up(self) {
        let Self {
            shared,
            pinned,
            root,
            worker,
            ..
        } = self;
        late::replace_current(self.outer_reactor);
        let context = context::replace(self.outer_context);
        pinned.leave();
        shared.posts[SEAT].settle(Tenant::default());
        let queues = context.and_then(|context| context.queues);
        let queues = queues.expect("what is entered is left in the reverse order");
        let ready = hand_over(&shared, &pinned, queues);
        pinned::close_if_unlisted(&pinned);
        let mut reactor = worker.into_reactor();
        reactor.detach();
        *shared.seat.lock() = Some(Seat {
            reactor,
            ready,
            root,
        });
    }
}

pub(crate) fn contain<R>(code: impl FnOnce() -> R) -> thread::Result<R> {
    catch_unwind(AssertUnwindSafe(code))
}

/// Leaves what is ready to others, or to the next who sits down; returns the empty queue.
fn hand_over(shared: &Shared, pinned: &Pinned, queues: Queues) -> Own<Runnable> {
    let Queues {
        mut ready,
        pinned_ready,
        ..
    } = queues;
    let (placed, own) = pinned_ready.into_iter().partition(Runnable::is_placed);
    pinned.keep(own);
    shared.places[SEAT].keep(placed);
    if !ready.is_empty() {
        shared.queue.push_all(ready.take_all());
        shared.wake_one();
    }
    ready
}

/// A future that a worker runs besides tasks, and for the sake of which it runs.
struct RootFuture<'a, F> {
    future: Pin<&'a mut F>,
    root: &'a Root,
    waker: Waker,
}

impl<'a, F: Future> RootFuture<'a, F> {
    fn new(future: Pin<&'a mut F>, root: &'a Arc<Root>) -> Self {
        Self {
            future,
            root,
            waker: Waker::from(root.clone()),
        }
    }
}

impl<F: Future> Goal for RootFuture<'_, F> {
    type Output = F::Output;

    fn check(&mut self) -> Option<F::Output> {
        if !self.is_due() || !self.root.is_woken.swap(false, Ordering::SeqCst) {
            return None;
        }
        self.root.is_running.store(true, Ordering::Relaxed);
        let mut context = task::Context::from_waker(&self.waker);
        let polled = self.future.as_mut().poll(&mut context);
        self.root.is_running.store(false, Ordering::Relaxed);
        match polled {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    fn is_due(&self) -> bool {
        self.root.is_due()
    }
}

/// Wakes a root future.
pub(crate) struct Root {
    is_woken: AtomicBool,
    /// It is being polled; for who looks in.
    is_running: AtomicBool,
    shared: Weak<Shared>,
}

impl Root {
    fn new(shared: Weak<Shared>) -> Self {
        Self {
            is_woken: AtomicBool::new(false),
            is_running: AtomicBool::new(false),
            shared,
        }
    }

    /// Says that the future is to be polled, whether or not it is woken.
    fn expect_poll(&self) {
        self.is_woken.store(true, Ordering::Relaxed);
        self.is_running.store(false, Ordering::Relaxed);
    }

    /// Says that the future is about to be polled for the first time.
    #[inline(always)]
    pub(crate) fn begin_first_poll(&self) {
        self.is_woken.store(false, Ordering::Relaxed);
        self.is_running.store(true, Ordering::Relaxed);
    }

    /// Says whether the future is being polled.
    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Relaxed)
    }

    /// Says whether the future is to be polled.
    pub(crate) fn is_due(&self) -> bool {
        self.is_woken.load(Ordering::SeqCst)
    }
}

impl Wake for Root {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_woken.swap(true, Ordering::SeqCst) {
            if let Some(shared) = self.shared.upgrade() {
                // The worker itself is awake, and looks before it sleeps.
                if context::index_in(&shared) != Some(SEAT) {
                    shared.wake_worker(SEAT);
                }
            }
        }
    }
}
