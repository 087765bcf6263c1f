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
