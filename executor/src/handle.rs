//! Spawning from anywhere.

use crate::context;
use crate::pinned::{Pinned, ToThread};
use crate::runtime::{INHERITED, Scheduler, Shared, refuse_inherited};
use crate::task::{self, Id, JoinHandle, PINNED, Runnable, Schedule, Task};
use futures_task::{FutureObj, LocalFutureObj, LocalSpawn, Spawn};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

/// Reaches a runtime from any thread.
///
/// It does not keep the runtime going: what is spawned through it after the runtime was dropped is
/// cancelled at once.
///
/// # Examples
///
/// ```
/// use std::thread;
/// use windlass_executor::Runtime;
///
/// let runtime = Runtime::builder().workers(2).build()?;
/// let handle = runtime.handle().clone();
/// let sum = thread::spawn(move || handle.spawn(async { 1 + 1 }).wait());
/// assert_eq!(sum.join().unwrap()?, 2);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
}

impl Handle {
    /// Returns the runtime that this thread runs tasks for.
    ///
    /// # Panics
    ///
    /// If it runs none; [`Handle::try_current`] says so instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::{Handle, block_on};
    ///
    /// let handle = block_on(async { Handle::current() });
    /// handle.spawn(async { /* runs with the next block_on of this thread */ });
    /// ```
    #[track_caller]
    pub fn current() -> Self {
        match Self::try_current() {
            Some(handle) => handle,
            None => no_runtime("Handle::current"),
        }
    }

    /// Returns the runtime that this thread runs tasks for, if it does.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::{Handle, block_on};
    ///
    /// assert!(Handle::try_current().is_none());
    /// assert!(block_on(async { Handle::try_current() }).is_some());
    /// ```
    pub fn try_current() -> Option<Self> {
        context::runtime().map(|shared| Self { shared })
    }

    /// Starts `future` as a task.
    ///
    /// If the runtime is shut down, the task is cancelled at once, and its future dropped here.
    ///
    /// # Panics
    ///
    /// In a child process, if the runtime was made before the fork.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// let task = runtime.handle().spawn(async { 5 });
    /// assert_eq!(runtime.block_on(task)?, 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.shared.spawn(future, Location::caller())
    }

    /// Runs a closure that may block, on a thread for such.
    ///
    /// As [`spawn_blocking`]. Such threads run whether or not anybody is in `block_on`.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// let job = runtime.handle().spawn_blocking(|| std::fs::canonicalize("."));
    /// assert!(job.wait()?.is_ok());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<T, C>(&self, closure: C) -> JoinHandle<T>
    where
        T: Send + 'static,
        C: FnOnce() -> T + Send + 'static,
    {
        let scheduler = self.shared.to_pool();
        self.shared
            .spawn_blocking(closure, scheduler, Location::caller())
    }

    /// Returns how often a worker was found stuck in one task, as
    /// [`Builder::on_stall`](crate::Builder::on_stall) tells. Nobody looks where there is one worker
    /// and no hook.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = windlass_executor::Runtime::builder().workers(2).build()?;
    /// println!("{} stalls so far", runtime.handle().stalls());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn stalls(&self) -> u64 {
        self.shared.posts.iter().map(|post| post.stalls()).sum()
    }

    /// Says whether both reach the same runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::{Handle, Runtime};
    ///
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// let inside = runtime.block_on(async { Handle::current() });
    /// assert!(inside.is_same(runtime.handle()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_same(&self, other: &Handle) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("workers", &self.shared.workers.len())
            .field("shut_down", &self.shared.is_stopping())
            .finish()
    }
}

impl Spawn for Handle {
    fn spawn_obj(&self, future: FutureObj<'static, ()>) -> Result<(), futures_task::SpawnError> {
        self.status()?;
        drop(self.spawn(future));
        Ok(())
    }

    fn status(&self) -> Result<(), futures_task::SpawnError> {
        if self.shared.is_stopping() || self.shared.is_inherited() {
            Err(futures_task::SpawnError::shutdown())
        } else {
            Ok(())
        }
    }
}

/// Spawns tasks that stay on this thread, and so stays on it, too.
///
/// # Examples
///
/// As the spawner that a library asks for:
///
/// ```
/// use futures_util::task::{LocalSpawn, LocalSpawnExt};
/// use windlass_executor::{LocalHandle, block_on};
///
/// fn start(spawner: &impl LocalSpawn) {
///     spawner.spawn_local(async { /* need not be Send */ }).unwrap();
/// }
///
/// block_on(async { start(&LocalHandle::try_current().unwrap()) });
/// ```
#[derive(Clone)]
pub struct LocalHandle {
    pinned: Arc<Pinned>,
    /// Neither sent nor shared: the tasks are of the thread that made it.
    _here: PhantomData<Rc<()>>,
}

