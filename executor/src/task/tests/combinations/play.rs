//! Brings a case about.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::super::super::AbortHandle;
use super::super::*;
use super::cases::{By, Case, End, From, Kind, Polls, When};
use super::subject::{Other, Output, Subject, Tally};

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Outcome {
    Output,
    Cancelled,
    Panicked,
}

/// What came of the join handle.
#[derive(Clone, Copy)]
pub(super) struct Ending {
    /// Whether the task was complete by then.
    pub(super) is_late: bool,
    /// What it gave, if it was asked.
    pub(super) outcome: Option<Outcome>,
}

/// A case that is being played.
#[derive(Clone)]
pub(super) struct Play {
    pub(super) case: Case,
    pub(super) toy: Arc<Toy>,
    pub(super) tally: Arc<Tally>,
    pub(super) other: Arc<Other>,
    /// The waker that the join handle was polled with last.
    pub(super) woken: Arc<Count>,
    /// The one that was replaced by it.
    pub(super) outdated: Arc<Count>,
    pub(super) ending: Arc<Mutex<Option<Ending>>>,
    handle: Arc<Mutex<Option<JoinHandle<Output>>>>,
    abort: Arc<Mutex<Option<AbortHandle>>>,
}

impl Play {
    /// Spawns the task.
    pub(super) fn begin(case: Case, other: &Arc<Other>) -> Self {
        let toy = Arc::new(Toy::default());
        let tally = Arc::new(Tally::default());
        let subject = Subject {
            case,
            polled: false,
            tally: Arc::clone(&tally),
        };
        let handle = match case.kind {
            Kind::Free => toy.spawn(subject),
            Kind::Bound => toy.spawn_local(subject),
        };
        Self {
            case,
            toy,
            tally,
            other: Arc::clone(other),
            woken: Arc::default(),
            outdated: Arc::default(),
            ending: Arc::default(),
            abort: Arc::new(Mutex::new(Some(handle.abort_handle()))),
            handle: Arc::new(Mutex::new(Some(handle))),
        }
    }

    /// Plays the case through.
    pub(super) fn run(&self) {
        self.poll_handle();
        self.end_handle_if(End::DroppedAtOnce);
        self.bring_about();
        if self.case.when.is_inside() {
            let play = self.clone();
            *self.tally.moment.lock().unwrap() = Some(Box::new(move || play.strike()));
        } else {
            self.strike();
        }
        self.bring_to_the_end();
        self.end_handle_if(End::DroppedLast);
        self.end_handle_if(End::Joined);
    }

    /// Leaves wakers in the task.
    fn poll_handle(&self) {
        let mut handle = self.handle.lock().unwrap();
        let handle = handle.as_mut().unwrap();
        if self.case.polls == Polls::TwoWakers {
            let waker = Arc::clone(&self.outdated).into();
            assert!(poll_with(handle, &waker).is_pending());
        }
        if self.case.polls != Polls::None {
            let waker = Arc::clone(&self.woken).into();
            assert!(poll_with(handle, &waker).is_pending());
            assert!(poll_with(handle, &waker).is_pending());
        }
    }

    /// Brings the task to where it shall be struck, or to where the next poll leads there.
    fn bring_about(&self) {
        if matches!(self.case.when, When::Queued | When::FirstPoll) {
            return;
        }
        self.toy.run();
        if self.case.when == When::Idle {
            return;
        }
        self.tally.wake();
        if self.case.when == When::Complete {
            self.toy.run();
        }
    }

    /// Makes the blow, and ends the handle if it is the time.
    fn strike(&self) {
        self.end_handle_if(End::DroppedBeforeTheBlow);
        self.act(self.case.by_from, Self::blow);
        self.end_handle_if(End::DroppedAfterTheBlow);
    }

    fn blow(&self) {
        let abort = self.abort.lock().unwrap().take().unwrap();
        match self.case.by {
            By::Nothing => {}
            By::Abort => abort.abort(),
            By::AbortAndWake => {
                abort.abort();
                self.tally.wake();
            }
            By::Shutdown => self.toy.shut_down(),
            By::AbortThenShutdown => {
                abort.abort();
                self.toy.shut_down();
            }
            By::QueueLost => self.toy.queue.lock().unwrap().clear(),
        }
    }

    /// Brings the task to its end, whatever state it is in.
    fn bring_to_the_end(&self) {
        self.toy.run();
        if !matches!(self.case.by, By::Nothing | By::QueueLost) {
            assert_eq!(self.tally.drops(), 1, "it needs a wake");
        }
        self.tally.wake();
        self.toy.run();
        self.toy.shut_down();
    }

    fn end_handle_if(&self, now: End) {
        if self.case.end == now {
            self.act(self.case.end_from, Self::end_handle);
        }
    }

    /// Drops the handle, or takes what is due from it first.
    fn end_handle(&self) {
        let mut handle = self.handle.lock().unwrap().take().unwrap();
        let is_late = handle.is_finished();
        let outcome = (self.case.end == End::Joined).then(|| join(&mut handle));
        drop(handle);
        *self.ending.lock().unwrap() = Some(Ending { is_late, outcome });
    }

    /// Does something on the right thread; inside or outside is where this is called.
    fn act(&self, from: From, act: fn(&Self)) {
        if from.is_other() {
            let play = self.clone();
            self.other.run(move || act(&play));
        } else {
            act(self);
        }
    }
}

/// Takes the result of a task that is over.
fn join(handle: &mut JoinHandle<Output>) -> Outcome {
    let Poll::Ready(result) = poll(handle) else {
        panic!("a task is over, but its handle isn't ready")
    };
    match result {
        Ok(output) => {
            // Its destructor may panic, here where the user can see it.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(output)));
            Outcome::Output
        }
        Err(error) if error.is_cancelled() => Outcome::Cancelled,
        Err(error) => {
            assert_eq!(error.into_panic().downcast_ref(), Some(&"on purpose"));
            Outcome::Panicked
        }
    }
}
