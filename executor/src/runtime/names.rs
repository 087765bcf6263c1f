//! What the threads of a runtime are called.

use std::fmt;
use std::io;
use std::sync::Arc;

/// How the threads are named.
#[derive(Clone)]
pub(crate) enum ThreadNames {
    /// By a name that a number follows.
    Numbered(String),
    /// The workers by what a function makes of their numbers.
    Function(Arc<dyn Fn(usize) -> String + Send + Sync>),
}

const DEFAULT: &str = "windlass";

impl Default for ThreadNames {
    fn default() -> Self {
        Self::Numbered(DEFAULT.to_owned())
    }
}

impl ThreadNames {
    /// Refuses a name that no thread can have.
    ///
    /// # Errors
    ///
    /// `InvalidInput`.
    pub(super) fn check(&self) -> io::Result<()> {
        match self {
            Self::Numbered(name) => check(name),
            Self::Function(_) => Ok(()),
        }
    }

    /// Names a worker.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub(super) fn of_worker(&self, number: usize) -> io::Result<String> {
        let name = match self {
            Self::Numbered(name) => format!("{name}-{number}"),
            Self::Function(function) => function(number),
        };
        check(&name).map(|()| name)
    }

    /// Names a thread of `spawn_blocking`.
    pub(crate) fn of_blocking(&self, number: usize) -> String {
        format!("{}-blocking-{number}", self.base())
    }

    /// Names the thread of the watch.
    pub(super) fn of_watch(&self) -> String {
        format!("{}-watch", self.base())
    }

    fn base(&self) -> &str {
        match self {
            Self::Numbered(name) => name,
            Self::Function(_) => DEFAULT,
        }
    }
}

fn check(name: &str) -> io::Result<()> {
    if name.contains('\0') {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the name for the threads contains a zero byte; the system can't take it",
        ));
    }
    Ok(())
}

impl fmt::Debug for ThreadNames {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbered(name) => name.fmt(formatter),
            Self::Function(_) => formatter.write_str("by a function"),
        }
    }
}
