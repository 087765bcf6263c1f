//! The timers of one reactor, from any thread, and what they mean for the thread that waits.
//!
//! Three words let threads do without the lock while there is nothing for them in there:
//!
//! | word | written by | meaning |
//! | --- | --- | --- |
//! | `earliest` | whoever changes the timers, under the lock | the earliest deadline |
//! | `waiting_until` | the waiting thread | until when it waits; the beginning of time if it doesn't |
//! | `gone_until` | whoever wakes for timers, under the lock | timers later than that are still in |
//!
//! 1. The waiter writes `waiting_until`, then looks at `earliest` once more, and waits no longer
//!    than that. Whoever makes a timer the earliest writes `earliest`, then looks at
//!    `waiting_until`, and ends the wait if it would last longer. A fence stands between the two
//!    steps of each, so that one of them sees the other.
//! 2. A timer that isn't the earliest needs no look at the wait.
//! 3. A wait that ends for a timer that is gone by then is no harm.
//! 4. `gone_until` is written before anybody is woken, so that a task that was woken finds that its
//!    timer is gone. It only grows; when all timers are woken for, it grows to the end of time.

use crate::clock::Moment;
use crate::sync::{AtomicU64, Mutex, Ordering, fence};
use crate::timers::{TimerKey, Timers};
use crate::wakes::Wakes;
use std::task::Waker;

/// How many timers are shown while the lock is held.
const MOST_SHOWN: usize = 1 << 12;

/// What a new timer means for a wait that is under way.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insertion {
    /// Nothing: no wait lasts until it.
    InTime,
    /// The wait would last longer: it has to be ended.
    EndsWait,
}

/// Timers that all threads share; see the module. The words come first, so that who can do without the
/// lock touches little else.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Deadlines {
    earliest: AtomicU64,
    waiting_until: AtomicU64,
    gone_until: AtomicU64,
    /// `earliest` is the beginning of time for good.
    is_looked_at_always: bool,
    timers: Mutex<Timers>,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            timers: Mutex::default(),
            earliest: AtomicU64::new(Moment::NEVER.to_bits()),
            waiting_until: AtomicU64::new(Moment::START.to_bits()),
            gone_until: AtomicU64::new(Moment::START.to_bits()),
            is_looked_at_always: false,
        }
    }
}

impl Deadlines {
    /// Makes one that never says that there is nothing for the waiting thread in it, nor lets it
    /// wait: for a paused clock, which has to be moved in its stead. So the real one has nothing to
    /// do with that.
    pub(crate) fn looked_at_always() -> Self {
        Self {
            earliest: AtomicU64::new(Moment::START.to_bits()),
            is_looked_at_always: true,
            ..Self::default()
        }
    }

