//! Wakers collected under locks, woken after they are released.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Wakers that are due, in order; their memory is kept from turn to turn.
#[derive(Debug, Default)]
pub(crate) struct Wakes(VecDeque<Waker>);

impl Wakes {
    #[inline]
    pub(crate) fn push(&mut self, waker: Waker) {
        self.0.push_back(waker);
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
    #[inline]
    pub(crate) fn wake_all(&mut self) {
        while !self.0.is_empty() {
            let wake_rest = AssertUnwindSafe(|| {
                while let Some(waker) = self.0.pop_front() {
                    waker.wake();
                }
            });
            if let Err(payload) = catch_unwind(wake_rest) {
                // Its drop could panic as well.
                std::mem::forget(payload);
            }
        }
    }
}
