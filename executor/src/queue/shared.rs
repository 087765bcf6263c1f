//! The queue that all workers of a runtime take from.

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};
use std::collections::VecDeque;

/// Tasks that any worker may run, first come first served.
#[derive(Debug)]
pub(crate) struct SharedQueue<T> {
    ready: Mutex<Ready<T>>,
    /// The length of the queue, so that workers look without taking the lock. Written under it.
    length: AtomicUsize,
    /// How many tasks were ever added. Written under the lock.
    added: AtomicUsize,
}

#[derive(Debug)]
struct Ready<T> {
    queue: VecDeque<T>,
    /// Nobody will take from the queue any more.
    closed: bool,
}

impl<T> Default for SharedQueue<T> {
    fn default() -> Self {
        Self {
            ready: Mutex::new(Ready {
                queue: VecDeque::new(),
                closed: false,
            }),
            length: AtomicUsize::new(0),
            added: AtomicUsize::new(0),
        }
    }
}

impl<T> SharedQueue<T> {
    /// Adds a task; drops it if the queue is closed, for then its owner ends it.
    pub(crate) fn push(&self, runnable: T) {
        let mut ready = self.ready.lock();
        if ready.closed {
            drop(ready);
            return drop(runnable);
        }
        ready.queue.push_back(runnable);
        self.note_added(1);
        self.length.store(ready.queue.len(), Ordering::Release);
    }

    /// Adds tasks that a worker can't run itself, in one go; drops them if the queue is closed.
    pub(crate) fn push_all(&self, runnables: impl Iterator<Item = T>) {
        let mut ready = self.ready.lock();
        if ready.closed {
            drop(ready);
            // None may be left where it was: it would keep the runtime that keeps that place.
            return runnables.for_each(drop);
        }
        let before = ready.queue.len();
        ready.queue.extend(runnables);
        self.note_added(ready.queue.len() - before);
        self.length.store(ready.queue.len(), Ordering::Release);
    }

    /// Counts tasks that were added, under the lock.
    fn note_added(&self, more: usize) {
        let added = self.added.load(Ordering::Relaxed);
        self.added
            .store(added.wrapping_add(more), Ordering::Relaxed);
    }

    /// Returns how many tasks were ever added.
    pub(crate) fn added(&self) -> usize {
        self.added.load(Ordering::Relaxed)
    }

    /// Returns how many tasks there seem to be. That there are none is exact for a thread that goes
    /// to sleep: see `idle`.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// Says whether there seems to be no task, as exactly.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes tasks from the front: as many as `part` says of how many there are.
    ///
    /// The first is returned, and `keep` is given the others. It is called under the lock, so it
    /// must not come back to this queue.
    pub(crate) fn take(&self, part: impl FnOnce(usize) -> usize, keep: impl FnMut(T)) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut ready = self.ready.lock();
        let length = ready.queue.len();
        let part = part(length).min(length);
        let mut taken = ready.queue.drain(..part);
        let first = taken.next();
        taken.for_each(keep);
        self.length.store(length - part, Ordering::Release);
        first
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
