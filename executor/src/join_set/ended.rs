//! Which tasks of a set have ended, in the order in which they did.

use crate::sync::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// The keys of tasks that have ended and were not joined yet.
#[derive(Default)]
pub(super) struct Ended(Mutex<State>);

#[derive(Default)]
struct State {
    order: VecDeque<usize>,
    /// Who waits for the next one.
    waker: Option<Waker>,
}

impl Ended {
    /// Takes the key of the task that ended first.
    pub(super) fn pop(&self) -> Option<usize> {
        self.0.lock().order.pop_front()
    }

    /// Takes the key of the task that ended first, or leaves the waker for the next one.
    pub(super) fn poll_pop(&self, context: &Context<'_>) -> Poll<usize> {
        if let Some(key) = self.pop() {
            return Poll::Ready(key);
        }
        // Cloning and dropping a waker runs foreign code, which may come back here: no lock is held.
        let waker = context.waker().clone();
        let mut state = self.0.lock();
        if let Some(key) = state.order.pop_front() {
            return Poll::Ready(key);
        }
        let former = state.waker.replace(waker);
        drop(state);
        drop(former);
        Poll::Pending
    }

    /// Notes that the task with this key has ended.
    pub(super) fn push(&self, key: usize) {
        let mut state = self.0.lock();
        state.order.push_back(key);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The waker that a set leaves in a task: it notes which one has ended.
///
/// A task wakes it once at the most, and a set forgets no key without either having seen that or
/// having got itself a new list. So a key in a list always is that of a task that has ended.
pub(super) struct Mark {
    pub(super) ended: Arc<Ended>,
    pub(super) key: usize,
}

impl Wake for Mark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ended.push(self.key);
    }
}
