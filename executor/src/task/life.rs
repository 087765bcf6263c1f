//! What happens to a task: it is polled, it is dropped, it completes.
//!
//! These are the operations that need to know the types; [`Operations`](super::cell::Operations)
//! says what each requires of its caller.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

use super::cell::Cell;
use super::contain::{contain, discard, discard_panic};
use super::error::{Ended, Failure, Told};
use super::reference::Reference;
use super::state::{ToComplete, ToIdle, ToRunning};
use super::waker::{while_running, with_waker};
use super::{Listed, Name, Runnable, Schedule};

/// Polls the future once, or drops it if the task was cancelled.
pub(super) unsafe fn run<F: Future, S: Schedule>(task: Reference) -> Option<Runnable> {
    match task.state().transition_to_running() {
        ToRunning::Poll => {}
        ToRunning::Cancel => {
            // SAFETY: The caller vouches for the types, and the state has given us the future.
            unsafe { cancel::<F, S>(task) };
            return None;
        }
        ToRunning::Over => return None,
    }

    // SAFETY: The caller vouches for the types.
    let cell = unsafe { task.cell::<F, S>() };
    // SAFETY: The state has given us the future.
    let polled = while_running(&task, || contain(|| unsafe { poll(cell, &task) }));
    let ended = match polled {
        Ok(Poll::Pending) => match end_poll(&task) {
            ToIdle::Rest => {
                task.forget();
                return None;
            }
            ToIdle::Again => return Some(Runnable(task)),
            ToIdle::Cancel => Err(Failure::Cancelled),
        },
        Ok(Poll::Ready(output)) => Ok(output),
        Err(payload) => Err(Failure::panicked(payload)),
    };
    // SAFETY: The future is ours still, and will not be polled again.
    unsafe { end::<F, S>(task, ended) };
    None
}

/// Gives the future back after a poll that left it pending.
#[inline(always)]
fn end_poll(task: &Reference) -> ToIdle {
    let has_yielded = &task.header().has_yielded;
    if has_yielded.load(Relaxed) {
        has_yielded.store(false, Relaxed);
        task.state().transition_to_yielded()
    } else {
        task.state().transition_to_idle()
    }
}

/// Drops the future and completes.
pub(super) unsafe fn cancel<F: Future, S: Schedule>(task: Reference) {
    // SAFETY: The caller owns the future, and vouches for the types.
    unsafe { end::<F, S>(task, Err(Failure::Cancelled)) }
}

/// Hands a new runnable of the task to its scheduler.
pub(super) unsafe fn schedule<F: Future, S: Schedule>(waking: &Reference, counted: Reference) {
    // SAFETY: The caller vouches for the types.
    let cell = unsafe { waking.cell::<F, S>() };
    cell.scheduler.schedule_from::<F>(Runnable(counted));
}

/// Finds the output.
pub(super) unsafe fn output<F: Future, S: Schedule>(task: &Reference) -> *mut () {
    // SAFETY: The caller vouches for the types.
    let cell = unsafe { task.cell::<F, S>() };
    cell.with_output(<*mut Ended<F::Output>>::cast)
}

/// Finds the name.
pub(super) unsafe fn name<F: Future, S: Schedule>(task: &Reference) -> Option<NonNull<Name>> {
    // SAFETY: The caller vouches for the types.
    let cell = unsafe { task.cell::<F, S>() };
    cell.scheduler.name().map(NonNull::from)
}

/// Lets the scheduler give up a task that was aborted while it was queued.
pub(super) unsafe fn withdraw<F: Future, S: Schedule>(task: &Reference) {
    // SAFETY: The caller vouches for the types.
    let cell = unsafe { task.cell::<F, S>() };
    drop(cell.scheduler.withdraw(Listed::new(task)));
}

/// Polls the future.
///
/// # Safety
///
/// The future must be the caller's.
#[inline(always)]
unsafe fn poll<F: Future, S: Schedule>(cell: &Cell<F, S>, task: &Reference) -> Poll<F::Output> {
    with_waker(task, |waker| {
        cell.with_future(|future| {
            // SAFETY: The future is there until the task is complete, and the caller's alone.
            let future = unsafe { &mut *future };
            // SAFETY: It stays where it is until it is dropped there.
            let future = unsafe { Pin::new_unchecked(future) };
            future.poll(&mut Context::from_waker(waker))
        })
    })
}

/// Drops the future, then completes with `ended`, or with the panic of the future's destructor.
///
/// # Safety
///
/// The cell must be of these types, and the future the caller's.
unsafe fn end<F: Future, S: Schedule>(task: Reference, mut ended: Ended<F::Output>) {
    // SAFETY: The caller vouches for the types.
    let cell = unsafe { task.cell::<F, S>() };
    // SAFETY: The future is the caller's, and nobody looks at it from here on.
    let dropped = contain(|| cell.with_future(|future| unsafe { ptr::drop_in_place(future) }));
    if let Err(payload) = dropped {
        // The first panic tells more than those that follow from it.
        if matches!(ended, Err(Failure::Panicked(_))) {
            discard(payload);
        } else {
            discard(mem::replace(&mut ended, Err(Failure::panicked(payload))));
        }
    }

    if let Err(failure @ Failure::Panicked(_)) = &ended {
        cell.scheduler.panicked(&Told::new(&task, failure));
    }

    if task.state().is_detached() {
        discard(ended);
        let references = release(cell, &task);
        let last = task.state().transition_to_complete_unjoined(references);
        // SAFETY: The step gave up this reference, and has found whether it was the last.
        unsafe { task.given_up(last) };
        return;
    }

    // SAFETY: The future is gone, so its place is free for the output.
    cell.with_output(|output| unsafe { output.write(ended) });
    let references = release(cell, &task);
    match task.state().transition_to_complete(references) {
        ToComplete::DropOutput => discard_panic(contain(|| {
            // SAFETY: The output was written above, and no handle will ever look at it.
            cell.with_output(|output| unsafe { ptr::drop_in_place(output) });
        })),
        // SAFETY: The state has given us the waker.
        ToComplete::WakeJoiner => unsafe { wake_joiner(&task) },
        ToComplete::Nothing => return task.forget(),
    }
    let last = task.state().drop_references(references);
    // SAFETY: The step gave up this reference, and has found whether it was the last.
    unsafe { task.given_up(last) };
}

/// Lets the scheduler forget the task, and says how many references the caller may now give up:
/// its own and, if the scheduler had the task in a list, that of the list.
fn release<F: Future, S: Schedule>(cell: &Cell<F, S>, task: &Reference) -> usize {
    let Some(listed) = cell.scheduler.release(Listed::new(task)) else {
        return 1;
    };
    let listed = listed.into_reference();
    assert!(listed.is_same(task), "the scheduler released another task");
    listed.forget();
    2
}

/// Takes the join waker and wakes it.
///
/// # Safety
///
/// The join waker must be the caller's.
unsafe fn wake_joiner(task: &Reference) {
    // SAFETY: The join waker is the caller's.
    let waker = task
        .header()
        .join_waker
        .with_mut(|waker| unsafe { (*waker).take() });
    if let Some(waker) = waker {
        discard_panic(contain(|| waker.wake()));
    }
}