impl LocalHandle {
    /// Returns what spawns tasks on this thread, while it is a worker or in `block_on`; else
    /// `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::{LocalHandle, block_on};
    ///
    /// assert!(LocalHandle::try_current().is_none());
    /// assert!(block_on(async { LocalHandle::try_current() }).is_some());
    /// ```
    pub fn try_current() -> Option<Self> {
        let pinned = context::with(|context| Some(context.queues.as_ref()?.pinned.clone()));
        pinned.flatten().map(|pinned| Self {
            pinned,
            _here: PhantomData,
        })
    }

    /// Starts `future` as a task that stays on this thread.
    ///
    /// It runs while this thread is in `block_on`, or for good on a worker thread. If the runtime
    /// is gone, the task is cancelled.
    ///
    /// # Panics
    ///
    /// In a child process, if the runtime was made before the fork.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::{LocalHandle, block_on};
    ///
    /// let spawner = block_on(async { LocalHandle::try_current().unwrap() });
    /// let task = spawner.spawn_local(async { 5 });
    /// assert_eq!(block_on(task).unwrap(), 5);
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.spawn_with(future, |scheduler| scheduler, Location::caller())
    }

    /// Starts a task whose scheduler `wrap` makes out of the usual one.
    pub(crate) fn spawn_with<F, S: Schedule + Clone>(
        &self,
        future: F,
        wrap: impl FnOnce(ToThread) -> S,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        if self.pinned.is_inherited() {
            refuse_inherited();
        }
        let scheduler = wrap(ToThread(self.pinned.clone()));
        let (task, runnable, handle) =
            task::new_local(future, scheduler.clone(), Id::next(), spawned_at);
        match self.pinned.tasks.insert(PINNED, task) {
            Ok(()) => scheduler.schedule(runnable),
            Err(refused) => drop((runnable, refused)),
        }
        handle
    }
}

impl fmt::Debug for LocalHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalHandle")
            .field("tasks", &self.pinned.tasks.len())
            .finish()
    }
}

impl LocalSpawn for LocalHandle {
    fn spawn_local_obj(
        &self,
        future: LocalFutureObj<'static, ()>,
    ) -> Result<(), futures_task::SpawnError> {
        // Only a runtime that is gone ends a task before its thread has gone on.
        if self.spawn_local(future).is_finished() {
            return Err(futures_task::SpawnError::shutdown());
        }
        Ok(())
    }
}

/// There is no runtime on this thread that could take a task.
///
/// # Examples
///
/// ```
/// let error = windlass_executor::try_spawn(async {}).unwrap_err();
/// assert!(error.to_string().contains("block_on"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpawnError(Refusal);

/// Why a task can't be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    NoRuntime,
    /// It is the parent's.
    Inherited,
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Refusal::NoRuntime => {
                "this thread runs no tasks; spawn inside block_on or a task, or through a Handle"
            }
            Refusal::Inherited => INHERITED,
        })
    }
}

impl std::error::Error for SpawnError {}

/// Starts `future` as a task of the runtime that this thread runs tasks for.
///
/// The task runs on whether or not the handle is kept.
///
/// # Examples
///
/// ```
/// use windlass_executor::{block_on, spawn};
///
/// let sum = block_on(async {
///     let one = spawn(async { 1 });
///     let two = spawn(async { 2 });
///     one.await.unwrap() + two.await.unwrap()
/// });
/// assert_eq!(sum, 3);
/// ```
///
/// # Panics
///
/// On a thread that is neither in `block_on` nor a worker; [`try_spawn`] and [`Handle::spawn`]
/// don't.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn_at(future, Location::caller())
}

/// Starts `future` as [`spawn`] does, on behalf of who called from elsewhere.
#[inline(always)]
#[track_caller]
pub(crate) fn spawn_at<F>(
    future: F,
    spawned_at: &'static Location<'static>,
) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    context::spawn(future, spawned_at, |future| {
        current_or_panic("spawn").spawn(future, spawned_at)
    })
}

/// Starts `future` as [`spawn`] does.
///
/// # Errors
///
/// [`SpawnError`] on a thread that is neither in `block_on` nor a worker, and in a child process
/// that was forked within either; the future is dropped.
///
/// # Examples
///
/// ```
/// use windlass_executor::{block_on, try_spawn};
///
/// assert!(try_spawn(async {}).is_err());
/// block_on(async { assert!(try_spawn(async {}).is_ok()) });
/// ```
#[track_caller]
pub fn try_spawn<F>(future: F) -> Result<JoinHandle<F::Output>, SpawnError>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let spawned_at = Location::caller();
    match context::with(|context| context.shared.is_inherited()) {
        None => Err(SpawnError(Refusal::NoRuntime)),
        Some(true) => Err(SpawnError(Refusal::Inherited)),
        Some(false) => Ok(context::spawn(future, spawned_at, |future| {
            current_or_panic("try_spawn").spawn(future, spawned_at)
        })),
    }
}

