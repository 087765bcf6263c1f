//! The loop of a worker: run what is ready, look at I/O, sleep in the reactor.

use crate::context::{self, Next, Queues};
use crate::idle::Woken;
use crate::pace::Pace;
use crate::pinned::Pinned;
use crate::runtime::Shared;
use std::sync::Arc;
use std::time::Duration;
use windlass_reactor::Reactor;

/// How many tasks are run before the worker's goal is looked at again.
const BATCH: usize = 64;
/// How many tasks are run in a pass, after which I/O may be due, at the most.
const LONGEST_PASS: usize = 64;
/// How many tasks of its own a worker runs before it looks at the shared queue.
const SHARED_QUEUE_INTERVAL: u32 = 61;
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
    pinned: Arc<Pinned>,
    reactor: Reactor,
    pace: Pace,
    /// How many polls are left of the pass over the tasks that were ready at its beginning.
    pass: usize,
    /// How many polls are left before the shared queue has its turn.
    until_shared: u32,
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
            shared,
            index,
            pinned,
            reactor,
            pace: Pace::new(),
            pass: 1,
            until_shared: SHARED_QUEUE_INTERVAL,
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
            if nothing_left && !goal.is_due() {
                self.sleep(goal);
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
        self.pass -= 1;
        if self.pass == 0 {
            self.end_pass();
        }
    }

    /// What was ready when I/O was looked at last has had its turn: looks at I/O again if that is
    /// some time ago. Whatever is ready now would wait for those before it anyway.
    #[inline(never)]
    fn end_pass(&mut self) {
        self.pass = context::with_queues(|queues| queues.len()).clamp(1, LONGEST_PASS);
        if self.pace.is_due() {
            self.look_at_io();
        }
    }

    #[inline(never)]
    fn put_back(yielded: Next) {
        context::with_queues(|queues| queues.push(yielded));
    }

    /// Finds the next task: mostly among its own, now and then elsewhere first.
    #[inline(always)]
    fn next_task(&mut self) -> Option<Next> {
        self.until_shared -= 1;
        if self.until_shared == 0 {
            self.until_shared = SHARED_QUEUE_INTERVAL;
            self.take_from_others(usize::MAX, 1);
        }
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

    /// Takes in what is ready and due, without waiting.
    #[inline(never)]
    fn look_at_io(&mut self) {
        self.turn(Some(Duration::ZERO));
    }

    /// Sleeps in the reactor until there is something to do.
    fn sleep<G: Goal>(&mut self, goal: &G) {
        if std::mem::take(&mut self.is_searching) {
            self.shared.idle.end_search();
        }
        self.shared.idle.begin_sleep(self.index);
        // Whatever came before the worker counted as a sleeper has woken nobody: it must be seen
        // here. Its own queues are empty, as only this thread fills them.
        let is_needed = goal.is_due() || self.is_there_work();
        self.turn(if is_needed {
            Some(Duration::ZERO)
        } else {
            None
        });
        self.is_searching = self.shared.idle.end_sleep(self.index) == Woken::ToSearch;
    }

    #[inline(always)]
    fn turn(&mut self, timeout: Option<Duration>) {
        if let Err(error) = self.reactor.turn(timeout) {
            self.fail(&error);
        }
        self.pace.restart();
    }

    /// The set of descriptors itself is broken: no I/O of this worker can go on.
    #[cold]
    fn fail(&self, error: &std::io::Error) -> ! {
        panic!("the reactor of worker {} failed: {error}", self.index);
    }
}
