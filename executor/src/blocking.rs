//! Threads for closures that block: a pool that grows, idles out, and stops.

use crate::context::{self, Context};
use crate::runtime::{Shared, ThreadNames, belong_to};
use crate::task::{self, Id, JoinHandle, List, Listed, Runnable, Schedule, Sight, Task, Tick};
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};
use windlass_reactor::sys::lock::{Condvar, Mutex};
use windlass_reactor::time::Hold;

/// How large a pool gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) most_threads: usize,
    /// How long a thread stays without a job.
    pub(crate) keep_alive: Duration,
    /// How large the stack of a thread is; that of the standard library unless set.
    pub(crate) stack_size: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            most_threads: 512,
            keep_alive: Duration::from_secs(10),
            stack_size: None,
        }
    }
}

/// The threads of one runtime on which closures block.
pub(crate) struct Pool {
    jobs: Mutex<Jobs>,
    /// There is a job, or the pool is closed.
    work: Condvar,
    /// A thread has ended.
    ended: Condvar,
    tasks: List,
    names: ThreadNames,
    limits: Limits,
}

/// A closure that is to run.
struct Waiting {
    runnable: Runnable,
    /// Keeps a paused clock from moving until the closure has run, and whoever waits for it was
    /// woken.
    _hold: Hold,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Waiting>,
    /// How many threads take jobs.
    threads: usize,
    /// How many threads there are, those included that take no more jobs.
    alive: usize,
    /// How many of the threads wait for a job. Each of them takes one of those that wait.
    idle: usize,
    /// How many threads were ever started, to name them.
    started: usize,
    closed: bool,
}

impl Pool {
    pub(crate) fn new(names: ThreadNames, limits: Limits) -> Self {
        Self {
            jobs: Mutex::default(),
            work: Condvar::new(),
            ended: Condvar::new(),
            tasks: List::default(),
            names,
            limits,
        }
    }

    /// Queues a job, and starts a thread for it if those that are idle are not enough. Hands the
    /// job back if the pool is closed, or if there is no thread at all.
    fn push(self: &Arc<Self>, job: Runnable, shared: &Arc<Shared>) -> Option<Runnable> {
        let mut jobs = self.jobs.lock();
        if jobs.closed {
            return Some(job);
        }
        if jobs.idle <= jobs.waiting.len() && jobs.threads < self.limits.most_threads {
            // The new thread begins by taking the lock that is held here. If it can't be started,
            // those that there are will come to the job.
            if self.start_thread(jobs.started, shared).is_ok() {
                jobs.threads += 1;
                jobs.alive += 1;
                jobs.started += 1;
            } else if jobs.threads == 0 {
                return Some(job);
            }
        }
        jobs.waiting.push_back(Waiting {
            runnable: job,
            _hold: shared.workers[0].hold_time(),
        });
        drop(jobs);
        self.work.notify_one();
        None
    }

    fn start_thread(self: &Arc<Self>, number: usize, shared: &Arc<Shared>) -> std::io::Result<()> {
        let (pool, shared) = (self.clone(), Arc::downgrade(shared));
        let mut thread = std::thread::Builder::new().name(self.names.of_blocking(number));
        if let Some(bytes) = self.limits.stack_size {
            thread = thread.stack_size(bytes);
        }
        thread.spawn(move || pool.run(&shared)).map(drop)
    }

    /// What a thread does: one job after the other, until there is none for a while.
    fn run(&self, shared: &Weak<Shared>) {
        belong_to(shared.as_ptr());
        let hooks = shared.upgrade().map(|shared| shared.hooks.clone());
        if let Some(hooks) = &hooks {
            hooks.start.call();
        }
        while let Some(job) = self.next_job() {
            match shared.upgrade() {
                Some(shared) => drop(context::enter(
                    Context {
                        shared,
                        queues: None,
                    },
                    || {
                        job.runnable.note_poll(Tick::now());
                        job.runnable.run()
                    },
                )),
                None => drop(job),
            }
        }
        if let Some(hooks) = &hooks {
            hooks.stop.call();
        }
        self.end_thread();
    }

    /// A thread has nothing left to do.
    fn end_thread(&self) {
        self.jobs.lock().alive -= 1;
        self.ended.notify_all();
    }

