//! Wakers collected under locks, woken after they are released.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// A list of wakers that are due; its memory is kept from turn to turn.
#[derive(Debug, Default)]
pub(crate) struct Wakes(Vec<Option<Waker>>);

impl Wakes {
    #[inline]
    pub(crate) fn push(&mut self, waker: Waker) {
        self.0.push(Some(waker));
    }

    pub(crate) fn extend(&mut self, wakers: impl Iterator<Item = Waker>) {
        self.0.extend(wakers.map(Some));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Wakes them all. No lock may be held: a waker is somebody's code.
    ///
    /// One that panics does not keep the others from being woken; the panic has been reported by
    /// the hook by then, and goes no further.
    pub(crate) fn wake_all(&mut self) {
        let mut woken = 0;
        while woken < self.0.len() {
            let rest = AssertUnwindSafe(|| {
                for waker in &mut self.0[woken..] {
                    woken += 1;
                    if let Some(waker) = waker.take() {
                        waker.wake();
                    }
                }
            });
            if let Err(payload) = catch_unwind(rest) {
                // Its drop could panic as well.
                std::mem::forget(payload);
            }
        }
        self.0.clear();
    }
}
