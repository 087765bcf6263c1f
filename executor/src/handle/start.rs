//! How a task gets into a runtime.

use crate::runtime::{Scheduler, Shared};
use crate::task::{self, Id, JoinHandle, Runnable, Schedule, Task};
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

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
