//! Spawning tasks that stay on the thread.

use crate::context;
use crate::pinned::{Pinned, ToThread};
use crate::runtime::refuse_inherited;
use crate::task::{self, Id, JoinHandle, PINNED, Schedule};
use futures_task::{LocalFutureObj, LocalSpawn};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

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
