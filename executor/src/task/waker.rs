//! The waker of a task: a reference to it, in the form that the standard library wants.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::Relaxed;
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::cell::Header;
use super::reference::Reference;

/// The one table of all wakers: a `static`, so that `will_wake` can rely on its address.
static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// Calls `use_it` with a waker of the task that borrows the reference instead of counting one.
#[inline(always)]
pub(super) fn with_waker<R>(task: &Reference, use_it: impl FnOnce(&Waker) -> R) -> R {
    let data = task.as_raw().as_ptr().cast_const().cast();
    // SAFETY: The functions of the table do what wakers must and may be called from any thread. The
    // data is what they expect, but for the reference, which only the dropping and consuming ones
    // would use up: those are not called, as the waker is never dropped and only lent.
    let waker = ManuallyDrop::new(unsafe { Waker::new(data, &TABLE) });
    use_it(&waker)
}

thread_local! {
    /// The task that this thread polls, the innermost if there are several; only to be compared.
    static RUNNING: Cell<*const ()> = const { Cell::new(ptr::null()) };
}

/// Calls `poll` with the task known as the one that this thread polls. It must not panic.
#[inline(always)]
pub(super) fn while_running<R>(task: &Reference, poll: impl FnOnce() -> R) -> R {
    let outer = RUNNING.replace(task.as_raw().as_ptr().cast_const().cast());
    let result = poll();
    RUNNING.set(outer);
    result
}

/// Has the task that this thread polls be polled again, if `waker` is its waker: as waking it
/// would, without an atomic step. Returns whether it is.
#[inline]
pub(crate) fn yield_if_running(waker: &Waker) -> bool {
    let is_running = ptr::eq(waker.vtable(), &TABLE) && waker.data() == RUNNING.get();
    if is_running {
        // SAFETY: The table is ours, so the data is that of a waker of ours, which is lent to us.
        let task = unsafe { reference(waker.data()) };
        task.header().has_yielded.store(true, Relaxed);
    }
    is_running
}

/// Finds the reference that a waker is.
///
/// # Safety
///
/// The data must be that of a waker of ours.
#[inline(always)]
unsafe fn reference(data: *const ()) -> ManuallyDrop<Reference> {
    let header = data.cast_mut().cast::<Header>();
    // SAFETY: The data of our wakers comes from a `NonNull`.
    let header = unsafe { NonNull::new_unchecked(header) };
    // SAFETY: Every waker owns a reference, or borrows one. The result is dropped by those that
    // consume the waker, and by no others.
    ManuallyDrop::new(unsafe { Reference::from_raw(header) })
}

/// Counts a reference for one more waker.
unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: The data is that of the waker being cloned.
    let task = unsafe { reference(data) };
    task.state().add_reference();
    RawWaker::new(data, &TABLE)
}

/// Wakes the task and gives up the waker's reference.
///
/// The reference isn't passed on to the runnable, for it must keep the scheduler in place
/// while that is called.
unsafe fn wake(data: *const ()) {
    // SAFETY: The data is that of the waker being used up.
    let task = unsafe { reference(data) };
    ManuallyDrop::into_inner(task).wake();
}

/// Wakes the task.
unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: The data is that of the waker.
    let task = unsafe { reference(data) };
    task.wake();
}

/// Gives up the waker's reference.
unsafe fn drop_waker(data: *const ()) {
    // SAFETY: The data is that of the waker being dropped.
    let task = unsafe { reference(data) };
    drop(ManuallyDrop::into_inner(task));
}
