//! The scenarios, by what they are about. Each runs in a process of its own.

pub(crate) mod answers;
pub(crate) mod opening;
pub(crate) mod processes;
pub(crate) mod stale;
pub(crate) mod threads;
pub(crate) mod waiting;
pub(crate) mod writing;
