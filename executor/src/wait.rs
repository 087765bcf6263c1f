//! Blocks a plain thread until a future is ready.
//!
//! Not with `std::thread::park`: the token of that belongs to the user, who may be using it for
//! something else at the same time.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use windlass_reactor::budget::Budget;

/// A waker that ends the sleep of one thread.
#[derive(Default)]
struct Signal {
    /// Whether it was woken since it last slept.
    woken: Mutex<bool>,
    /// What the thread sleeps on.
    wake_up: Condvar,
}

/// Blocks until the future is ready.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let signal = Arc::new(Signal::default());
    let waker = Waker::from(Arc::clone(&signal));
    let mut context = Context::from_waker(&waker);
    // There is nobody here to give way to, and if this is within a task, its budget is not ours.
    Budget::UNLIMITED.scope(|| {
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return output;
            }
            signal.sleep();
        }
    })
}

impl Signal {
    /// Sleeps until woken, also if that was before.
    fn sleep(&self) {
        // Nothing panics while the lock is held, so it cannot be poisoned.
        let woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.wake_up.wait_while(woken, |woken| !*woken);
        *waited.unwrap_or_else(PoisonError::into_inner) = false;
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        *self.woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.wake_up.notify_one();
    }
}
