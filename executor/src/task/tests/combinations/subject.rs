//! The future that is played with, and the other thread.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::task::Waker;
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::super::*;
use super::cases::{self, Case, Panics, When};

/// What is seen of a task from outside.
#[derive(Default)]
pub(super) struct Tally {
    /// The waker of the last poll.
    pub(super) waker: Mutex<Option<Waker>>,
    /// What to do inside the future, when the time has come.
    pub(super) moment: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// How often that has panicked.
    pub(super) moments_panicked: AtomicUsize,
    /// Where futures were dropped.
    pub(super) futures_dropped: Mutex<Vec<ThreadId>>,
    pub(super) outputs_made: AtomicUsize,
    /// Where outputs were dropped.
    pub(super) outputs_dropped: Mutex<Vec<ThreadId>>,
}

/// A future that is pending once, then ready.
pub(super) struct Subject {
    pub(super) case: Case,
    pub(super) polled: bool,
    pub(super) tally: Arc<Tally>,
}

/// What it gives.
pub(super) struct Output {
    panics: Panics,
    tally: Arc<Tally>,
}

impl Tally {
    /// Wakes the task, if it has given a waker away.
    pub(super) fn wake(&self) {
        let waker = self.waker.lock().unwrap().clone();
        waker.inspect(Waker::wake_by_ref);
    }

    /// Says how often a future was dropped.
    pub(super) fn drops(&self) -> usize {
        self.futures_dropped.lock().unwrap().len()
    }

    /// Does what is to be done inside. If it panics, that is noted, as the task would contain it.
    fn seize_the_moment(&self) {
        let moment = self.moment.lock().unwrap().take();
        if let Some(moment) = moment {
            if catch_unwind(AssertUnwindSafe(moment)).is_err() {
                self.moments_panicked.fetch_add(1, SeqCst);
            }
        }
    }
}

impl Subject {
    /// Lets itself be struck, if it is now that it shall be.
    fn is_now(&self, now: When) {
        if self.case.when == now {
            self.tally.seize_the_moment();
        }
    }
}

impl Future for Subject {
    type Output = Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Output> {
        *self.tally.waker.lock().unwrap() = Some(context.waker().clone());
        if !std::mem::replace(&mut self.polled, true) {
            self.is_now(When::FirstPoll);
            return Poll::Pending;
        }
        self.is_now(When::LastPoll);
        if self.case.panics == Panics::Poll {
            panic_quietly();
        }
        self.tally.outputs_made.fetch_add(1, SeqCst);
        Poll::Ready(Output {
            panics: self.case.panics,
            tally: Arc::clone(&self.tally),
        })
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        self.is_now(When::FutureDrop);
        if self.case.waker == cases::Waker::TakenBack {
            let waker = self.tally.waker.lock().unwrap().take();
            drop(waker);
        }
        let here = thread::current().id();
        self.tally.futures_dropped.lock().unwrap().push(here);
        if self.case.panics == Panics::FutureDrop {
            panic_quietly();
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let here = thread::current().id();
        self.tally.outputs_dropped.lock().unwrap().push(here);
        if self.panics == Panics::OutputDrop {
            panic_quietly();
        }
    }
}

/// Another thread than that which runs the tasks.
pub(super) struct Other {
    jobs: Sender<Box<dyn FnOnce() + Send>>,
    pub(super) id: ThreadId,
}

impl Other {
    pub(super) fn start() -> Self {
        let (jobs, next) = channel::<Box<dyn FnOnce() + Send>>();
        let thread = thread::spawn(move || next.into_iter().for_each(|job| job()));
        let id = thread.thread().id();
        Self { jobs, id }
    }

    /// Has it do something, and waits until that and its drop is done; panics if that did.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) {
        let (done, wait) = channel();
        let job = move || done.send(catch_unwind(AssertUnwindSafe(job))).unwrap();
        self.jobs.send(Box::new(job)).unwrap();
        let ended = wait.recv_timeout(Duration::from_secs(60));
        if let Err(payload) = ended.expect("the other thread hangs") {
            resume_unwind(payload);
        }
    }
}
