//! The runtime: its workers, from start to end.

mod affinity;
mod builder;
mod hooks;
mod lifecycle;
mod names;
mod panics;
mod thread;

pub use builder::Builder;
pub(crate) use lifecycle::belong_to;
pub(crate) use names::ThreadNames;
pub use panics::TaskPanic;

use crate::block::{self, Seat};
use crate::blocking::Pool;
use crate::context;
use crate::handle::Handle;
use crate::idle::Idle;
use crate::metrics::Counters;
use crate::pinned::{self, Pinned};
use crate::place::Place;
use crate::queue::{Lane, SharedQueue};
use crate::seed::Lots;
use crate::sync::Mutex;
use crate::task::{Id, List, Listed, Name, Runnable, Schedule, Task, Ticks};
use crate::watch::{Post, Watch};
use hooks::Hooks;
use lifecycle::{Lifecycle, belongs_to};
use panics::Panics;
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use windlass_reactor::budget::Budget;
use windlass_reactor::{Handle as ReactorHandle, Process};

/// Runs tasks on one thread or on many, and sleeps in a reactor when there are none.
///
/// The thread that calls [`block_on`](Runtime::block_on) is a worker while it is inside; the others
/// are threads of the runtime. So with one worker there is no thread at all, and between two calls
/// nothing runs.
///
/// Dropping it ends all tasks: first the workers stop, then every future is dropped, then jobs of
/// `spawn_blocking` that have started are waited for. That can take for ever;
/// [`shutdown_timeout`](Runtime::shutdown_timeout) and
/// [`shutdown_background`](Runtime::shutdown_background) are the way out. On one of its own
/// threads, in a task or a job, dropping it waits for nothing. The futures of
/// [`spawn_local`](crate::spawn_local) are dropped on their threads: here, if this is one of them,
/// else when the thread ends or blocks on another runtime.
///
/// # Fork
///
/// A child process has a copy of it, but none of its threads, so it can't be used there: `block_on`
/// and `spawn` panic and say so, and dropping it does nothing. Nothing that happens in the child
/// disturbs the parent. The free [`block_on`](crate::block_on) works there, as does a new runtime;
/// sockets and timers that were made before move to it when they are waited for. As for every
/// library, it is best to fork while no other thread is at work: a lock that one of them holds at
/// that moment is held in the child for ever.
///
/// # Examples
///
/// ```
/// use windlass_executor::{Runtime, spawn};
///
/// let runtime = Runtime::new()?;
/// let answer = runtime.block_on(async { spawn(async { 6 * 7 }).await.unwrap() });
/// assert_eq!(answer, 42);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Runtime {
    handle: Handle,
    /// Who waits for the workers' end; taken by whoever does.
    is_shut_down: bool,
}

impl Runtime {
    /// Makes a runtime with a worker for each processor that this process may use.
    ///
    /// # Errors
    ///
    /// As for [`Builder::build`].
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = windlass_executor::Runtime::new()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new() -> io::Result<Self> {
        Builder::new().build()
    }

    /// Chooses how a runtime is made.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = windlass_executor::Runtime::builder().workers(4).build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Returns what reaches the runtime from any thread.
    ///
    /// # Examples
    ///
    /// ```
    /// # let runtime = windlass_executor::Runtime::builder().workers(2).build()?;
    /// let handle = runtime.handle().clone();
    /// std::thread::spawn(move || handle.spawn(async {}));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Starts `future` as a task; as [`Handle::spawn`].
    ///
    /// # Examples
    ///
    /// ```
    /// # let runtime = windlass_executor::Runtime::builder().workers(2).build()?;
    /// let task = runtime.spawn(async { 5 });
    /// assert_eq!(task.wait()?, 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> crate::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// Runs `future` on this thread until it is done, and tasks meanwhile.
    ///
    /// If another thread is in `block_on` already, or this thread runs tasks, then only `future` is
    /// run here, and the tasks by whoever does.
    ///
    /// # Panics
    ///
    /// If `future` does; if a task does, where [`Builder::on_task_panic`] says so; and in a child
    /// process, if the runtime was made before the fork.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::{Runtime, spawn_local};
    ///
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// let answer = runtime.block_on(async { spawn_local(async { 6 * 7 }).await })?;
    /// assert_eq!(answer, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let shared = &self.handle.shared;
        match shared.panics.end_runtime() {
            false => block::block_on_runtime(shared, future),
            true => block::block_on_runtime(shared, shared.panics.watch(future)),
        }
    }

    /// Ends all tasks as dropping it does, but waits for `timeout` at the most, for workers that
    /// are in a long poll and for jobs of `spawn_blocking`. What is not done by then is left to
    /// itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// let (keep, never) = mpsc::channel::<()>();
    /// runtime.handle().spawn_blocking(move || never.recv());
    /// runtime.shutdown_timeout(Duration::from_millis(10)); // dropping it would hang
    /// # drop(keep);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_timeout(mut self, timeout: Duration) {
        self.shut_down(Instant::now().checked_add(timeout));
    }

    /// Ends all tasks as dropping it does, but waits for nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = windlass_executor::Runtime::builder().workers(1).build()?;
    /// let task = runtime.spawn(std::future::pending::<()>());
    /// runtime.shutdown_background();
    /// assert!(task.wait().unwrap_err().is_cancelled());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }

    fn shut_down(&mut self, deadline: Option<Instant>) {
        self.is_shut_down = true;
        let shared = &self.handle.shared;
        if shared.is_inherited() {
            // Its threads are not here, and what its tasks hold is for the parent to close.
            std::mem::forget(shared.clone());
            return;
        }
        shared.stop();
        if belongs_to(Arc::as_ptr(shared)) {
            // One of its own threads can't wait for itself. The last worker to stop cleans up.
            return;
        }
        pinned::end_visit(shared);
        if shared.lifecycle.wait_until(deadline) {
            shared.pool.wait_until(deadline);
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if !self.is_shut_down {
            self.shut_down(None);
        }
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("workers", &self.handle.shared.workers.len())
            .finish()
    }
}

