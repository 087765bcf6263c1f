//! How many connections are open at a time, and who waits for one to end.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Places for connections. Nobody holds one while waiting for a connection: several listeners share
/// them, and the one whose turn it is must not wait for another that has nothing to accept.
#[derive(Debug)]
pub(super) struct Limit(Mutex<State>);

#[derive(Debug)]
struct State {
    most: usize,
    taken: usize,
    /// Who waits for a place; of each listener, the latest.
    waiting: Vec<Option<Waker>>,
}

impl Limit {
    pub(super) fn new() -> Self {
        Self(Mutex::new(State {
            most: usize::MAX,
            taken: 0,
            waiting: Vec::new(),
        }))
    }

    /// Says how many places there are, and how many listeners.
    pub(super) fn set(&self, most: usize, listeners: usize) {
        let mut state = self.state();
        state.most = most;
        state.waiting.resize(listeners, None);
    }

    pub(super) fn taken(&self) -> usize {
        self.state().taken
    }

    /// Takes a place if one is free.
    pub(super) fn try_take(&self) -> bool {
        self.state().try_take()
    }

    /// Takes a place for `listener`, which is woken when one may be free.
    pub(super) fn poll_take(&self, context: &mut Context<'_>, listener: usize) -> Poll<()> {
        if self.try_take() {
            return Poll::Ready(());
        }
        // Neither cloned nor dropped under the lock.
        let waker = context.waker().clone();
        let mut state = self.state();
        if state.try_take() {
            return Poll::Ready(());
        }
        let earlier = state.waiting[listener].replace(waker);
        drop(state);
        drop(earlier);
        Poll::Pending
    }

    /// Gives a place back, and wakes all who wait for one: a listener that is woken may have nothing
    /// to accept.
    pub(super) fn give_back(&self) {
        let mut state = self.state();
        state.taken -= 1;
        let waiting: Vec<_> = state.waiting.iter_mut().filter_map(Option::take).collect();
        drop(state);
        for waker in waiting {
            waker.wake();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn try_take(&mut self) -> bool {
        let is_free = self.taken < self.most;
        self.taken += usize::from(is_free);
        is_free
    }
}
