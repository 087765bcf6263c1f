//! Gives the types that loom replaces when the crate is built to be model checked.
//!
//! Everything whose interleavings a model explores takes its atomics and cells from here; under
//! `--cfg windlass_loom` they are loom's, which try every order that the memory model allows.

#[cfg(not(windlass_loom))]
mod real {
    pub(crate) use std::sync::atomic;

    /// A cell whose content is reached through raw pointers, with the interface of loom's.
    #[derive(Debug)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// Makes a cell that holds `value`.
        pub(crate) const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        /// Lends a pointer to the content, for exclusive use while `use_it` runs.
        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, use_it: impl FnOnce(*mut T) -> R) -> R {
            use_it(self.0.get())
        }
    }
}

#[cfg(windlass_loom)]
mod real {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::atomic;
}

pub(crate) use real::{UnsafeCell, atomic};

/// A lock that can't be poisoned, with the interface of `parking_lot`'s.
#[cfg(not(windlass_loom))]
pub(crate) use parking_lot::Mutex;

#[cfg(windlass_loom)]
mod lock {
    /// loom's lock with the interface of `parking_lot`'s.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// Makes a lock around `value`.
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        /// Takes the lock.
        pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }
}
#[cfg(windlass_loom)]
pub(crate) use lock::Mutex;
