//! Looks at what came of a case.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::{self, ThreadId};

use super::super::*;
use super::cases::{By, Case, End, From, Panics, Polls, When};
use super::play::{Outcome, Play};

impl Case {
    /// Says whether the future is polled until it is ready or panics.
    fn runs_to_the_end(self) -> bool {
        let is_queued = matches!(self.when, When::Queued | When::QueuedAgain);
        match self.when {
            When::LastPoll | When::FutureDrop | When::Complete => true,
            _ => self.by == By::Nothing || (self.by == By::QueueLost && !is_queued),
        }
    }

    /// Says what the joiner must see.
    fn expected(self) -> Outcome {
        match (self.runs_to_the_end(), self.panics) {
            (_, Panics::FutureDrop) => Outcome::Panicked,
            (false, _) => Outcome::Cancelled,
            (true, Panics::Poll) => Outcome::Panicked,
            (true, _) => Outcome::Output,
        }
    }

    /// Says whether the other thread is who ends the task: only if it shuts down the whole.
    fn is_ended_by_other(self) -> bool {
        let shuts_down = matches!(self.by, By::Shutdown | By::AbortThenShutdown);
        shuts_down && self.by_from == From::OtherOutside && self.when != When::Complete
    }
}

impl Play {
    /// Plays the case, and names it if it fails.
    pub(super) fn check(self) {
        let case = self.case;
        let checked = catch_unwind(AssertUnwindSafe(|| {
            self.run();
            self.check_all();
        }));
        if let Err(payload) = checked {
            eprintln!("failed: {case:?}");
            resume_unwind(payload);
        }
    }

    fn check_all(self) {
        let case = self.case;
        assert_eq!(self.tally.moments_panicked.load(SeqCst), 0, "it panicked");
        assert_eq!(self.toy.released.load(SeqCst), 1, "how often released");
        self.check_future();
        self.check_join();
        self.check_output();
        self.check_late_wakes();

        // The handles are gone, and with them all that may keep the task.
        let Self { toy, tally, .. } = self;
        toy.assert_all_freed();
        assert_eq!(Arc::strong_count(&tally), 1, "what kept it: {case:?}");
    }

    /// Checks that the future was dropped once, on the side of its owner.
    fn check_future(&self) {
        let ender = self.thread(self.case.is_ended_by_other());
        assert_eq!(*self.tally.futures_dropped.lock().unwrap(), [ender]);
    }

    /// Checks what the handle gave, and that its waker was woken once, if it was there at the end.
    fn check_join(&self) {
        let ending = self.ending.lock().unwrap().expect("the handle was left");
        if matches!(self.case.end, End::DroppedLast | End::Joined) {
            assert!(ending.is_late, "the task was not complete at the end");
        }
        let expected = (self.case.end == End::Joined).then(|| self.case.expected());
        assert_eq!(ending.outcome, expected);

        let is_woken = ending.is_late && self.case.polls != Polls::None;
        assert_eq!(
            self.woken.so_far(),
            usize::from(is_woken),
            "how often woken"
        );
        assert_eq!(self.outdated.so_far(), 0, "a waker that was replaced");
        let kept = [&self.woken, &self.outdated].map(Arc::strong_count);
        assert_eq!(kept, [1, 1], "wakers that were not dropped, plus one");
    }

    /// Checks that an output was made if it should be, and dropped once by who had it.
    fn check_output(&self) {
        let is_made = self.case.runs_to_the_end() && self.case.panics != Panics::Poll;
        let made = self.tally.outputs_made.load(SeqCst);
        assert_eq!(made, usize::from(is_made), "outputs made");

        let ending = self.ending.lock().unwrap().expect("the handle was left");
        // A future whose destructor panics takes the output along.
        let is_handed_over = ending.is_late && self.case.panics != Panics::FutureDrop;
        let dropper = self.thread(is_handed_over && self.case.end_from.is_other());
        let expected = is_made.then_some(dropper);
        let dropped = self.tally.outputs_dropped.lock().unwrap();
        assert_eq!(*dropped, Vec::from_iter(expected), "where dropped");
    }

    /// Checks that waking a task that is over does nothing.
    fn check_late_wakes(&self) {
        let scheduled = self.toy.scheduled.load(SeqCst);
        self.tally.wake();
        let waker = self.tally.waker.lock().unwrap().take();
        if let Some(waker) = waker {
            waker.wake();
        }
        assert_eq!(self.toy.scheduled.load(SeqCst), scheduled);
    }

    fn thread(&self, is_other: bool) -> ThreadId {
        if is_other {
            self.other.id
        } else {
            thread::current().id()
        }
    }
}
