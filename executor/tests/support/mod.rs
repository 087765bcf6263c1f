//! What the tests of this crate share. Each of them uses a part of it.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod child;

use std::future::poll_fn;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::task::{Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use windlass_executor::Runtime;

/// Longer than anything here takes, on a machine that is busy with other things.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Ends the process if it is not dropped in time: a test that hangs says so.
pub(crate) struct TimeLimit {
    _done: Sender<()>,
}

/// Bounds the test that holds the result.
pub(crate) fn limit() -> TimeLimit {
    let (done, wait) = mpsc::channel::<()>();
    let test = thread::current().name().unwrap_or("a test").to_owned();
    thread::spawn(move || {
        if wait.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{test} hangs: {LIMIT:?} are over");
            std::process::abort();
        }
    });
    TimeLimit { _done: done }
}

/// Makes a runtime of so many workers.
pub(crate) fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).build().unwrap()
}

/// Runs `test` with a runtime of one worker, of two and of four.
pub(crate) fn each_runtime(test: impl Fn(Runtime)) {
    for workers in [1, 2, 4] {
        println!("{workers} workers");
        let _limit = limit();
        test(runtime(workers));
    }
}

/// Tells on which thread it was dropped.
pub(crate) struct TellsDrop(Sender<ThreadId>);

impl Drop for TellsDrop {
    fn drop(&mut self) {
        let _ = self.0.send(thread::current().id());
    }
}

/// Makes something to be dropped, and what learns of it.
pub(crate) fn tells_drop() -> (TellsDrop, Dropped) {
    let (sender, receiver) = mpsc::channel();
    (TellsDrop(sender), Dropped(receiver))
}

/// Learns that a [`TellsDrop`] was dropped.
pub(crate) struct Dropped(Receiver<ThreadId>);

impl Dropped {
    /// Waits for it, and returns the thread.
    #[track_caller]
    pub(crate) fn wait(&self) -> ThreadId {
        self.0.recv_timeout(LIMIT).expect("it is never dropped")
    }

    /// Says whether it has happened, once.
    pub(crate) fn has_happened(&self) -> bool {
        self.0.try_recv().is_ok()
    }
}

/// Waits until `done` says so.
#[track_caller]
pub(crate) fn wait_until(mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < end, "it does not come about");
        thread::yield_now();
    }
}

/// A waker that panics.
pub(crate) fn panicking_waker() -> Waker {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: std::sync::Arc<Self>) {
            panic_quietly();
        }
    }
    std::sync::Arc::new(Panics).into()
}

/// Panics without a message from the hook.
pub(crate) fn panic_quietly() -> ! {
    std::panic::resume_unwind(Box::new("on purpose"))
}

/// Panics when it is dropped.
pub(crate) struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic_quietly();
    }
}

/// Waits for ever, and leaves its waker behind.
pub(crate) async fn waits(waker: Sender<Waker>, _tell: TellsDrop) {
    poll_fn(|context| {
        let _ = waker.send(context.waker().clone());
        Poll::<()>::Pending
    })
    .await;
}