/// Starts `future` as a task that stays on this thread, so that it need not be `Send`.
///
/// It runs while this thread is in `block_on`, or for good on a worker thread, and its future is
/// dropped there.
///
/// # Examples
///
/// ```
/// use std::rc::Rc;
/// use windlass_executor::{block_on, spawn_local};
///
/// let shared = Rc::new(5);
/// let copy = shared.clone();
/// assert_eq!(block_on(async { spawn_local(async move { *copy }).await.unwrap() }), 5);
/// ```
///
/// # Panics
///
/// On a thread that is neither a worker nor the first one in `block_on`.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    match LocalHandle::try_current() {
        Some(handle) => handle.spawn_local(future),
        None => no_runtime("spawn_local"),
    }
}

/// Runs a closure that may block, on a thread that is kept for such.
///
/// There is a thread for each closure up to a limit
/// ([`Builder::blocking_threads`](crate::Builder::blocking_threads)); those above it wait in a queue
/// that has none, so it is up to the caller not to fill it faster than it empties. A thread without
/// work ends after a while
/// ([`Builder::blocking_keep_alive`](crate::Builder::blocking_keep_alive)).
///
/// A closure that has started can't be stopped: shutting the runtime down waits for it. One that
/// hasn't is dropped by [`JoinHandle::abort`], at once and where that is called, or with the
/// runtime; and right away, if it is the first and the system has no thread for it. Its panic is the
/// error of who joins it.
///
/// # Examples
///
/// ```
/// use windlass_executor::{block_on, spawn_blocking};
///
/// let text = block_on(async {
///     spawn_blocking(|| std::fs::read_to_string("/proc/self/stat")).await.unwrap()
/// });
/// # let _ = text;
/// ```
///
/// # Panics
///
/// On a thread that is neither in `block_on` nor a worker; [`Handle::spawn_blocking`] doesn't.
#[track_caller]
pub fn spawn_blocking<T, C>(closure: C) -> JoinHandle<T>
where
    T: Send + 'static,
    C: FnOnce() -> T + Send + 'static,
{
    match context::runtime() {
        Some(shared) => shared.spawn_blocking(closure, shared.to_pool(), Location::caller()),
        None => no_runtime("spawn_blocking"),
    }
}

/// Returns the runtime that this thread runs tasks for.
#[cold]
#[inline(never)]
#[track_caller]
fn current_or_panic(what: &str) -> Arc<Shared> {
    context::runtime().unwrap_or_else(|| no_runtime(what))
}

#[cold]
#[track_caller]
pub(crate) fn no_runtime(what: &str) -> ! {
    panic!(
        "{what} was called on a thread that runs no tasks: call it inside block_on or a task, \
         or use a Handle of the runtime"
    )
}

/// The handle of a new task, and the right to run it; or what is left of one that came too late.
pub(crate) type Made<T> = (JoinHandle<T>, Result<Runnable, (Runnable, Task)>);

impl Shared {
    /// Starts a task, on whatever thread this is.
    #[track_caller]
    pub(crate) fn spawn<F>(
        self: &Arc<Self>,
        future: F,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_with(future, Scheduler(self.clone()), spawned_at)
    }

    /// Starts a task whose `scheduler` leads to this runtime.
    pub(crate) fn spawn_with<F, S: Schedule>(
        self: &Arc<Self>,
        future: F,
        scheduler: S,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.refuse_if_inherited();
        let list = self.list_of_new();
        let (handle, runnable) = self.make_task(future, scheduler, list, spawned_at);
        match runnable {
            Ok(runnable) if !self.is_stealing => self.send_home(runnable),
            Ok(runnable) => self.start(runnable),
            Err(refused) => drop(refused),
        }
        handle
    }

    /// Makes a task in one of the lists; or one that ends when it is dropped, if that is closed.
    #[inline(always)]
    pub(crate) fn make_task<F, S: Schedule>(
        self: &Arc<Self>,
        future: F,
        scheduler: S,
        list: usize,
        spawned_at: &'static Location<'static>,
    ) -> Made<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (task, runnable, handle) = task::new(future, scheduler, Id::next(), spawned_at);
        let runnable = match self.tasks[list].insert(self.placed | list as u16, task) {
            Ok(()) => Ok(runnable),
            Err(task) => Err((runnable, task)),
        };
        (handle, runnable)
    }
}
