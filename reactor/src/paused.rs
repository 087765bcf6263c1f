//! A clock that stands still until it is moved, for tests.
//!
//! 1. Time moves only within a turn that may wait, which says that its caller has nothing to run, and
//!    only if that turn has come upon nothing: no event, no notification, no timer.
//! 2. It moves by itself, to the earliest deadline, if nobody holds it and nobody waits for a
//!    descriptor.
//! 3. It is moved by hand to a *goal*, whoever holds it, with a stop at each deadline on the way:
//!    what is woken there runs, and may set timers that are due earlier than the next one. A goal is
//!    reached when nothing that was due by then is left to run.
//! 4. Holds are looked at before notifications are: work that was done under a hold, and whose
//!    end was notified before the hold was given up, is seen by the turn that finds none.

use crate::clock::Moment;
use crate::wakes::Wakes;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;

/// Whether there ever was a paused clock in this process; where there is none, nobody has to look
/// for one.
static IS_ANY: AtomicBool = AtomicBool::new(false);

/// A paused clock; see the module.
#[derive(Debug)]
pub(crate) struct Paused {
    now: AtomicU64,
    /// How many hold the time.
    holds: AtomicUsize,
    goals: Mutex<Goals>,
}

#[derive(Debug, Default)]
struct Goals {
    list: Vec<Goal>,
    last_key: u64,
}

/// What somebody moves the time to by hand.
#[derive(Debug)]
struct Goal {
    key: GoalKey,
    moment: Moment,
    waker: Waker,
}

/// Names a goal; also after it was reached, when it names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GoalKey(u64);

/// How the time moves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// To the earliest deadline.
    ToTimer(Moment),
    /// To a goal; no deadline is left before it.
    ToGoal(Moment),
}

impl Paused {
    /// Says whether there may be a paused clock in this process.
    #[inline]
    pub(crate) fn is_any() -> bool {
        // Whoever has got hold of one is behind the store.
        IS_ANY.load(Ordering::Relaxed)
    }

    /// Makes a clock that stands at `now`.
    pub(crate) fn new(now: Moment) -> Self {
        IS_ANY.store(true, Ordering::Relaxed);
        Self {
            now: AtomicU64::new(now.to_bits()),
            holds: AtomicUsize::new(0),
            goals: Mutex::default(),
        }
    }

    pub(crate) fn now(&self) -> Moment {
        Moment::from_bits(self.now.load(Ordering::Acquire))
    }

    /// Moves the time on; it never goes back. Only the thread that turns the reactor does.
    pub(crate) fn move_to(&self, moment: Moment) {
        let moment = moment.max(self.now());
        self.now.store(moment.to_bits(), Ordering::Release);
    }

    pub(crate) fn hold(&self) {
        self.holds.fetch_add(1, Ordering::SeqCst);
    }

    /// Gives a hold up; says whether it was the last one.
    pub(crate) fn let_go(&self) -> bool {
        self.holds.fetch_sub(1, Ordering::SeqCst) == 1
    }

    pub(crate) fn is_held(&self) -> bool {
        self.holds.load(Ordering::SeqCst) > 0
    }

    /// Rules 2 and 3: returns how the time moves next, if it does.
    pub(crate) fn next_step(&self, earliest: Moment, by_itself: bool) -> Option<Step> {
        let goals = self.goals.lock();
        let goal = goals.list.iter().map(|goal| goal.moment).min();
        match goal {
            Some(goal) if goal < earliest => Some(Step::ToGoal(goal)),
            Some(_) => Some(Step::ToTimer(earliest)),
            None if by_itself && earliest != Moment::NEVER => Some(Step::ToTimer(earliest)),
            None => None,
        }
    }

    /// Has `waker` woken when the time was moved to `moment`.
    pub(crate) fn add_goal(&self, moment: Moment, waker: Waker) -> GoalKey {
        let mut goals = self.goals.lock();
        goals.last_key += 1;
        let key = GoalKey(goals.last_key);
        goals.list.push(Goal { key, moment, waker });
        key
    }

    /// Has another waker woken; hands it back if the goal was reached.
    pub(crate) fn watch_goal(&self, key: GoalKey, waker: Waker) -> Result<Waker, Waker> {
        let mut goals = self.goals.lock();
        match goals.list.iter_mut().find(|goal| goal.key == key) {
            Some(goal) => Ok(std::mem::replace(&mut goal.waker, waker)),
            None => Err(waker),
        }
    }

    /// Gives a goal up; returns its waker, to be dropped outside of the lock.
    pub(crate) fn remove_goal(&self, key: GoalKey) -> Option<Waker> {
        let mut goals = self.goals.lock();
        let position = goals.list.iter().position(|goal| goal.key == key)?;
        Some(goals.list.swap_remove(position).waker)
    }

    /// Moves the wakers of the goals that were reached to `wakes`.
    pub(crate) fn take_reached(&self, wakes: &mut Wakes) {
        let now = self.now();
        let mut goals = self.goals.lock();
        let all = std::mem::take(&mut goals.list);
        let (reached, ahead) = all
            .into_iter()
            .partition::<Vec<_>, _>(|goal| goal.moment <= now);
        goals.list = ahead;
        wakes.extend(reached.into_iter().map(|goal| goal.waker));
    }
}
