//! What the panic of a task means to its runtime.

use super::Shared;
use crate::cancel::CancellationToken;
use std::fmt;
use std::future::Future;
use std::sync::OnceLock;

/// What is to happen when a task panics; see [`Builder::on_task_panic`](crate::Builder::on_task_panic).
///
/// # Examples
///
/// ```
/// use windlass_executor::{Runtime, TaskPanic};
///
/// let runtime = Runtime::builder().on_task_panic(TaskPanic::ShutDown).build()?;
/// # drop(runtime);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskPanic {
    /// Only who joins the task learns of it. This is so unless another choice is made.
    #[default]
    Ignore,
    /// The runtime shuts down, and `block_on` panics with the name of the task, whether or not
    /// anybody would have joined it.
    ShutDown,
}

/// The panics of the tasks of a runtime.
#[derive(Debug)]
pub(crate) struct Panics {
    policy: TaskPanic,
    /// What the first one was.
    first: OnceLock<String>,
    /// Cancelled once there was one.
    happened: CancellationToken,
}

impl Panics {
    pub(super) fn new(policy: TaskPanic) -> Self {
        Self {
            policy,
            first: OnceLock::new(),
            happened: CancellationToken::new(),
        }
    }

    /// Says whether a panic ends the runtime.
    pub(super) fn end_runtime(&self) -> bool {
        self.policy == TaskPanic::ShutDown
    }

    /// Runs `future` as long as no task has panicked.
    ///
    /// # Panics
    ///
    /// When one has.
    pub(super) async fn watch<F: Future>(&self, future: F) -> F::Output {
        let output = self.happened.run_until_cancelled(future).await;
        output.unwrap_or_else(|| {
            let what = self.first.get().map_or("a task panicked", |first| first);
            panic!("the runtime was shut down, as a task has panicked: {what}")
        })
    }
}

impl Shared {
    /// Learns that a task has panicked.
    #[cold]
    pub(crate) fn task_panicked(&self, error: &dyn fmt::Display) {
        if self.panics.end_runtime() && !self.is_stopping() {
            let _ = self.panics.first.set(error.to_string());
            self.panics.happened.cancel();
            self.stop();
        }
    }
}
