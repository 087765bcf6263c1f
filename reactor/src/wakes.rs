//! Wakers collected under locks, woken after they are released.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// A list of wakers that are due; its memory is kept from turn to turn.
#[derive(Debug, Default)]
pub(crate) struct Wakes(Vec<Waker>);

impl Wakes {
    pub(crate) fn push(&mut self, waker: Waker) {
        self.0.push(waker);
    }

    pub(crate) fn extend(&mut self, wakers: impl Iterator<Item = Waker>) {
        self.0.extend(wakers);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Wakes them all. No lock may be held: a waker is somebody's code.
    ///
    /// One that panics does not keep the others from being woken; the panic has been reported by
    /// the hook by then, and goes no further.
    pub(crate) fn wake_all(&mut self) {
        for waker in self.0.drain(..) {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                // Its drop could panic as well.
                std::mem::forget(payload);
            }
        }
    }
}
