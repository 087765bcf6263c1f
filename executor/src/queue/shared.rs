//! The queue that all workers of a runtime take from.

use super::Line;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::task::Runnable;
use std::collections::VecDeque;

/// Tasks that any worker may run, first come first served.
#[derive(Default)]
pub(crate) struct SharedQueue {
    ready: Mutex<Ready>,
    /// The length of the queue, so that workers look without taking the lock. Written under it.
    length: AtomicUsize,
}

#[derive(Default)]
struct Ready {
    queue: VecDeque<Runnable>,
    /// Nobody will take from the queue any more.
    closed: bool,
}

impl SharedQueue {
    /// Adds a task; drops it if the queue is closed, for then its owner ends it.
    pub(crate) fn push(&self, runnable: Runnable) {
        let mut ready = self.ready.lock();
        if ready.closed {
            drop(ready);
            return drop(runnable);
        }
        ready.queue.push_back(runnable);
        self.length.store(ready.queue.len(), Ordering::Release);
    }

    /// Adds tasks that a worker can't run itself, in one go.
    pub(crate) fn push_all(&self, runnables: impl Iterator<Item = Runnable>) {
        let mut ready = self.ready.lock();
        if !ready.closed {
            ready.queue.extend(runnables);
            self.length.store(ready.queue.len(), Ordering::Release);
        }
    }

    /// Says whether there seems to be a task. Exact for a thread that goes to sleep: see `idle`.
    pub(crate) fn is_empty(&self) -> bool {
        self.length.load(Ordering::Acquire) == 0
    }

    /// Moves one of `sharers` equal parts, at least one task and at most `most`, to `queue`.
    pub(crate) fn take_part(&self, sharers: usize, most: usize, queue: &mut Line<Runnable>) {
        if self.is_empty() {
            return;
        }
        let mut ready = self.ready.lock();
        let length = ready.queue.len();
        let part = length.div_ceil(sharers).min(most);
        queue.extend(ready.queue.drain(..part));
        self.length.store(length - part, Ordering::Release);
    }

    /// Refuses tasks from now on, and drops those that wait.
    pub(crate) fn close(&self) {
        let mut ready = self.ready.lock();
        ready.closed = true;
        let left = std::mem::take(&mut ready.queue);
        self.length.store(0, Ordering::Release);
        drop(ready);
        drop(left);
    }
}
