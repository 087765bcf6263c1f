//! Tasks that have a name.

use crate::context;
use crate::handle::{Handle, LocalHandle, no_runtime};
use crate::place::ToPlace;
use crate::runtime::{Scheduler, Shared};
use crate::task::{JoinHandle, Listed, Name, Runnable, Schedule, Task};
use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

/// Starts a task that has a name, for those who look at errors and reports.
///
/// The name costs memory for this task only. A task of a [`JoinSet`](crate::JoinSet) gets one by
/// being [inserted](crate::JoinSet::insert).
///
/// # Examples
///
/// ```
/// use windlass_executor::{TaskBuilder, block_on};
///
/// block_on(async {
///     let task = TaskBuilder::new().name("baker").spawn(async { panic!("no bread") });
///     assert_eq!(task.name(), Some("baker"));
///     // task 1 "baker", spawned at src/main.rs:4:44, panicked: no bread
///     assert!(task.await.unwrap_err().to_string().contains("\"baker\""));
/// });
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "it only starts something when it is asked to spawn"]
pub struct TaskBuilder {
    name: Option<Name>,
    handle: Option<Handle>,
}

impl TaskBuilder {
    /// Begins with a task of the current runtime that has no name.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{TaskBuilder, block_on};
    /// # block_on(async {
    /// assert_eq!(TaskBuilder::new().spawn(async {}).name(), None);
    /// # });
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name. It need not be unique.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{TaskBuilder, block_on};
    /// # block_on(async {
    /// let task = TaskBuilder::new().name(format!("client {}", 7)).spawn(async {});
    /// assert_eq!(task.name(), Some("client 7"));
    /// # });
    /// ```
    pub fn name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the runtime, where it is not to be that of this thread.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{Runtime, TaskBuilder};
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// let task = TaskBuilder::new().handle(runtime.handle()).name("baker").spawn(async { 5 });
    /// assert_eq!(runtime.block_on(task)?, 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn handle(mut self, handle: &Handle) -> Self {
        self.handle = Some(handle.clone());
        self
    }

    /// Starts a task as [`spawn`](crate::spawn) does.
    ///
    /// # Panics
    ///
    /// On a thread that runs no tasks, if no [`handle`](Self::handle) was given.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{TaskBuilder, block_on};
    /// # block_on(async {
    /// assert_eq!(TaskBuilder::new().name("baker").spawn(async { 5 }).await.unwrap(), 5);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let shared = self.shared("TaskBuilder::spawn");
        let scheduler = self.named(Scheduler(shared.clone()));
        shared.spawn_with(future, scheduler, Location::caller())
    }

    /// Starts a task that one worker runs, as [`spawn_on`](crate::spawn_on) does.
    ///
    /// # Panics
    ///
    /// If there is no such worker; on a thread that runs no tasks, if no [`handle`](Self::handle)
    /// was given.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{TaskBuilder, block_on};
    /// # block_on(async {
    /// assert_eq!(TaskBuilder::new().name("baker").spawn_on(0, async { 5 }).await.unwrap(), 5);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(self, worker: usize, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let shared = self.shared("TaskBuilder::spawn_on");
        let place = shared.place(worker);
        place.spawn(
            future,
            &self.named(ToPlace(place.clone())),
            Location::caller(),
        )
    }

    /// Starts a task that stays on this thread, as [`spawn_local`](crate::spawn_local) does.
    ///
    /// # Panics
    ///
    /// On a thread that is no worker of the runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{TaskBuilder, block_on};
    /// # use std::rc::Rc;
    /// # block_on(async {
    /// let shared = Rc::new(5);
    /// let task = TaskBuilder::new().name("baker").spawn_local(async move { *shared });
    /// assert_eq!(task.await.unwrap(), 5);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let shared = self.shared("TaskBuilder::spawn_local");
        match LocalHandle::try_current() {
            Some(local) if context::is_of(&shared) => local.spawn_with(
                future,
                |scheduler| self.named(scheduler),
                Location::caller(),
            ),
            _ => no_runtime("TaskBuilder::spawn_local"),
        }
    }

    /// Runs a closure that may block, as [`spawn_blocking`](crate::spawn_blocking) does.
    ///
    /// # Panics
    ///
    /// On a thread that runs no tasks, if no [`handle`](Self::handle) was given.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{TaskBuilder, block_on};
    /// # block_on(async {
    /// assert_eq!(TaskBuilder::new().name("baker").spawn_blocking(|| 5).await.unwrap(), 5);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_blocking<T, C>(self, closure: C) -> JoinHandle<T>
    where
        T: Send + 'static,
        C: FnOnce() -> T + Send + 'static,
    {
        let shared = self.shared("TaskBuilder::spawn_blocking");
        let scheduler = self.named(shared.to_pool());
        shared.spawn_blocking(closure, scheduler, Location::caller())
    }

    #[track_caller]
    fn shared(&self, what: &str) -> Arc<Shared> {
        match &self.handle {
            Some(handle) => handle.shared.clone(),
            None => context::runtime().unwrap_or_else(|| no_runtime(what)),
        }
    }

    fn named<S>(self, scheduler: S) -> Named<S> {
        Named {
            scheduler,
            name: self.name,
        }
    }
}

/// Where tasks with a name go. So the name is where everybody may read it, for as long as the task
/// is in memory, and tasks without one have no room for it.
#[derive(Clone)]
struct Named<S> {
    scheduler: S,
    name: Option<Name>,
}

impl<S: Schedule> Schedule for Named<S> {
    fn schedule(&self, runnable: Runnable) {
        self.scheduler.schedule(runnable);
    }

    fn release(&self, task: Listed<'_>) -> Option<Task> {
        self.scheduler.release(task)
    }

    fn name(&self) -> Option<&Name> {
        self.name.as_ref()
    }

    fn withdraw(&self, task: Listed<'_>) -> Option<Task> {
        self.scheduler.withdraw(task)
    }

    fn panicked(&self, error: &dyn fmt::Display) {
        self.scheduler.panicked(error);
    }
}
