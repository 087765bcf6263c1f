//! The types of the packed words and of what they guard, which a model checker replaces by its own.

#[cfg(windlass_loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
#[cfg(windlass_loom)]
pub(crate) use modelled::Mutex;
#[cfg(not(windlass_loom))]
pub(crate) use parking_lot::Mutex;
#[cfg(not(windlass_loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

#[cfg(windlass_loom)]
mod modelled {
    /// The model checker's lock with the surface of ours.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0
                .lock()
                .expect("no model panics while it holds a lock")
        }
    }
}
