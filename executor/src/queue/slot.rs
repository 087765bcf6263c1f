//! The place of the one task that a worker runs next.
//!
//! The worker alone fills it, and only when it is empty, so that filling takes no more than a
//! store. Emptying it takes a compare-exchange: another thread may do so as well, when the worker is stuck.
//! Filling comes after the emptying that it has seen, so these two steps release and acquire, too.

use super::ring::{Pointer, restore};
use crate::sync::atomic::{AtomicPtr, Ordering};
use std::marker::PhantomData;
use std::ptr;

#[derive(Debug)]
pub(super) struct Slot<T: Pointer> {
    pointer: AtomicPtr<()>,
    element: PhantomData<T>,
}

impl<T: Pointer> Slot<T> {
    pub(super) fn new() -> Self {
        Self {
            pointer: AtomicPtr::new(ptr::null_mut()),
            element: PhantomData,
        }
    }

    /// Says whether there is something: exact for the owner if there is not.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pointer.load(Ordering::Acquire).is_null()
    }

    /// Fills the slot; hands the element back if it was not empty.
    ///
    /// # Safety
    ///
    /// Only one thread at a time may do this.
    #[inline]
    pub(super) unsafe fn fill(&self, element: T) -> Result<(), T> {
        if !self.is_empty() {
            return Err(element);
        }
        let pointer = element.into_pointer().as_ptr();
        // Nobody else fills it, so it is empty still.
        self.pointer.store(pointer, Ordering::Release);
        Ok(())
    }

    /// Empties the slot.
    #[inline]
    pub(super) fn take(&self) -> Option<T> {
        let pointer = self.pointer.load(Ordering::Acquire);
        if pointer.is_null() {
            return None;
        }
        // What is there may be gone meanwhile, or even be back; it is taken by one in any case.
        let taken = self.pointer.compare_exchange(
            pointer,
            ptr::null_mut(),
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        if taken.is_err() {
            return None;
        }
        // SAFETY: It was put there by `fill`, and of all who try only one takes it away.
        Some(unsafe { restore(pointer) })
    }
}

impl<T: Pointer> Drop for Slot<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}
