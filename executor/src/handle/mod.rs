//! Spawning from anywhere: through a handle (here), on the runtime of the thread (`spawn.rs`), on the
//! thread itself (`local.rs`); and what all of that comes down to (`start.rs`).

mod local;
mod spawn;
mod start;

pub use local::LocalHandle;
pub use spawn::{SpawnError, spawn, spawn_blocking, spawn_local, try_spawn};
pub(crate) use spawn::{no_runtime, spawn_at};

use crate::context;
use crate::runtime::Shared;
use crate::task::JoinHandle;
use futures_task::{FutureObj, Spawn};
use std::fmt;
use std::future::Future;
use std::panic::Location;
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
