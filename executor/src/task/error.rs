//! Why a task gave no output.

use std::any::Any;
use std::panic::Location;
use std::{fmt, io};

use super::contain::Payload;
use super::reference::Reference;
use super::{Id, Name};

/// What a task leaves in its cell.
pub(super) type Ended<T> = Result<T, Failure>;

/// Why there is no output, as kept in the cell.
pub(super) enum Failure {
    /// The future was dropped before it was ready.
    Cancelled,
    /// The future panicked, when polled or when dropped. A pointer to the two that a payload is:
    /// every cell has room for this.
    Panicked(Box<Payload>),
}

/// Says why a task gave no output: it was cancelled, or it panicked.
///
/// Its text names the task by number and by the call that spawned it. It turns into an
/// [`io::Error`] with `?`.
///
/// # Examples
///
/// ```
/// use windlass_executor::{block_on, spawn};
///
/// let error = block_on(async { spawn(async { panic!("no bread") }).await }).unwrap_err();
/// let text = error.to_string(); // task 1, spawned at src/main.rs:3:30, panicked: no bread
/// assert!(text.contains(file!()) && text.ends_with("panicked: no bread"));
/// ```
// Boxed, as few tasks fail and every result has the size.
pub struct JoinError(Box<Story>);

/// What is kept of a task that failed.
struct Story {
    /// The task.
    id: Id,
    /// The call that spawned the task.
    spawned_at: &'static Location<'static>,
    /// The name of the task, if it has one.
    name: Option<Name>,
    /// The reason.
    failure: Failure,
}

/// What went wrong with a task, in words.
pub(super) struct Told<'a> {
    id: Id,
    spawned_at: &'static Location<'static>,
    name: Option<&'a Name>,
    failure: &'a Failure,
}

impl<'a> Told<'a> {
    /// Tells of a task whose result is not out yet.
    pub(super) fn new(task: &'a Reference, failure: &'a Failure) -> Self {
        Self {
            id: task.header().id,
            spawned_at: task.header().spawned_at,
            name: task.name(),
            failure,
        }
    }
}

// SAFETY: The payload may not be `Sync`, and is reached through a shared reference in one place
// only: `Failure::message`, which asks for its type and reads it if it is a string, which is `Sync`.
unsafe impl Sync for JoinError {}

impl JoinError {
    /// Makes the error that the joiner sees.
    #[cold]
    pub(super) fn new(task: &Reference, failure: Failure) -> Self {
        Self(Box::new(Story {
            id: task.header().id,
            spawned_at: task.header().spawned_at,
            name: task.name().cloned(),
            failure,
        }))
    }

    /// Says whether the task was cancelled: aborted, or dropped with its runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::{block_on, spawn};
    ///
    /// let task = spawn_and_abort();
    /// assert!(block_on(task).unwrap_err().is_cancelled());
    ///
    /// fn spawn_and_abort() -> windlass_executor::JoinHandle<()> {
    ///     block_on(async {
    ///         let task = spawn(std::future::pending());
    ///         task.abort();
    ///         task
    ///     })
    /// }
    /// ```
    pub fn is_cancelled(&self) -> bool {
        matches!(self.0.failure, Failure::Cancelled)
    }

    /// Says whether the task panicked, in a poll or when its future was dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{block_on, spawn};
    /// let error = block_on(async { spawn(async { panic!() }).await }).unwrap_err();
    /// assert!(error.is_panic());
    /// ```
    pub fn is_panic(&self) -> bool {
        matches!(self.0.failure, Failure::Panicked(_))
    }

    /// Gives what the task panicked with, for example to [`std::panic::resume_unwind`].
    ///
    /// # Panics
    ///
    /// If the task did not panic, but was cancelled.
    ///
    /// # Examples
    ///
    /// A panic that goes on where the task is joined:
    ///
    /// ```
    /// use windlass_executor::{JoinHandle, block_on, spawn};
    ///
    /// async fn output_of<T>(task: JoinHandle<T>) -> T {
    ///     match task.await {
    ///         Ok(output) => output,
    ///         Err(error) => std::panic::resume_unwind(error.into_panic()),
    ///     }
    /// }
    ///
    /// assert_eq!(block_on(async { output_of(spawn(async { 3 })).await }), 3);
    /// ```
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        match self.try_into_panic() {
            Ok(payload) => payload,
            Err(error) => panic!("this did not panic: {error}"),
        }
    }

    /// Gives what the task panicked with.
    ///
    /// # Errors
    ///
    /// The error itself, if the task did not panic.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{block_on, spawn};
    /// let error = block_on(async { spawn(async { panic!("no bread") }).await }).unwrap_err();
    /// let payload = error.try_into_panic().unwrap();
    /// assert_eq!(payload.downcast_ref(), Some(&"no bread"));
    /// ```
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, Self> {
        if self.is_cancelled() {
            return Err(self);
        }
        match self.0.failure {
            Failure::Panicked(payload) => Ok(*payload),
            Failure::Cancelled => unreachable!("it was looked at just now"),
        }
    }

    /// Says which task it was.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{block_on, spawn};
    /// let task = block_on(async { spawn(async { panic!() }) });
    /// let id = task.id();
    /// assert_eq!(block_on(task).unwrap_err().id(), id);
    /// ```
    pub fn id(&self) -> Id {
        self.0.id
    }

    /// Says which call spawned the task.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{block_on, spawn};
    /// let error = block_on(async { spawn(async { panic!() }).await }).unwrap_err();
    /// assert_eq!(error.spawned_at().file(), file!());
    /// ```
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.0.spawned_at
    }

    /// Gives the name of the task, if it has one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{TaskBuilder, block_on};
    /// let error = block_on(async {
    ///     TaskBuilder::new().name("baker").spawn(async { panic!() }).await.unwrap_err()
    /// });
    /// assert_eq!(error.name(), Some("baker"));
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }
}

impl Failure {
    #[cold]
    pub(super) fn panicked(payload: Payload) -> Self {
        Self::Panicked(Box::new(payload))
    }

    /// Reads the message of the panic, if it is a string.
    fn message(&self) -> Option<&str> {
        let Self::Panicked(payload) = self else {
            return None;
        };
        let fixed = payload.downcast_ref::<&'static str>().copied();
        fixed.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = Told {
            id: self.0.id,
            spawned_at: self.0.spawned_at,
            name: self.0.name.as_ref(),
            failure: &self.0.failure,
        };
        told.fmt(formatter)
    }
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "task {}", self.id)?;
        if let Some(name) = self.name {
            write!(formatter, " {name:?}")?;
        }
        write!(formatter, ", spawned at {}, ", self.spawned_at)?;
        match (self.failure, self.failure.message()) {
            (Failure::Panicked(_), Some(message)) => write!(formatter, "panicked: {message}"),
            (Failure::Panicked(_), None) => formatter.write_str("panicked"),
            (Failure::Cancelled, _) => formatter.write_str("was cancelled"),
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
