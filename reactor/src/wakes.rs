//! Wakers collected under locks, woken after they are released.

use std::any::Any;
use std::collections::VecDeque;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Wakers that are due, in order; their memory is kept from turn to turn.
///
/// Mostly there is one, which has a place of its own.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    first: Option<Waker>,
    rest: VecDeque<Waker>,
}

impl Wakes {
    #[inline]
    pub(crate) fn push(&mut self, waker: Waker) {
        if self.first.is_none() {
            self.first = Some(waker);
        } else {
            self.rest.push_back(waker);
        }
    }

    pub(crate) fn extend(&mut self, wakers: impl Iterator<Item = Waker>) {
        wakers.for_each(|waker| self.push(waker));
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    /// Wakes them all. No lock may be held: a waker is somebody's code.
    ///
    /// One that panics does not keep the others from being woken; the panic has been reported by
    /// the hook by then, and goes no further.
    #[inline]
    pub(crate) fn wake_all(&mut self) {
        if let Some(first) = self.first.take() {
            contain(|| first.wake());
        }
        if !self.rest.is_empty() {
            self.wake_rest();
        }
    }

    #[cold]
    fn wake_rest(&mut self) {
        while !self.rest.is_empty() {
            contain(|| {
                while let Some(waker) = self.rest.pop_front() {
                    waker.wake();
                }
            });
        }
    }
}

/// Runs `wake` and lets a panic go no further.
#[inline]
fn contain(wake: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(wake)) {
        discard(payload);
    }
}

/// Drops what a panic carried, whose destructor may panic as well.
#[cold]
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // After the second panic in a row the payload is leaked; there is nothing better to do.
        mem::forget(second);
    }
}
