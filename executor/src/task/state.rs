//! The state word of a task: who may touch what, and how many references there are.
//!
//! # Who may touch what
//!
//! 1. The *future* belongs to whoever set [`RUNNING`]. Only the holder of the one [`Runnable`], or
//!    the [`Task`] when it is dropped, sets it; never while it or [`COMPLETE`] is set.
//! 2. [`NOTIFIED`] is set for as long as a `Runnable` exists or, while the task runs, is owed.
//!    So there is at most one, and two polls never overlap. A `Runnable` that is dropped unrun
//!    leaves the bit set: the task then only waits for its `Task` to be dropped.
//! 3. Who runs the task clears `RUNNING` in the same step in which it looks at `NOTIFIED` and
//!    [`CANCELLED`], so neither a wake nor an abort in the middle of a poll is lost.
//! 4. `COMPLETE` is set once, in the step that clears `RUNNING`, after the future is dropped. From
//!    then on the *output* belongs to the join handle if [`HANDLE`] is set, and else to whoever
//!    set `COMPLETE`. `HANDLE` is never set again once it is cleared.
//! 5. The *join waker* belongs to the join handle while [`JOINING`] is clear. Setting `JOINING`
//!    puts it out of reach; it then belongs to whichever comes first: the step that sets
//!    `COMPLETE`, or the handle when it clears `JOINING`. After `COMPLETE` nobody looks at
//!    `JOINING` any more.
//! 6. Every reference is counted in the word. The `Task`, the `Runnable`, the join handle, each
//!    waker and each abort handle own one. A task that is not complete has the reference of its
//!    `Task`, or is being run (by who has one) and cancelled. So the last reference always goes
//!    after `COMPLETE`, and freeing the cell never has to drop a future.
//!
//! # Memory order
//!
//! The word changes only by read-modify-write steps, and each is `AcqRel`: whoever sees a step sees
//! all that was done before it and before the steps that it followed. That includes waking a task
//! that is already notified: nothing changes, but the step is made, so that the poll to come
//! sees what its waker wrote. A plain load is enough only to learn that there is nothing to do.
//!
//! # States
//!
//! ```text
//!                  transition_to_notified, transition_to_aborted
//!        +------+ ------------------------------------> +----------+
//!        | idle |                                       | notified | <- new
//!        +------+ <---- transition_to_idle (Rest) --+   +----------+
//!            |                                      |      |    ^
//!            |                  transition_to_running      |    | transition_to_idle (Again)
//!            |                                      |      v    |
//!            +----- transition_to_claimed -----> +----------------+
//!                                                |    running     |
//!   (claimed also from notified)                 +----------------+
//!                                                        | transition_to_complete,
//!                                                        v transition_to_complete_unjoined
//!                                                   +----------+
//!                                                   | complete |
//!                                                   +----------+
//! ```
//!
//! [`Runnable`]: super::Runnable
//! [`Task`]: super::Task

use super::Stage;
use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// Somebody owns the future: polls it, or drops it.
const RUNNING: usize = 1 << 0;

/// A runnable exists, or is owed by who runs the task.
const NOTIFIED: usize = 1 << 1;

/// The future is dropped and the result stands.
const COMPLETE: usize = 1 << 2;

/// The future shall not be polled again, only dropped.
const CANCELLED: usize = 1 << 3;

/// The join handle exists, and will take the output.
const HANDLE: usize = 1 << 4;

/// The join handle has left a waker.
const JOINING: usize = 1 << 5;

/// One reference; the bits from here up count them.
const REFERENCE: usize = 1 << 6;

/// The state word.
#[derive(Debug)]
pub(super) struct State(AtomicUsize);

/// What [`State::transition_to_running`] tells the holder of the runnable to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ToRunning {
    /// Poll the future, which is now the caller's.
    Poll,
    /// Drop the future, which is now the caller's, and complete.
    Cancel,
    /// Nothing: the task is ended, or being ended, by its owner.
    Over,
}