    /// Says whether there is no timer; any thread may set one at any time.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.earliest() == Moment::NEVER
    }

    /// Returns the earliest deadline, by a look at the timers.
    pub(crate) fn earliest_of_all(&self) -> Moment {
        self.timers.lock().next_deadline()
    }

    /// Has `waker` woken at `deadline`.
    #[inline]
    pub(crate) fn insert(&self, deadline: Moment, waker: Waker) -> (TimerKey, Insertion) {
        let mut timers = self.timers.lock();
        let key = timers.insert(deadline, waker);
        let is_earliest = self.note_if_earliest(deadline);
        drop(timers);
        (key, self.insertion(is_earliest, deadline))
    }

    /// Moves a timer to another deadline; `None` if it is over.
    pub(crate) fn reset(&self, key: TimerKey, deadline: Moment) -> Option<Insertion> {
        let mut timers = self.timers.lock();
        let before = timers.reset(key, deadline)?;
        let is_earliest = self.note_if_earliest(deadline);
        if !is_earliest && before <= self.earliest() {
            self.note_earliest(&timers);
        }
        drop(timers);
        Some(self.insertion(is_earliest, deadline))
    }

    /// Rule 4: says whether a timer for `deadline`, that was put in and not taken out, is certainly in.
    #[inline]
    pub(crate) fn is_in(&self, deadline: Moment) -> bool {
        deadline.to_bits() > self.gone_until.load(Ordering::Relaxed)
    }

    /// Says whether the timer would wake the task that `waker` does; `None` if it is over.
    pub(crate) fn would_wake(&self, key: TimerKey, waker: &Waker) -> Option<bool> {
        self.timers.lock().would_wake(key, waker)
    }

    /// Has another waker woken; hands it back if the timer is over.
    pub(crate) fn replace_waker(&self, key: TimerKey, waker: Waker) -> Result<Waker, Waker> {
        self.timers.lock().replace_waker(key, waker)
    }

    /// Takes a timer out; returns its waker, to be dropped outside of the lock, unless it is over.
    #[inline]
    pub(crate) fn remove(&self, key: TimerKey) -> Option<Waker> {
        let mut timers = self.timers.lock();
        let (deadline, waker) = timers.remove(key)?;
        if deadline <= self.earliest() {
            self.note_earliest(&timers);
        }
        Some(waker)
    }

    /// Shows all timers to `look`, some at a time: the lock is not held for long. One that comes
    /// meanwhile may be missing.
    pub(crate) fn for_each(&self, mut look: impl FnMut(Moment, &Waker)) {
        let mut place = 0;
        while (self.timers.lock()).for_each_of(place, MOST_SHOWN, &mut look) {
            place += MOST_SHOWN;
        }
    }

    /// Moves the wakers of all timers to `wakes`.
    pub(crate) fn take_all(&self, wakes: &mut Wakes) {
        let mut timers = self.timers.lock();
        self.note_gone(Moment::NEVER);
        timers.take_all(wakes);
        self.note_earliest(&timers);
    }

    /// Rule 1: returns until when to wait, at most `limit`.
    #[inline]
    pub(crate) fn begin_wait(&self, limit: Moment) -> Moment {
        let until = limit.min(self.earliest());
        self.waiting_until.store(until.to_bits(), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        until.min(self.earliest())
    }

    /// The wait is over.
    #[inline]
    pub(crate) fn end_wait(&self) {
        self.waiting_until
            .store(Moment::START.to_bits(), Ordering::Relaxed);
    }

    /// Moves the wakers of the timers that are due to `wakes`; returns how many are. The clock is
    /// read only if there is a timer.
    #[inline]
    pub(crate) fn expire(&self, now: impl FnOnce() -> Moment, wakes: &mut Wakes) -> usize {
        let earliest = self.earliest();
        if earliest == Moment::NEVER {
            return 0;
        }
        let now = now();
        if now < earliest {
            return 0;
        }
        let mut timers = self.timers.lock();
        self.note_gone(now);
        let expired = timers.expire(now, wakes);
        self.note_earliest(&timers);
        expired
    }

    /// Returns the earliest deadline; [`Moment::NEVER`] if there is no timer.
    #[inline]
    pub(crate) fn earliest(&self) -> Moment {
        Moment::from_bits(self.earliest.load(Ordering::Relaxed))
    }

    /// Rule 4: the timers until then are about to be woken for. The lock is held.
    fn note_gone(&self, until: Moment) {
        self.gone_until
            .fetch_max(until.to_bits(), Ordering::Relaxed);
    }

    /// Writes the earliest deadline down for those without the lock.
    fn note_earliest(&self, timers: &Timers) {
        if self.is_looked_at_always {
            return;
        }
        let earliest = timers.next_deadline().to_bits();
        self.earliest.store(earliest, Ordering::Relaxed);
    }

    /// Writes `deadline` down if it is the earliest; says whether it is. The lock is held.
    fn note_if_earliest(&self, deadline: Moment) -> bool {
        let is_earliest = deadline < self.earliest();
        if is_earliest {
            self.earliest.store(deadline.to_bits(), Ordering::Relaxed);
        }
        is_earliest
    }

    fn insertion(&self, is_earliest: bool, deadline: Moment) -> Insertion {
        if is_earliest && self.would_oversleep(deadline) {
            Insertion::EndsWait
        } else {
            Insertion::InTime
        }
    }

    /// Rule 1: says whether a thread waits beyond `deadline`, which has been made the earliest.
    fn would_oversleep(&self, deadline: Moment) -> bool {
        fence(Ordering::SeqCst);
        deadline.to_bits() < self.waiting_until.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, windlass_loom))]
mod loom_models {
    use super::*;
    use loom::sync::{Arc, Notify};
    use loom::thread;

