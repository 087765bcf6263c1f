//! A limit on how many of something there are at a time.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// A number of slots, of which one task takes and any number give back.
///
/// A program that has several takers is better served by `async_lock::Semaphore`.
#[derive(Debug)]
pub struct Slots(Mutex<State>);

#[derive(Debug)]
struct State {
    free: usize,
    /// The one who waits for a slot.
    taker: Option<Waker>,
}

impl Slots {
    /// Makes `count` free slots.
    pub fn new(count: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            free: count,
            taker: None,
        })))
    }

    /// Takes a slot, waiting until there is one.
    ///
    /// # Cancel safety
    ///
    /// No slot is taken by a future that is dropped before it is done.
    pub async fn take(self: &Arc<Self>) -> Slot {
        poll_fn(|context| {
            let mut state = self.state();
            if state.free == 0 {
                state.taker = Some(context.waker().clone());
                return Poll::Pending;
            }
            state.free -= 1;
            Poll::Ready(Slot(self.clone()))
        })
        .await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A slot that was taken; dropping it gives it back.
#[derive(Debug)]
#[must_use = "a slot that is dropped is free again"]
pub struct Slot(Arc<Slots>);

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.free += 1;
        let taker = state.taker.take();
        drop(state);
        if let Some(taker) = taker {
            taker.wake();
        }
    }
}
