//! The handle that ends a task before its time.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

use super::Id;
use super::reference::Reference;

/// Aborts a task, from wherever it is.
///
/// It neither keeps the task from ending nor waits for it.
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
    /// task that is complete is left as it is.
    pub fn abort(&self) {
        self.0.abort();
    }

    /// Says whether the task is complete.
    pub fn is_finished(&self) -> bool {
        self.0.state().is_complete()
    }

    /// Says which task it is.
    pub fn id(&self) -> Id {
        self.0.header().id
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AbortHandle")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