    /// Waits for a job; `None` ends the thread, which is not counted on any more.
    fn next_job(&self) -> Option<Waiting> {
        let mut jobs = self.jobs.lock();
        let deadline = Instant::now().checked_add(self.limits.keep_alive);
        loop {
            if let Some(job) = jobs.waiting.pop_front() {
                return Some(job);
            }
            let is_late = deadline.is_some_and(|deadline| deadline <= Instant::now());
            if jobs.closed || is_late {
                jobs.threads -= 1;
                return None;
            }
            jobs.idle += 1;
            match deadline {
                Some(deadline) => drop(self.work.wait_until(&mut jobs, deadline)),
                None => self.work.wait(&mut jobs),
            }
            jobs.idle -= 1;
        }
    }

    /// Cancels the jobs that have not started, and takes no more.
    pub(crate) fn close(&self) {
        let mut jobs = self.jobs.lock();
        jobs.closed = true;
        let waiting = std::mem::take(&mut jobs.waiting);
        drop(jobs);
        self.work.notify_all();
        drop(waiting);
        self.tasks.close();
    }

    /// Looks at all jobs that are not over.
    pub(crate) fn look(&self, show: impl FnMut(Sight)) {
        self.tasks.look(show);
    }

    /// Returns how many threads and jobs there are.
    pub(crate) fn usage(&self) -> Usage {
        let jobs = self.jobs.lock();
        let (threads, waiting) = (jobs.threads, jobs.waiting.len());
        Usage {
            threads,
            waiting,
            // An idle thread may have been told of a job that waits still.
            running: threads - jobs.idle,
        }
    }

    /// Waits until all threads have ended, or until `deadline`.
    pub(crate) fn wait_until(&self, deadline: Option<Instant>) {
        let mut jobs = self.jobs.lock();
        let goes_on = |jobs: &mut Jobs| jobs.alive > 0;
        match deadline {
            None => self.ended.wait_while(&mut jobs, goes_on),
            Some(deadline) => {
                let _ = self.ended.wait_while_until(&mut jobs, goes_on, deadline);
            }
        }
    }
}

/// How much of a pool is in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) threads: usize,
    pub(crate) running: usize,
    pub(crate) waiting: usize,
}

/// Sends jobs to the pool.
pub(crate) struct ToPool(Arc<Pool>);

impl Schedule for ToPool {
    fn schedule(&self, runnable: Runnable) {
        // A job is queued once, by whoever makes it, and then is done or cancelled: it is never
        // idle, to be woken.
        drop(runnable);
    }

    fn release(&self, task: Listed<'_>) -> Option<Task> {
        self.0.tasks.remove(task)
    }

    /// All threads may be busy for ever. The runnable stays in the queue, and does nothing.
    fn withdraw(&self, task: Listed<'_>) -> Option<Task> {
        self.0.tasks.remove(task)
    }

    fn panicked(&self, error: &dyn fmt::Display) {
        context::task_panicked(error);
    }
}

/// A closure as a future that is ready when it is polled.
struct Job<C>(Option<C>);

impl<C> Unpin for Job<C> {}

impl<T, C: FnOnce() -> T> Future for Job<C> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<T> {
        let closure = self.get_mut().0.take();
        Poll::Ready(closure.expect("a job is polled once")())
    }
}

impl Shared {
    pub(crate) fn to_pool(&self) -> ToPool {
        ToPool(self.pool.clone())
    }

    /// Has a closure run on a thread of the pool, to which `scheduler` leads. If no thread can be
    /// started, it is cancelled.
    #[track_caller]
    pub(crate) fn spawn_blocking<T, C>(
        self: &Arc<Self>,
        closure: C,
        scheduler: impl Schedule,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<T>
    where
        T: Send + 'static,
        C: FnOnce() -> T + Send + 'static,
    {
        self.refuse_if_inherited();
        let pool = &self.pool;
        let (task, runnable, handle) =
            task::new(Job(Some(closure)), scheduler, Id::next(), spawned_at);
        // If the pool is closed, it refuses both, or one in the middle of this.
        let refused_task = pool.tasks.insert(0, task).err();
        if let Some(refused) = pool.push(runnable, self) {
            handle.abort();
            refused.run();
        }
        drop(refused_task);
        handle
    }
}
