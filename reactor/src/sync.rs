//! The types of the packed words and of what they guard, which a model checker replaces by its own.

#[cfg(windlass_loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
#[cfg(windlass_loom)]
pub(crate) use modelled::{Mutex, MutexGuard};
#[cfg(not(windlass_loom))]
pub(crate) use parking_lot::{Mutex, MutexGuard};
#[cfg(not(windlass_loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

#[cfg(windlass_loom)]
mod modelled {
    pub(crate) use loom::sync::MutexGuard;

    /// The model checker's lock with the surface of ours.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0
                .lock()
                .expect("no model panics while it holds a lock")
        }

        /// To be called where no other thread may be about to try: the model checker has such a
        /// thread wait.
        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }
}
