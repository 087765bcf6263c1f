//! The loop of a worker: run what is ready, look at I/O, sleep in the reactor.

use crate::context::{self, Next, Queues};
use crate::idle::{Sleep, Woken};
use crate::pace::Pace;
use crate::pinned::Pinned;
use crate::runtime::Shared;
use std::sync::Arc;
use std::time::Duration;
use windlass_reactor::Reactor;

/// How many tasks of its own a worker runs before it looks at its goal and at the shared queue.
const BATCH: usize = 61;
/// How many tasks are run in a pass, after which I/O may be due, at the most.
const LONGEST_PASS: usize = 64;
/// How many tasks a worker takes from the shared queue at once, at the most.
const LARGEST_PART: usize = 128;

/// What a worker runs for: the end of a future, or of the runtime.
pub(crate) trait Goal {
    type Output;

    /// Works towards the goal; returns something once it is reached.
    fn check(&mut self) -> Option<Self::Output>;

    /// Says whether [`check`](Goal::check) has something to do, so that the worker must not sleep.
    fn is_due(&self) -> bool;
}

/// One worker, on the thread that runs it.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    index: usize,
    sleep: Sleep,
    pinned: Arc<Pinned>,
    reactor: Reactor,
    pace: Pace,
    /// How many tasks are left of those that were ready when I/O was looked at last.
    pass: usize,
    /// It was woken by somebody, and has not found work since: see `idle`.
    is_searching: bool,
}

impl Worker {
    pub(crate) fn new(
        shared: Arc<Shared>,
        index: usize,
        pinned: Arc<Pinned>,
        reactor: Reactor,
    ) -> Self {
        Self {
            sleep: shared.idle.sleep_of(index),
            shared,
            index,
            pinned,
            reactor,
            pace: Pace::new(),
            pass: 1,
            is_searching: false,
        }
    }

    pub(crate) fn into_reactor(mut self) -> Reactor {
        // A panic of the goal may have come in the middle of a search.
        self.end_search();
        self.reactor
    }

    /// Runs tasks until the goal is reached. The thread has entered the context of this worker and
    /// its reactor.
    pub(crate) fn run<G: Goal>(&mut self, goal: &mut G) -> G::Output {
        loop {
            if let Some(output) = goal.check() {
                self.end_search();
                return output;
            }
            let nothing_left = self.run_batch();
            if nothing_left {
                self.sleep(goal);
            } else {
                self.take_from_others(usize::MAX, 1);
            }
        }
    }

    /// Runs up to [`BATCH`] tasks; returns whether there are no more.
    #[inline(always)]
    fn run_batch(&mut self) -> bool {
        for _ in 0..BATCH {
            let Some(next) = self.next_task() else {
                return true;
            };
            self.end_search();
            self.pass = match self.pass.checked_sub(1) {
                Some(left) => left,
                None => self.begin_pass(),
            };
            self.run_task(next);
        }
        false
    }

    #[inline(always)]
    fn run_task(&mut self, next: Next) {
        let yielded = match next {
            Next::Anywhere(runnable) => runnable.run().map(Next::Anywhere),
            Next::Pinned(runnable) => runnable.run().map(Next::Pinned),
        };
        if let Some(yielded) = yielded {
            Self::put_back(yielded);
        }
    }

    /// What was ready when I/O was looked at last has had its turn: looks at I/O again if that is
    /// some time ago. Whatever is ready now would wait for those before it anyway. Returns how many
    /// tasks are behind the one that begins the pass.
    #[inline(never)]
    fn begin_pass(&mut self) -> usize {
        if self.pace.is_due() {
            self.turn(Some(Duration::ZERO));
        }
        context::with_queues(|queues| queues.len()).min(LONGEST_PASS - 1)
    }

    #[inline(never)]
    fn put_back(yielded: Next) {
        context::with_queues(|queues| queues.push(yielded));
    }

    /// Finds the next task: among its own, or else elsewhere.
    #[inline(always)]
    fn next_task(&mut self) -> Option<Next> {
        let own = context::with_queues(Queues::pop);
        if own.is_some() || !self.is_there_work() {
            return own;
        }
        self.take_from_others(self.shared.workers.len(), LARGEST_PART);
        context::with_queues(Queues::pop)
    }

    /// Says whether other threads have left something to run.
    #[inline]
    fn is_there_work(&self) -> bool {
        !self.shared.queue.is_empty() || self.pinned.has_mail()
    }

    /// Takes what other threads have sent to this one, and a part of the shared queue: one of
    /// `sharers` equal ones, but at most `most` tasks.
    #[inline(never)]
    fn take_from_others(&self, sharers: usize, most: usize) {
        context::with_queues(|queues| {
            self.pinned.take_mail(&mut queues.pinned_ready);
            self.shared
                .queue
                .take_part(sharers, most, &mut queues.ready);
        });
    }

    /// Work was found: if more is left in the shared queue, the next sleeper is to look for it.
    #[inline]
    fn end_search(&mut self) {
        if self.is_searching {
            self.is_searching = false;
            self.shared.idle.end_search();
            if !self.shared.queue.is_empty() {
                self.shared.wake_one();
            }
        }
    }

    /// Sleeps in the reactor until there is something to do.
    fn sleep<G: Goal>(&mut self, goal: &G) {
        if self.is_searching {
            self.is_searching = false;
            self.shared.idle.end_search();
        }
        self.shared.idle.begin_sleep(&self.sleep);
        // Whatever came before the worker counted as a sleeper has woken nobody: it must be seen
        // here. Its own queues are empty, as only this thread fills them.
        let is_needed = goal.is_due() || self.is_there_work();
        if !is_needed {
            self.shared.hooks.park.call();
            self.turn(None);
            self.shared.hooks.unpark.call();
        }
        self.is_searching = self.shared.idle.end_sleep(&self.sleep) == Woken::ToSearch;
        // A goal that is always due must not keep I/O from being looked at.
        if is_needed && self.pace.is_due() {
            self.turn(Some(Duration::ZERO));
        }
    }

    /// Takes in what is ready and due, and waits for it as long as `timeout`.
    #[inline(never)]
    fn turn(&mut self, timeout: Option<Duration>) {
        if let Err(error) = self.reactor.turn(timeout) {
            self.fail(&error);
        }
        self.pace.restart();
        // The pass is begun by the second task that is ready: most turns wake one.
        self.pass = 1;
    }

    /// The set of descriptors itself is broken: no I/O of this worker can go on.
    #[cold]
    fn fail(&self, error: &std::io::Error) -> ! {
        panic!("the reactor of worker {} failed: {error}", self.index);
    }
}
