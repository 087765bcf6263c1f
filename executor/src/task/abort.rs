//! The handle that ends a task before its time.

use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};

use super::Id;
use super::reference::Reference;

/// Aborts a task, from wherever it is.
///
/// It neither keeps the task from ending nor waits for it.
///
/// # Examples
///
/// ```
/// use windlass_executor::{block_on, spawn};
///
/// block_on(async {
///     let task = spawn(std::future::pending::<()>());
///     let handle = task.abort_handle();
///     std::thread::spawn(move || handle.abort());
///     assert!(task.await.unwrap_err().is_cancelled());
/// });
/// ```
#[derive(Clone)]
pub struct AbortHandle(Reference);

impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl AbortHandle {
    /// Makes a handle out of a reference.
    pub(super) fn new(task: Reference) -> Self {
        Self(task)
    }

    /// Asks the task to end: it is not polled again, and its future is dropped where it runs.
    ///
    /// That happens soon, but not yet when this returns; await the join handle to learn when. A
    /// task that is complete is left as it is, and so is one of `spawn_blocking` that has started.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{block_on, spawn};
    /// # block_on(async {
    /// let task = spawn(async { 5 });
    /// let handle = task.abort_handle();
    /// assert_eq!(task.await.unwrap(), 5);
    /// handle.abort(); // too late to do anything
    /// # });
    /// ```
    pub fn abort(&self) {
        self.0.abort();
    }

    /// Says whether the task is complete: its future is dropped, and the result stands.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{block_on, spawn};
    /// # block_on(async {
    /// let task = spawn(async { 5 });
    /// let handle = task.abort_handle();
    /// assert!(!handle.is_finished());
    /// task.await.unwrap();
    /// assert!(handle.is_finished());
    /// # });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.0.state().is_complete()
    }

    /// Says which task it is.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{block_on, spawn};
    /// # block_on(async {
    /// let task = spawn(async {});
    /// assert_eq!(task.abort_handle().id(), task.id());
    /// # });
    /// ```
    pub fn id(&self) -> Id {
        self.0.header().id
    }

    /// Gives the name of the task, if it has one; see [`TaskBuilder`](crate::TaskBuilder).
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{TaskBuilder, block_on};
    /// # block_on(async {
    /// let task = TaskBuilder::new().name("baker").spawn(async {});
    /// assert_eq!(task.abort_handle().name(), Some("baker"));
    /// # });
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.0.name().map(|name| &**name)
    }

    /// Says which call spawned the task.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{block_on, spawn};
    /// # block_on(async {
    /// let task = spawn(async {});
    /// assert_eq!(task.abort_handle().spawned_at(), task.spawned_at());
    /// # });
    /// ```
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.0.header().spawned_at
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AbortHandle")
            .field("id", &self.id())
            .field("spawned_at", &format_args!("{}", self.spawned_at()))
            .finish_non_exhaustive()
    }
}