/// What the threads of a runtime, its handles and its tasks have in common.
pub(crate) struct Shared {
    /// Tasks that any worker may run: those that came from elsewhere than a worker, and those that a
    /// worker has no room for.
    pub(crate) queue: Arc<SharedQueue<Runnable>>,
    /// What each worker has ready itself.
    pub(crate) lanes: Box<[Arc<Lane<Runnable>>]>,
    /// All tasks that may run anywhere: a list for each worker that spawned them, and one for what
    /// comes from elsewhere.
    pub(crate) tasks: Box<[List]>,
    pub(crate) idle: Idle,
    /// What ends the sleep of each worker.
    pub(crate) workers: Box<[ReactorHandle]>,
    /// Tasks that stay with one worker, for each.
    pub(crate) places: Box<[Arc<Place>]>,
    /// Tasks may go from one worker to another.
    pub(crate) is_stealing: bool,
    /// What the numbers of the lists of tasks have in common: [`PLACED`](crate::task::PLACED), if
    /// tasks may not.
    pub(crate) placed: u16,
    /// Whose turn it is to get a task that stays.
    pub(crate) turn: AtomicUsize,
    /// What is called when the threads begin, end and sleep.
    pub(crate) hooks: Hooks,
    /// What a panic of a task leads to.
    pub(crate) panics: Panics,
    /// The seat of the worker that is whoever calls `block_on`: worker 0.
    pub(crate) seat: Mutex<Option<Seat>>,
    pub(crate) pool: Arc<Pool>,
    /// What each worker runs, for the reports of the watch.
    pub(crate) posts: Box<[Arc<Post>]>,
    /// What helps when a worker is stuck; nothing where it could not help.
    pub(crate) watch: Option<Watch>,
    /// What each worker counts.
    pub(crate) counters: Box<[Arc<Counters>]>,
    /// The tasks that stay on a thread, of all threads that have or had some.
    pinned: Mutex<Vec<Weak<Pinned>>>,
    /// The clock for who looks at tasks.
    pub(crate) ticks: Ticks,
    /// How long polls take is measured.
    pub(crate) is_timed: bool,
    /// What decides which task runs next, if not their order.
    pub(crate) lots: Option<Lots>,
    /// What a task may do in one poll.
    pub(crate) budget: Budget,
    /// Whose threads the workers are.
    pub(crate) process: Process,
    lifecycle: Arc<Lifecycle>,
    stopping: AtomicBool,
}

impl Shared {
    /// Says whether this is the runtime of a process that has forked into this one.
    #[inline]
    pub(crate) fn is_inherited(&self) -> bool {
        !self.process.is_current()
    }

