//! What users want to be called when something happens to a thread.

use crate::task::{contain, discard_panic};
use std::fmt;
use std::sync::Arc;

/// A function to be called, or none.
#[derive(Clone, Default)]
pub(crate) struct Hook(Option<Arc<dyn Fn() + Send + Sync>>);

/// When what is called.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hooks {
    /// A thread has begun.
    pub(crate) start: Hook,
    /// A thread is about to end.
    pub(crate) stop: Hook,
    /// A worker is about to sleep.
    pub(crate) park: Hook,
    /// A worker has woken up.
    pub(crate) unpark: Hook,
}

impl Hooks {
    /// Says whether anything is to be called when a worker sleeps.
    pub(crate) fn watch_sleep(&self) -> bool {
        self.park.0.is_some() || self.unpark.0.is_some()
    }
}

impl Hook {
    pub(super) fn new(function: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(function)))
    }

    /// Calls the function. Its panic goes no further: it must not keep a thread from its work.
    #[inline]
    pub(crate) fn call(&self) {
        if let Some(function) = &self.0 {
            discard_panic(contain(|| function()));
        }
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "set" } else { "unset" })
    }
}