    fn at(nanoseconds: u64) -> Moment {
        Moment::from_bits(nanoseconds)
    }

    /// The checker reports a wait that lasts for ever.
    #[test]
    fn loom_a_new_timer_is_seen_by_the_wait_or_ends_it() {
        loom::model(|| {
            let shared = Arc::new((Deadlines::default(), Notify::new()));
            let waiter = {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (deadlines, notifier) = &*shared;
                    while deadlines.begin_wait(Moment::NEVER) == Moment::NEVER {
                        notifier.wait();
                        deadlines.end_wait();
                    }
                })
            };
            let (deadlines, notifier) = &*shared;
            if deadlines.insert(at(5), Waker::noop().clone()).1 == Insertion::EndsWait {
                notifier.notify();
            }
            waiter.join().unwrap();
        });
    }

    #[test]
    fn loom_of_two_timers_the_earlier_bounds_the_wait() {
        loom::model(|| {
            let shared = Arc::new((Deadlines::default(), Notify::new()));
            let insert = |deadline| {
                let shared = shared.clone();
                move || {
                    let (deadlines, notifier) = &*shared;
                    let (_, insertion) = deadlines.insert(at(deadline), Waker::noop().clone());
                    if insertion == Insertion::EndsWait {
                        notifier.notify();
                    }
                }
            };
            let later = thread::spawn(insert(9));
            let earlier = insert(5);
            let waiter = {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (deadlines, notifier) = &*shared;
                    while deadlines.begin_wait(Moment::NEVER) > at(5) {
                        notifier.wait();
                        deadlines.end_wait();
                    }
                })
            };
            earlier();
            later.join().unwrap();
            waiter.join().unwrap();
        });
    }

    #[test]
    fn loom_a_timer_that_is_moved_to_earlier_is_seen_by_the_wait_or_ends_it() {
        loom::model(|| {
            let shared = Arc::new((Deadlines::default(), Notify::new()));
            let (key, _) = shared.0.insert(at(9), Waker::noop().clone());
            let waiter = {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (deadlines, notifier) = &*shared;
                    while deadlines.begin_wait(Moment::NEVER) != at(5) {
                        notifier.wait();
                        deadlines.end_wait();
                    }
                })
            };
            let (deadlines, notifier) = &*shared;
            if deadlines.reset(key, at(5)) == Some(Insertion::EndsWait) {
                notifier.notify();
            }
            waiter.join().unwrap();
        });
    }

    // Rule 4. A wake releases what was done before it, and the poll that follows acquires that.
    #[test]
    fn loom_who_was_woken_finds_that_the_timer_is_gone() {
        loom::model(|| {
            let shared = Arc::new((Deadlines::default(), AtomicU64::new(0)));
            let _ = shared.0.insert(at(5), Waker::noop().clone());
            let turner = {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (deadlines, woken) = &*shared;
                    let fired = deadlines.expire(|| at(6), &mut Wakes::default());
                    woken.store(fired as u64, Ordering::Release);
                })
            };
            let (deadlines, woken) = &*shared;
            // Who polls before that may go on waiting, or look closer.
            if woken.load(Ordering::Acquire) == 1 {
                assert!(!deadlines.is_in(at(5)));
            }
            assert!(deadlines.is_in(at(7)));
            turner.join().unwrap();
            assert!(!deadlines.is_in(at(5)));
        });
    }

    // Of a timer that fires and is taken out or moved at the same time, one of the two has the
    // waker; its neighbour stays.
    #[test]
    fn loom_a_timer_is_fired_or_taken_out_once() {
        loom::model(|| {
            let deadlines = Arc::new(Deadlines::default());
            let (key, _) = deadlines.insert(at(5), Waker::noop().clone());
            let _ = deadlines.insert(at(9), Waker::noop().clone());
            let turner = {
                let deadlines = deadlines.clone();
                thread::spawn(move || deadlines.expire(|| at(5), &mut Wakes::default()))
            };
            let was_moved = deadlines.reset(key, at(7)).is_some();
            let was_taken_out = deadlines.remove(key).is_some();
            let fired = turner.join().unwrap();
            assert_eq!(fired + usize::from(was_taken_out), 1);
            assert!(was_moved || fired == 1);
            assert_eq!(deadlines.earliest(), at(9));
        });
    }
}
