//! What a runtime has done: counters that are always on.
//!
//! Each is written by one thread at a time, in memory that no other thread writes to, and read by
//! whoever asks. So counting takes no step that locks memory, and what is read is of about the same
//! moment, not exactly of one.

use crate::handle::Handle;
use crate::runtime::{Runtime, Shared};
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// What a runtime has done since it was made, and what it has to do now.
///
/// # Examples
///
/// ```
/// use windlass_executor::{Runtime, spawn};
///
/// let runtime = Runtime::builder().workers(1).build()?;
/// runtime.block_on(async { spawn(async {}).await })?;
/// let metrics = runtime.metrics();
/// assert_eq!(metrics.tasks_spawned, 1);
/// assert_eq!(metrics.tasks_alive, 0);
/// println!("{metrics}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// For people it is a table:
///
/// ```text
/// tasks: 1000 spawned, 12 alive; shared queue: 0 now, 1 ever; blocking: 0 threads, 0 jobs run, 0 wait
/// worker      polls    parks    turns   events   timers   steals   stolen  written    saved  changes  queued used up stalls
/// 0           1,204       17       31       12        3        2       40        5        1        2       0       0      0
/// 1           1,100       20       29       10        1        3       61        7        0        0       0       0      0
/// all         2,304       37       60       22        4        5      101       12        1        2       0       0      0
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Metrics {
    /// What each worker has done.
    pub workers: Vec<WorkerMetrics>,
    /// How many tasks were spawned; those that stay on a thread that is gone are not counted.
    pub tasks_spawned: u64,
    /// How many of them are not over. Jobs that block are not counted here.
    pub tasks_alive: usize,
    /// How many tasks are in the queue that all workers take from.
    pub shared_queue: usize,
    /// How many tasks have come there: from threads that are no workers, or for want of room.
    pub shared_queue_ever: u64,
    /// How many threads there are for jobs that block.
    pub blocking_threads: usize,
    /// How many such jobs are running.
    pub blocking_running: usize,
    /// How many such jobs wait for a thread.
    pub blocking_waiting: usize,
}

/// What one worker has done; or all of them, in the [total](Metrics::total).
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// How often it has polled something: a task, or the future of `block_on`.
    pub polls: u64,
    /// How often it has gone to sleep for want of work.
    pub parks: u64,
    /// How often it has waited for I/O and timers, or looked at them, also by somebody in its place.
    pub turns: u64,
    /// How many descriptors it was told of as ready.
    pub events: u64,
    /// How many timers have fired.
    pub timers: u64,
    /// How often the interest of a descriptor was changed where the kernel sees it.
    pub interest_changes: u64,
    /// How often another thread had to write to end its sleep.
    pub notifications_written: u64,
    /// How often another thread meant to, and found it awake or told already.
    pub notifications_saved: u64,
    /// How often it has looked for tasks of other workers.
    pub steal_attempts: u64,
    /// How often it has found some.
    pub steals: u64,
    /// How many tasks it has stolen.
    pub stolen_tasks: u64,
    /// How many tasks are ready in its own queue. With one worker, at its last look at the clock.
    pub queue: usize,
    /// How many of its polls were ended by the [budget](windlass_reactor::budget), with more to be
    /// done at once.
    pub budgets_used_up: u64,
    /// How often it was stuck in a poll for so long that it was reported.
    pub stalls: u64,
    /// How long its polls took, if [`Builder::task_times`](crate::Builder::task_times) says so.
    pub busy: Duration,
}

/// What a worker counts itself, in a line of memory of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    pub(crate) parks: Counter,
    pub(crate) steal_attempts: Counter,
    pub(crate) steals: Counter,
    pub(crate) stolen_tasks: Counter,
    pub(crate) busy_nanoseconds: Counter,
    /// How many tasks the only worker had ready at its last look at the clock.
    pub(crate) queue: AtomicUsize,
}

