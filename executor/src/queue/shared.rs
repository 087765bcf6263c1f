//! The queue that all workers of a runtime take from.

use super::Line;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// Tasks that any worker may run, first come first served.
///
/// Whoever adds one to an empty queue writes to one line of memory only: each that it has to get
/// from the processor of a worker takes as long as all the rest.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct SharedQueue<T> {
    /// The length of the queue, so that workers look without taking the lock. Written under it.
    length: AtomicUsize,
    ready: Mutex<Ready<T>>,
    /// How many tasks were ever taken. Written under the lock.
    taken: AtomicUsize,
}

/// What is added to and taken from, within the line.
#[cfg(all(target_pointer_width = "64", not(windlass_loom)))]
const _: () = assert!(std::mem::offset_of!(SharedQueue<std::ptr::NonNull<()>>, taken) <= 64);

#[derive(Debug)]
struct Ready<T> {
    queue: Line<T>,
    /// Nobody will take from the queue any more.
    closed: bool,
}

impl<T> Default for SharedQueue<T> {
    fn default() -> Self {
        Self {
            ready: Mutex::new(Ready {
                queue: Line::default(),
                closed: false,
            }),
            length: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
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
        ready.queue.push(runnable);
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
        ready.queue.extend(runnables);
        self.length.store(ready.queue.len(), Ordering::Release);
    }

    /// Returns how many tasks were ever added.
    pub(crate) fn added(&self) -> usize {
        let ready = self.ready.lock();
        let taken = self.taken.load(Ordering::Relaxed);
        taken.wrapping_add(ready.queue.len())
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
        let mut parts = (0..part).map_while(|_| ready.queue.pop());
        let first = parts.next();
        parts.for_each(keep);
        self.note_taken(part);
        self.length.store(length - part, Ordering::Release);
        first
    }

    /// Refuses tasks from now on, and drops those that wait.
    pub(crate) fn close(&self) {
        let mut ready = self.ready.lock();
        ready.closed = true;
        let left = std::mem::take(&mut ready.queue);
        self.note_taken(left.len());
        self.length.store(0, Ordering::Release);
        drop(ready);
        drop(left);
    }

    /// Counts tasks that were taken, under the lock.
    fn note_taken(&self, more: usize) {
        let taken = self.taken.load(Ordering::Relaxed);
        self.taken
            .store(taken.wrapping_add(more), Ordering::Relaxed);
    }
}
