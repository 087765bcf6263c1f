//! The types of the packed words, which a model checker replaces by its own.

#[cfg(windlass_loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(not(windlass_loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
