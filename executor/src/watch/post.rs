//! What a worker shows to the watch, and what the watch makes of it.

use super::stall::{Culprit, StalledTask};
use crate::block::Root;
use crate::pinned::Pinned;
use crate::sync::Mutex;
use crate::task::{Id, Name, Runnable, Shown};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// What one worker runs, and for whom: for the reports.
pub(crate) struct Post {
    /// The task that it runs or has run last, or none while it polls the future of `block_on`.
    runs: Shown,
    /// How often it was stuck.
    stalls: AtomicU64,
    /// The thread that is this worker.
    tenant: Mutex<Tenant>,
}

/// What of the thread that is a worker can't move to another one.
#[derive(Clone, Default)]
pub(crate) struct Tenant {
    pub(crate) pinned: Weak<Pinned>,
    pub(crate) root: Weak<Root>,
}

/// What waits for a thread that is stuck.
#[derive(Default)]
pub(super) struct LeftBehind {
    pub(super) count: usize,
    pub(super) named: Vec<StalledTask>,
    pub(super) root_waits: bool,
}

impl Post {
    pub(crate) fn new() -> Self {
        Self {
            runs: Shown::default(),
            stalls: AtomicU64::new(0),
            tenant: Mutex::new(Tenant::default()),
        }
    }

    /// The worker is about to run a task.
    #[inline(always)]
    pub(crate) fn run(&self, task: &Runnable) {
        self.runs.show(task);
    }

    /// The worker is about to poll the future of `block_on`.
    #[inline(always)]
    pub(crate) fn run_root(&self) {
        self.runs.show_none();
    }

    /// A thread is this worker from now on; or none, for the default.
    pub(crate) fn settle(&self, tenant: Tenant) {
        *self.tenant.lock() = tenant;
    }

    /// Returns the future of `block_on` that the worker runs besides tasks, if it does.
    pub(crate) fn root(&self) -> Option<Arc<Root>> {
        self.tenant.lock().root.upgrade()
    }

    pub(super) fn count_stall(&self) {
        self.stalls.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how often the worker was stuck.
    pub(crate) fn stalls(&self) -> u64 {
        self.stalls.load(Ordering::Relaxed)
    }

    /// Returns which task the worker runs or has run last, if it is one.
    pub(crate) fn runs(&self) -> Option<Id> {
        self.runs.read().map(|task| task.id)
    }

    /// Finds out what the worker runs; the caller makes sure that it still did afterwards.
    /// Names are looked up by `name_of`.
    pub(super) fn culprit(&self, name_of: impl Fn(Id) -> Option<Name>) -> Culprit {
        let Some(mut task) = self.runs.read() else {
            return Culprit::Root;
        };
        let tenant = self.tenant.lock().pinned.upgrade();
        let pinned = tenant.and_then(|pinned| pinned.tasks.name_of(task.id));
        task.name = pinned.or_else(|| name_of(task.id));
        Culprit::Task(StalledTask::new(task))
    }

    /// Looks at what waits for the thread.
    pub(super) fn left_behind(&self, most_named: usize) -> LeftBehind {
        let tenant = self.tenant.lock().clone();
        let mut left = LeftBehind {
            root_waits: tenant.root.upgrade().is_some_and(|root| root.is_due()),
            ..LeftBehind::default()
        };
        if let Some(pinned) = tenant.pinned.upgrade() {
            let (count, named) = pinned.tasks.waiting(most_named);
            left.count = count;
            left.named = named.into_iter().map(StalledTask::new).collect();
        }
        left
    }
}

/// What the watch remembers of a worker from look to look.
#[derive(Debug)]
pub(super) struct Observer {
    /// How often the worker had begun to run something, at the last look.
    polls: usize,
    /// When that was seen first.
    since: Instant,
}

/// What a look at a worker has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// It runs nothing.
    Parked,
    /// It has begun to run something else since the last look.
    Moving,
    /// It has been running the same thing since the last look at least, and for so long.
    Stuck(Duration),
}

impl Observer {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            polls: 0,
            since: now,
        }
    }

    /// Takes in the number of polls, which is odd while the worker runs.
    pub(super) fn look(&mut self, polls: usize, now: Instant) -> Sight {
        if polls % 2 == 0 {
            self.polls = polls;
            Sight::Parked
        } else if polls == self.polls {
            Sight::Stuck(now.duration_since(self.since))
        } else {
            self.polls = polls;
            self.since = now;
            Sight::Moving
        }
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_stuck_when_two_looks_find_it_in_one_poll() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut observer = Observer::new(start);
        assert_eq!(observer.look(0, at(0)), Sight::Parked);
        assert_eq!(observer.look(7, at(3)), Sight::Moving);
        let stuck = |milliseconds| Sight::Stuck(Duration::from_millis(milliseconds));
        assert_eq!(observer.look(7, at(6)), stuck(3));
        assert_eq!(observer.look(7, at(8)), stuck(5));
        assert_eq!(observer.look(9, at(10)), Sight::Moving);
        assert_eq!(observer.look(10, at(12)), Sight::Parked);
        assert_eq!(observer.look(10, at(14)), Sight::Parked);
        assert_eq!(observer.look(11, at(16)), Sight::Moving);
    }
}
