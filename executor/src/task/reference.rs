//! The references to a task, and what every holder of one may do.

use std::mem;
use std::ptr::NonNull;

use super::Name;
use super::cell::{Cell, Header};
use super::state::{State, ToAborted, ToNotified};

/// A counted reference to a task.
///
/// Dropping it gives it up, and frees the cell if it was the last; cloning it counts one more.
pub(super) struct Reference(NonNull<Header>);

// SAFETY: By itself a reference reaches only the header, whose atomics, numbers and `'static`
// references may be used from any thread (the join waker takes unsafe code that keeps rule 5). The
// last reference drops the scheduler, which is `Send`. It does not drop the future or the output:
// they are gone by then (rules 4 and 6).
unsafe impl Send for Reference {}

// SAFETY: As above.
unsafe impl Sync for Reference {}

impl Reference {
    /// Reaches the header.
    #[inline(always)]
    pub(super) fn header(&self) -> &Header {
        // SAFETY: The cell lives for as long as references to it are counted, and this is one. It
        // was allocated as a `Cell`, which begins with its header, and nobody makes an exclusive
        // reference to it.
        unsafe { self.0.as_ref() }
    }

    /// Reaches the state word.
    #[inline(always)]
    pub(super) fn state(&self) -> &State {
        &self.header().state
    }

    /// Reaches the whole cell.
    ///
    /// # Safety
    ///
    /// The cell must be of these types.
    #[inline(always)]
    pub(super) unsafe fn cell<F: Future, S>(&self) -> &Cell<F, S> {
        // SAFETY: As in `header`; the caller vouches for the type, and the pointer was made from
        // one to the whole cell. The future and the output are in an `UnsafeCell`.
        unsafe { self.0.cast::<Cell<F, S>>().as_ref() }
    }

    /// Gives the pointer that the reference is.
    #[inline(always)]
    pub(super) fn as_raw(&self) -> NonNull<Header> {
        self.0
    }

    /// Turns the reference into a pointer, without giving it up.
    #[inline(always)]
    pub(super) fn into_raw(self) -> NonNull<Header> {
        let header = self.0;
        mem::forget(self);
        header
    }

    /// Turns a pointer back into the reference.
    ///
    /// # Safety
    ///
    /// The pointer must come from [`into_raw`](Self::into_raw) and stand for a counted reference,
    /// which the result takes over, unless the result is never dropped and used only while the task
    /// is referred to.
    #[inline(always)]
    pub(super) unsafe fn from_raw(header: NonNull<Header>) -> Self {
        Self(header)
    }

    /// Wakes the task.
    #[inline]
    pub(super) fn wake(&self) {
        let owed = self.state().transition_to_notified();
        self.schedule_if(owed);
    }

    /// Cancels the task, and schedules it so that its future is dropped where it runs.
    pub(super) fn abort(&self) {
        match self.state().transition_to_aborted() {
            ToAborted::Schedule => self.schedule_if(ToNotified::Schedule),
            ToAborted::Withdraw => {
                // SAFETY: The table is that of the cell.
                unsafe { (self.header().operations.withdraw)(self) }
            }
            ToAborted::Nothing => {}
        }
    }

    /// Gives the name of the task, if it has one.
    pub(super) fn name(&self) -> Option<&Name> {
        // SAFETY: The table is that of the cell.
        let name = unsafe { (self.header().operations.name)(self) };
        // SAFETY: It is a part of the scheduler, which is in the cell and is not changed.
        name.map(|name| unsafe { name.as_ref() })
    }

    /// Hands a new runnable to the scheduler if the state has counted a reference for it.
    #[inline]
    fn schedule_if(&self, owed: ToNotified) {
        if owed == ToNotified::Schedule {
            let counted = Self(self.0);
            // SAFETY: The table is that of the cell, and the reference is the new runnable's.
            unsafe { (self.header().operations.schedule)(self, counted) }
        }
    }

    /// Gives up the reference without a count: a step of the state has done that.
    #[inline(always)]
    pub(super) fn forget(self) {
        mem::forget(self);
    }

    /// Does what is left after a step of the state gave up the reference: frees the cell if that
    /// was the `last`.
    ///
    /// # Safety
    ///
    /// The step must have counted this reference down, and `last` be what it returned.
    #[inline(always)]
    pub(super) unsafe fn given_up(self, last: bool) {
        let header = self.into_raw();
        if last {
            // SAFETY: No reference is left.
            unsafe { free(header) }
        }
    }

    /// Says whether both refer to the same task.
    #[inline(always)]
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Clone for Reference {
    #[inline]
    fn clone(&self) -> Self {
        self.state().add_reference();
        Self(self.0)
    }
}

impl Drop for Reference {
    #[inline]
    fn drop(&mut self) {
        if self.state().drop_references(1) {
            // SAFETY: That was the last reference.
            unsafe { free(self.0) }
        }
    }
}

/// Frees a cell.
///
/// # Safety
///
/// No reference may be left. (The task is then complete, by rule 6.)
#[inline(never)]
unsafe fn free(header: NonNull<Header>) {
    // SAFETY: The cell is there until the call below.
    let operations = unsafe { header.as_ref() }.operations;
    // SAFETY: The table is that of the cell; the rest is the caller's promise.
    unsafe { (operations.free)(header) }
}