/// A number that one thread writes.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds to the number. For the one thread that does.
    #[inline(always)]
    pub(crate) fn add(&self, more: u64) {
        self.0
            .store(self.0.load(Relaxed).wrapping_add(more), Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Metrics {
    /// Adds up what the workers have done.
    pub fn total(&self) -> WorkerMetrics {
        let mut total = WorkerMetrics::default();
        for worker in &self.workers {
            total.polls += worker.polls;
            total.parks += worker.parks;
            total.turns += worker.turns;
            total.events += worker.events;
            total.timers += worker.timers;
            total.interest_changes += worker.interest_changes;
            total.notifications_written += worker.notifications_written;
            total.notifications_saved += worker.notifications_saved;
            total.steal_attempts += worker.steal_attempts;
            total.steals += worker.steals;
            total.stolen_tasks += worker.stolen_tasks;
            total.queue += worker.queue;
            total.budgets_used_up += worker.budgets_used_up;
            total.stalls += worker.stalls;
            total.busy += worker.busy;
        }
        total
    }
}

impl WorkerMetrics {
    /// Returns how many events came in a turn, on average.
    pub fn events_per_turn(&self) -> f64 {
        self.events as f64 / self.turns.max(1) as f64
    }
}

impl Runtime {
    /// Returns what the runtime has done; as [`Handle::metrics`].
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = windlass_executor::Runtime::builder().workers(2).build()?;
    /// assert_eq!(runtime.metrics().workers.len(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metrics(&self) -> Metrics {
        self.handle().metrics()
    }
}

impl Handle {
    /// Returns what the runtime has done. Costs its workers nothing but a moment of a few locks.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::{Handle, block_on};
    ///
    /// let metrics = block_on(async { Handle::current().metrics() });
    /// assert!(metrics.total().polls >= 1);
    /// ```
    pub fn metrics(&self) -> Metrics {
        let shared = &*self.shared;
        let (mut tasks_spawned, mut tasks_alive) = (0, 0);
        shared.for_each_list(|list, _| {
            tasks_spawned += list.taken_in();
            tasks_alive += list.len();
        });
        let usage = shared.pool.usage();
        Metrics {
            workers: (0..shared.workers.len())
                .map(|worker| shared.worker_metrics(worker))
                .collect(),
            tasks_spawned,
            tasks_alive,
            shared_queue: shared.queue.len(),
            shared_queue_ever: shared.queue.added() as u64,
            blocking_threads: usage.threads,
            blocking_running: usage.running,
            blocking_waiting: usage.waiting,
        }
    }
}

impl Shared {
    fn worker_metrics(&self, worker: usize) -> WorkerMetrics {
        let counters = &self.counters[worker];
        let counts = self.workers[worker].counts();
        let lane = &self.lanes[worker];
        let polls = lane.polls();
        // One that sleeps has nothing left of what it had when it looked at the clock.
        let queued_alone = match polls % 2 {
            0 => 0,
            _ => counters.queue.load(Relaxed),
        };
        WorkerMetrics {
            polls: (polls / 2) as u64,
            parks: counters.parks.read(),
            turns: counts.turns,
            events: counts.events,
            timers: counts.timers,
            interest_changes: counts.interest_changes,
            notifications_written: counts.notifications_written,
            notifications_saved: counts
                .notifications
                .saturating_sub(counts.notifications_written),
            steal_attempts: counters.steal_attempts.read(),
            steals: counters.steals.read(),
            stolen_tasks: counters.stolen_tasks.read(),
            queue: lane.len() + queued_alone,
            budgets_used_up: counts.budgets_used_up,
            stalls: self.posts[worker].stalls(),
            busy: Duration::from_nanos(counters.busy_nanoseconds.read()),
        }
    }
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "tasks: {} spawned, {} alive; shared queue: {} now, {} ever; \
             blocking: {} threads, {} jobs run, {} wait",
            self.tasks_spawned,
            self.tasks_alive,
            self.shared_queue,
            self.shared_queue_ever,
            self.blocking_threads,
            self.blocking_running,
            self.blocking_waiting,
        )?;
        writeln!(
            f,
            "{:<6} {:>12} {:>10} {:>10} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7} {:>6}",
            "worker",
            "polls",
            "parks",
            "turns",
            "events",
            "timers",
            "steals",
            "stolen",
            "written",
            "saved",
            "changes",
            "queued",
            "used up",
            "stalls",
        )?;
        for (number, worker) in self.workers.iter().enumerate() {
            worker.write_row(f, &number)?;
        }
        self.total().write_row(f, &"all")
    }
}

impl WorkerMetrics {
    fn write_row(&self, f: &mut fmt::Formatter<'_>, name: &dyn fmt::Display) -> fmt::Result {
        write!(
            f,
            "{:<6} {:>12} {:>10} {:>10} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7} {:>6}",
            name.to_string(),
            self.polls,
            self.parks,
            self.turns,
            self.events,
            self.timers,
            self.steals,
            self.stolen_tasks,
            self.notifications_written,
            self.notifications_saved,
            self.interest_changes,
            self.queue,
            self.budgets_used_up,
            self.stalls,
        )?;
        if self.busy > Duration::ZERO {
            write!(f, "  busy {:.3?}", self.busy)?;
        }
        writeln!(f)
    }
}