    /// Makes sure that somebody will run what is given to the runtime.
    ///
    /// # Panics
    ///
    /// If it is the parent's.
    #[inline]
    #[track_caller]
    pub(crate) fn refuse_if_inherited(&self) {
        if self.is_inherited() {
            refuse_inherited();
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Notes the tasks of one more thread, for who looks at them.
    pub(crate) fn add_pinned(&self, pinned: &Arc<Pinned>) {
        let mut sets = self.pinned.lock();
        sets.retain(|set| set.strong_count() > 0);
        sets.push(Arc::downgrade(pinned));
    }

    /// Returns the tasks that stay on a thread, of each thread that has some.
    pub(crate) fn pinned_sets(&self) -> Vec<Arc<Pinned>> {
        self.pinned
            .lock()
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// Has a new task run for the first time: by this thread if it is a worker, unless another is
    /// free before it comes to that.
    pub(crate) fn start(self: &Arc<Self>, runnable: Runnable) {
        if let Some(runnable) = context::push::<Self>(self, runnable) {
            self.inject(runnable);
        }
    }

    /// Has any worker run a task.
    pub(crate) fn inject(&self, runnable: Runnable) {
        self.queue.push(runnable);
        self.wake_one();
    }

    /// Wakes a sleeping worker for work that was made visible, unless one is looking for work.
    pub(crate) fn wake_one(&self) {
        if let Some(worker) = self.idle.choose() {
            self.notify(worker);
        }
    }

    /// Wakes a sleeping worker for work that this one, who is awake, has left. If the queue was
    /// empty, whoever is falling asleep at the same time must not be missed: rule 7 of `idle`.
    #[inline(never)]
    pub(crate) fn offer(&self, queue_was_empty: bool) {
        let chosen = if queue_was_empty {
            self.idle.choose()
        } else {
            self.idle.choose_for_own()
        };
        if let Some(worker) = chosen {
            self.notify(worker);
        }
    }

    /// Says whether there is something that any worker may run.
    pub(crate) fn has_work(&self) -> bool {
        !self.queue.is_empty() || self.lanes.iter().any(|lane| lane.has_work())
    }

    /// Moves all that `worker` has ready and that may move to where the others find it.
    ///
    /// For a worker that is stuck in a poll; see [`Lane::polls`].
    pub(crate) fn take_over(&self, worker: usize) {
        if self.lanes[worker].move_all(&self.queue) {
            self.wake_one();
        }
    }

    /// Wakes a sleeping worker, whether or not one is looking for work.
    pub(crate) fn wake_any(&self) {
        let claimed = (0..self.workers.len()).find(|worker| self.idle.claim(*worker));
        if let Some(worker) = claimed {
            self.notify(worker);
        }
    }

    /// Wakes this very worker, if it sleeps, for something that was made visible to it.
    pub(crate) fn wake_worker(&self, worker: usize) {
        if self.idle.claim(worker) {
            self.notify(worker);
        }
    }

    fn notify(&self, worker: usize) {
        // It can only fail if the descriptor is closed behind our back.
        if let Err(error) = self.workers[worker].notify() {
            panic!("worker {worker} can't be woken: {error}");
        }
    }

    /// Has all workers stop, and refuses what is spawned from now on.
    pub(crate) fn stop(&self) {
        if self.stopping.swap(true, Ordering::SeqCst) {
            return;
        }
        // First of all, so that no future that is dropped by a worker starts another job.
        self.pool.close();
        for worker in 0..self.workers.len() {
            self.wake_worker(worker);
        }
        if let Some(watch) = &self.watch {
            watch.stop();
        }
        if self.lifecycle.is_idle() {
            self.end_tasks();
        }
    }

    /// Finds the name of a task that may run anywhere, or was placed on a worker.
    pub(crate) fn name_of(&self, id: Id) -> Option<Name> {
        let places = self.places.iter().map(|place| place.name_of(id));
        let lists = self.tasks.iter().map(|list| list.name_of(id));
        places.chain(lists).flatten().next()
    }

    /// Ends all tasks. No worker runs any more.
    pub(crate) fn end_tasks(&self) {
        self.tasks.iter().for_each(List::close);
        // What is ready keeps its task, which keeps all this.
        for lane in &self.lanes {
            lane.move_all(&self.queue);
        }
        self.queue.close();
        for place in &self.places {
            place.close();
        }
        // Not while the seat is locked: dropping a reactor wakes whoever waits on it.
        let seat = self.seat.lock().take();
        drop(seat);
    }
}

/// What is said of a runtime in a child of the process that made it.
pub(crate) const INHERITED: &str = "this runtime was made before fork(), and its threads are the parent's; \
     make a new one in the child, or use the free block_on";

#[cold]
#[track_caller]
pub(crate) fn refuse_inherited() -> ! {
    panic!("{INHERITED}")
}

/// Sends tasks that may run anywhere to whoever can run them.
#[derive(Clone)]
pub(crate) struct Scheduler(pub(crate) Arc<Shared>);

impl Schedule for Scheduler {
    fn schedule(&self, runnable: Runnable) {
        self.schedule_from::<Self>(runnable);
    }

    #[inline(always)]
    fn schedule_from<Caller>(&self, runnable: Runnable) {
        if !self.0.is_stealing {
            return self.0.send_home(runnable);
        }
        if let Some(runnable) = context::push::<Caller>(&self.0, runnable) {
            self.0.inject(runnable);
        }
    }

    fn release(&self, task: Listed<'_>) -> Option<Task> {
        self.0.tasks[usize::from(task.list())].remove(task)
    }

    fn panicked(&self, error: &dyn fmt::Display) {
        self.0.task_panicked(error);
    }
}