/// What [`State::transition_to_idle`] tells who polled to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ToIdle {
    /// Nothing; the runnable's reference is given up.
    Rest,
    /// Queue the task again, with the reference the caller already has.
    Again,
    /// Drop the future, which is still the caller's, and complete.
    Cancel,
}

/// What an abort tells its caller to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ToAborted {
    /// Schedule a runnable; its reference was just counted.
    Schedule,
    /// Nothing needs to be done, as a runnable is queued, which will find out. The scheduler may
    /// give the task up, if that will take long.
    Withdraw,
    /// Nothing.
    Nothing,
}

/// What a wake tells its caller to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ToNotified {
    /// Schedule a runnable; its reference was just counted.
    Schedule,
    /// Nothing.
    Nothing,
}

/// What [`State::transition_to_claimed`] tells the owner to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ToClaimed {
    /// Drop the future, which is now the caller's, and complete.
    End,
    /// Nothing: the task is over, or who runs it will end it.
    Nothing,
}

/// What [`State::transition_to_complete`] tells who ended the task to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ToComplete {
    /// Drop the output: no handle will.
    DropOutput,
    /// Take and wake the join waker, which is now the caller's.
    WakeJoiner,
    /// Nothing: the handle will look by itself, and the references are given up.
    Nothing,
}

/// What [`State::transition_to_detached`] tells the join handle to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ToDetached {
    /// Nothing; the handle's reference is given up.
    Nothing,
    /// Drop the join waker, which is the handle's again.
    DropWaker,
    /// Drop the output, which is the handle's.
    DropOutput,
}

