//! The two sides of a task that its executor holds: the right to run it, and the duty to end it.

use std::mem::ManuallyDrop;

use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use super::reference::Reference;
use super::state::ToClaimed;
use super::{PINNED, PLACED};
use crate::queue::Pointer;

/// The right to poll a task once; at most one exists for each task.
///
/// Dropping it unrun, as when a queue is dropped, leaves the future alone: nothing wakes the task
/// any more, and its [`Task`] drops the future. So queues may be dropped, and late runnables
/// refused, on whatever thread.
pub(crate) struct Runnable(pub(super) Reference);

impl Runnable {
    /// Says whether the task was placed on a worker, whoever that is, and not on this thread.
    pub(crate) fn is_placed(&self) -> bool {
        self.0.header().list.load(Relaxed) & PLACED != 0
    }

    /// Says whether the task stays where it is: on this thread, or on a worker.
    #[inline(always)]
    pub(crate) fn is_bound(&self) -> bool {
        self.0.header().list.load(Relaxed) & (PLACED | PINNED) != 0
    }

    /// Returns the number of the list that the task is in.
    pub(crate) fn list(&self) -> usize {
        usize::from(self.0.header().list.load(Relaxed) & !(PLACED | PINNED))
    }

    /// Polls the future once, or drops it if the task was aborted.
    ///
    /// Returns the next right to run if the task was woken meanwhile: it has yielded, and goes
    /// behind what else is ready. Panics of the future don't pass; they go to the join handle.
    #[inline]
    pub(crate) fn run(self) -> Option<Self> {
        let operations = self.0.header().operations;
        // SAFETY: The table is that of the cell, and the reference that of its runnable.
        unsafe { (operations.run)(self.0) }
    }
}

impl Pointer for Runnable {
    #[inline(always)]
    fn into_pointer(self) -> NonNull<()> {
        self.0.into_raw().cast()
    }

    #[inline(always)]
    unsafe fn from_pointer(pointer: NonNull<()>) -> Self {
        // SAFETY: The pointer is that of a reference that was counted, and stands for it once, as
        // the caller promises.
        Self(unsafe { Reference::from_raw(pointer.cast()) })
    }
}

/// A task as its executor knows it, kept in the [list](super::List) of those that are alive.
///
/// Dropping it ends the task: the future is dropped at once or, if it is being polled, when that
/// poll returns. So it must be kept until the task is [released](super::Schedule::release), and
/// dropping the list at shutdown drops every future that is left, on the thread that does it.
///
/// A task that nobody can wake any more stays in the list until it is aborted or the executor
/// shuts down. To notice it the wakers would have to be counted apart from the other references, at
/// each clone and drop; and the list shows such tasks to whoever looks for a leak.
pub(crate) struct Task(ManuallyDrop<Reference>);

impl Task {
    /// Makes the owner's side of a new task.
    pub(super) fn new(reference: Reference) -> Self {
        Self(ManuallyDrop::new(reference))
    }

    /// Lends the reference.
    pub(super) fn reference(&self) -> &Reference {
        &self.0
    }

    /// Turns the owner's side into a mere reference, for a task that is complete or about to be.
    pub(super) fn into_reference(self) -> Reference {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again, nor dropped.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // SAFETY: This is the end of `self`, and the field is not used again.
        let task = unsafe { ManuallyDrop::take(&mut self.0) };
        if task.state().transition_to_claimed() == ToClaimed::End {
            let operations = task.header().operations;
            // SAFETY: The table is that of the cell, and the state has given us the future.
            unsafe { (operations.cancel)(task) };
        }
    }
}
