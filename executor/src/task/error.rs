//! Why a task gave no output.

use std::any::Any;
use std::{fmt, io};

use super::Id;
use super::contain::Payload;

/// What a task leaves in its cell.
pub(super) type Ended<T> = Result<T, Failure>;

/// Why there is no output, as kept in the cell.
pub(super) enum Failure {
    /// The future was dropped before it was ready.
    Cancelled,
    /// The future panicked, when polled or when dropped.
    Panicked(Payload),
}

/// Says why a task gave no output: it was cancelled, or it panicked.
pub struct JoinError {
    /// The task.
    id: Id,
    /// The reason.
    failure: Failure,
}

// SAFETY: The payload may not be `Sync`, and is reached through a shared reference in one place
// only: `message`, which asks for its type and reads it if it is a string, which is `Sync`.
unsafe impl Sync for JoinError {}

impl JoinError {
    /// Makes the error that the joiner sees.
    pub(super) fn new(id: Id, failure: Failure) -> Self {
        Self { id, failure }
    }

    /// Says whether the task was cancelled: aborted, or dropped with its runtime.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.failure, Failure::Cancelled)
    }

    /// Says whether the task panicked.
    pub fn is_panic(&self) -> bool {
        matches!(self.failure, Failure::Panicked(_))
    }

    /// Gives what the task panicked with, for example to [`std::panic::resume_unwind`].
    ///
    /// # Panics
    ///
    /// If the task did not panic, but was cancelled.
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        match self.failure {
            Failure::Panicked(payload) => payload,
            Failure::Cancelled => panic!("task {} did not panic, it was cancelled", self.id),
        }
    }

    /// Gives what the task panicked with.
    ///
    /// # Errors
    ///
    /// The error itself, if the task did not panic.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, Self> {
        match self.failure {
            Failure::Panicked(payload) => Ok(payload),
            Failure::Cancelled => Err(self),
        }
    }

    /// Says which task it was.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Reads the message of the panic, if it is a string.
    fn message(&self) -> Option<&str> {
        let Failure::Panicked(payload) = &self.failure else {
            return None;
        };
        let fixed = payload.downcast_ref::<&'static str>().copied();
        fixed.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_panic(), self.message()) {
            (true, Some(message)) => write!(formatter, "task {} panicked: {message}", self.id),
            (true, None) => write!(formatter, "task {} panicked", self.id),
            (false, _) => write!(formatter, "task {} was cancelled", self.id),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> Self {
        Self::other(error)
    }
}