impl State {
    /// Makes the state of a new task: notified, and referred to by its task, runnable and handle.
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(NOTIFIED | HANDLE | (3 * REFERENCE)))
    }

    /// Says whether the result stands; if so, the caller may read it as far as rule 4 lets it.
    pub(super) fn is_complete(&self) -> bool {
        self.0.load(Acquire) & COMPLETE != 0
    }

    /// Says how far the task is, and whether somebody awaits its end; for those who only want to
    /// tell.
    pub(super) fn glance(&self) -> (Stage, bool) {
        let now = self.0.load(Relaxed);
        let stage = if now & COMPLETE != 0 {
            Stage::Complete
        } else if now & RUNNING != 0 {
            Stage::Running
        } else if now & NOTIFIED != 0 {
            Stage::Ready
        } else {
            Stage::Idle
        };
        (stage, now & JOINING != 0)
    }

    /// Says whether a runnable waits for a thread; for those who only want to tell.
    pub(super) fn is_waiting(&self) -> bool {
        self.0.load(Relaxed) & (NOTIFIED | RUNNING | COMPLETE) == NOTIFIED
    }

    /// Says whether the join handle is gone for good.
    pub(super) fn is_detached(&self) -> bool {
        self.0.load(Relaxed) & HANDLE == 0
    }

    /// Uses up the right of the runnable, and takes the future (rules 1 and 2).
    #[inline]
    pub(super) fn transition_to_running(&self) -> ToRunning {
        debug_assert!(
            self.has(NOTIFIED),
            "a runnable of a task that is not notified"
        );
        let to_poll = RUNNING.wrapping_sub(NOTIFIED);
        if self.add_unless(RUNNING | COMPLETE | CANCELLED, to_poll) {
            return ToRunning::Poll;
        }
        self.transition(|now| {
            if now & (RUNNING | COMPLETE) != 0 {
                return (None, ToRunning::Over);
            }
            let todo = if now & CANCELLED == 0 {
                ToRunning::Poll
            } else {
                ToRunning::Cancel
            };
            (Some(now - NOTIFIED + RUNNING), todo)
        })
    }

    /// Gives the future back after a poll that left it pending (rule 3).
    #[inline]
    pub(super) fn transition_to_idle(&self) -> ToIdle {
        debug_assert!(self.has(RUNNING), "a poll ended that had not begun");
        let to_rest = 0_usize.wrapping_sub(RUNNING + REFERENCE);
        if self.add_unless(CANCELLED | NOTIFIED, to_rest) {
            return ToIdle::Rest;
        }
        self.transition(|now| {
            if now & CANCELLED != 0 {
                (None, ToIdle::Cancel)
            } else if now & NOTIFIED != 0 {
                (Some(now - RUNNING), ToIdle::Again)
            } else {
                (Some(now - RUNNING - REFERENCE), ToIdle::Rest)
            }
        })
    }

    /// Gives the future back after a poll that left it pending and asked for the next one: as if
    /// the task had been woken, in the same step.
    #[inline]
    pub(super) fn transition_to_yielded(&self) -> ToIdle {
        debug_assert!(self.has(RUNNING), "a poll ended that had not begun");
        if self.add_unless(CANCELLED | NOTIFIED, NOTIFIED - RUNNING) {
            return ToIdle::Again;
        }
        self.transition(|now| {
            if now & CANCELLED != 0 {
                (None, ToIdle::Cancel)
            } else {
                (Some((now - RUNNING) | NOTIFIED), ToIdle::Again)
            }
        })
    }

    /// Wakes: sees to it that a poll begins after this call.
    #[inline]
    pub(super) fn transition_to_notified(&self) -> ToNotified {
        if self.add_unless(COMPLETE | NOTIFIED | RUNNING, NOTIFIED + REFERENCE) {
            return ToNotified::Schedule;
        }
        self.transition(|now| {
            if now & COMPLETE != 0 {
                (None, ToNotified::Nothing)
            } else if now & (NOTIFIED | RUNNING) != 0 {
                // If it is notified already this changes nothing, and yet must be done: it
                // publishes what the waker wrote to the poll that is to come.
                (Some(now | NOTIFIED), ToNotified::Nothing)
            } else {
                (Some((now | NOTIFIED) + REFERENCE), ToNotified::Schedule)
            }
        })
    }

    /// Aborts: sees to it that the future is dropped where the task runs.
    pub(super) fn transition_to_aborted(&self) -> ToAborted {
        self.transition(|now| {
            if now & (COMPLETE | CANCELLED) != 0 {
                (None, ToAborted::Nothing)
            } else if now & RUNNING != 0 {
                (Some(now | CANCELLED), ToAborted::Nothing)
            } else if now & NOTIFIED != 0 {
                (Some(now | CANCELLED), ToAborted::Withdraw)
            } else {
                (
                    Some((now | CANCELLED | NOTIFIED) + REFERENCE),
                    ToAborted::Schedule,
                )
            }
        })
    }

    /// Takes the future for the owner, unless it is being polled: then it will be dropped after.
    pub(super) fn transition_to_claimed(&self) -> ToClaimed {
        self.transition(|now| {
            if now & COMPLETE != 0 {
                (None, ToClaimed::Nothing)
            } else if now & RUNNING != 0 {
                (Some(now | CANCELLED), ToClaimed::Nothing)
            } else {
                (Some(now | CANCELLED | RUNNING), ToClaimed::End)
            }
        })
    }

    /// Publishes the output, which was stored before (rules 4 and 5).
    ///
    /// If nothing is left to do, `count` references are given up in the same step; they are not the
    /// last, for the handle has one.
    pub(super) fn transition_to_complete(&self, count: usize) -> ToComplete {
        self.transition(|now| {
            debug_assert!(
                now & (RUNNING | COMPLETE) == RUNNING,
                "a task ended out of turn"
            );
            let complete = now - RUNNING + COMPLETE;
            if now & HANDLE == 0 {
                (Some(complete), ToComplete::DropOutput)
            } else if now & JOINING != 0 {
                (Some(complete), ToComplete::WakeJoiner)
            } else {
                debug_assert!(now / REFERENCE > count, "the handle has a reference");
                (Some(complete - count * REFERENCE), ToComplete::Nothing)
            }
        })
    }

    /// Completes a task whose handle is gone, and gives up `count` references in the same step.
    ///
    /// Returns whether they were the last.
    pub(super) fn transition_to_complete_unjoined(&self, count: usize) -> bool {
        let change = (COMPLETE - RUNNING).wrapping_sub(count * REFERENCE);
        let before = self.0.fetch_add(change, AcqRel);
        debug_assert!(
            before & (RUNNING | COMPLETE | HANDLE) == RUNNING,
            "ended out of turn"
        );
        before / REFERENCE == count
    }

    /// Puts the join waker, just stored, out of the handle's reach (rule 5).
    ///
    /// Returns whether the task was complete before: then the waker stays the handle's.
    pub(super) fn transition_to_joining(&self) -> bool {
        let before = self.0.fetch_add(JOINING, AcqRel);
        debug_assert!(before & JOINING == 0, "two join wakers");
        before & COMPLETE != 0
    }

    /// Takes the join waker back for the handle (rule 5).
    ///
    /// Returns whether the task was complete before: then the waker is not the handle's.
    pub(super) fn transition_from_joining(&self) -> bool {
        let before = self.0.fetch_sub(JOINING, AcqRel);
        debug_assert!(before & JOINING != 0, "no join waker to take back");
        before & COMPLETE != 0
    }

    /// Lets the join handle go, which is `joining` if it has left a waker.
    pub(super) fn transition_to_detached(&self, joining: bool) -> ToDetached {
        self.transition(|now| {
            if now & COMPLETE != 0 {
                // The step that set it is pulled in by this one, which changes nothing.
                (Some(now), ToDetached::DropOutput)
            } else if joining {
                (Some(now - HANDLE - JOINING), ToDetached::DropWaker)
            } else {
                debug_assert!(
                    now / REFERENCE > 1,
                    "an unfinished task has another reference"
                );
                (Some(now - HANDLE - REFERENCE), ToDetached::Nothing)
            }
        })
    }

    /// Counts one more reference, by the leave of one that the caller has.
    pub(super) fn add_reference(&self) {
        let before = self.0.fetch_add(REFERENCE, Relaxed);
        // Leaked wakers could make the count wrap and free the task under everybody's feet. Half
        // the range is far more than a program can reach otherwise, and leaves room for the few
        // references that are counted elsewhere without looking.
        if before > usize::MAX / 2 {
            std::process::abort();
        }
    }

    /// Gives up `count` references. Returns whether they were the last.
    #[must_use]
    pub(super) fn drop_references(&self, count: usize) -> bool {
        let before = self.0.fetch_sub(count * REFERENCE, AcqRel);
        debug_assert!(
            before / REFERENCE >= count,
            "more references dropped than counted"
        );
        before / REFERENCE == count
    }

    /// Says whether `bit` is set, which only the caller could change.
    fn has(&self, bit: usize) -> bool {
        self.0.load(Relaxed) & bit != 0
    }

    /// Takes the usual step in a shorter way than `transition` would: adds `change`, unless one of
    /// the `unusual` bits is set or another thread is in the way. Returns whether it did.
    #[inline(always)]
    fn add_unless(&self, unusual: usize, change: usize) -> bool {
        let now = self.0.load(Relaxed);
        let next = now.wrapping_add(change);
        now & unusual == 0
            && self
                .0
                .compare_exchange_weak(now, next, AcqRel, Relaxed)
                .is_ok()
    }

    /// Changes the word to what `decide` wants it to be, and returns what `decide` adds to that.
    ///
    /// `None` leaves the word alone; no memory is then synchronised.
    #[inline(always)]
    fn transition<R>(&self, decide: impl Fn(usize) -> (Option<usize>, R)) -> R {
        let mut now = self.0.load(Relaxed);
        loop {
            let (next, result) = decide(now);
            let Some(next) = next else { return result };
            match self.0.compare_exchange_weak(now, next, AcqRel, Relaxed) {
                Ok(_) => return result,
                Err(actual) => now = actual,
            }
        }
    }
}
