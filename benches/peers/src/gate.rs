//! An event that happens once, for the situations; it belongs to no runtime.

use std::future::{Future, poll_fn};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

/// Closed at first; at most one task waits until it is opened.
#[derive(Debug, Default)]
pub struct Gate {
    /// Whether it is open. Set before the waker is taken, looked at after it was left.
    open: AtomicBool,
    /// Who waits.
    waker: Mutex<Option<Waker>>,
}

impl Gate {
    /// Opens it and wakes who waits.
    pub fn open(&self) {
        self.open.store(true, Ordering::SeqCst);
        let waker = self.waker.lock().expect("no panic in here").take();
        if let Some(waker) = waker {
            waker.wake_by_ref();
        }
    }

    /// Returns whether it is open.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::SeqCst)
    }

    /// Waits until it is open.
    pub fn opened(&self) -> impl Future<Output = ()> {
        poll_fn(|context| {
            *self.waker.lock().expect("no panic in here") = Some(context.waker().clone());
            match self.is_open() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
    }
}
