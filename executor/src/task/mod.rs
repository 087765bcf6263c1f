//! The task cell: a future, its state and its output in one allocation.
//!
//! The cell knows nothing of queues, workers or reactors; a [`Schedule`] is where its tasks go when
//! they are woken. The protocol is written, as numbered rules, in [`state`]. Read that first, then
//! `cell` (the memory), `reference` (who keeps it), `life` (what happens to it).
//!
//! Any thread may wake, abort and join. The future is polled and dropped only by
//! [`Runnable::run`] and by dropping the [`Task`], so it ends on the executor that owns it; one
//! that isn't `Send` is bound to its thread besides ([`new_local`]).
//!
//! This folder and `queue/` are the only ones of the crate with unsafe code.

#![allow(unsafe_code)]

mod abort;
mod cell;
mod contain;
mod error;
mod home;
mod id;
mod join;
mod life;
mod list;
mod local;
mod memory;
mod reference;
mod runnable;
mod shown;
mod sight;
mod state;
mod ticks;
mod waker;

#[cfg(all(test, windlass_loom))]
mod loom;
#[cfg(all(test, not(windlass_loom)))]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::panic::Location;

use cell::Cell;
use home::AtHome;

pub use abort::AbortHandle;
pub(crate) use contain::{contain, discard, discard_panic};
pub use error::JoinError;
pub use id::Id;
pub use join::JoinHandle;
pub(crate) use list::{List, Listed};
pub use local::{TaskLocal, TaskLocalError, TaskLocalFuture};
pub(crate) use memory::Keeping;
pub(crate) use runnable::{Runnable, Task};
pub(crate) use shown::{Origin, Shown};
pub(crate) use sight::{Mark, Sight, Stage};
pub(crate) use ticks::{Tick, Ticks};
pub(crate) use waker::yield_if_running;

/// Where tasks go.
///
/// Every cell holds one, so it should be no more than a pointer to what the executor shares. As
/// runnables and wakers keep their cell, that in turn is kept by whatever is left in its own
/// queues: they must be emptied when it shuts down.
pub(crate) trait Schedule: Send + Sync + 'static {
    /// Queues a task that was idle and has been woken or aborted.
    ///
    /// Called by whatever thread that happened on, also in destructors of thread-locals. A task
    /// that is woken while it is being polled doesn't come here: [`Runnable::run`] returns it.
    fn schedule(&self, runnable: Runnable);

    /// As [`schedule`](Self::schedule), for tasks of one kind, so that the compiler may make it a
    /// part of each `Caller`.
    #[allow(clippy::extra_unused_type_parameters)]
    #[inline(always)]
    fn schedule_from<Caller>(&self, runnable: Runnable) {
        self.schedule(runnable);
    }

    /// Forgets a task that is over: its future is dropped.
    ///
    /// Called once for every task, on the thread that ended it. Returns what the list of live tasks
    /// had, so that the cell can give up all references in one step; `None` if the task is not in
    /// the list, because it never was or because the list was closed.
    fn release(&self, task: Listed<'_>) -> Option<Task>;

    /// Gives the name of the task, if it has one.
    fn name(&self) -> Option<&Name> {
        None
    }

    /// Gives up a task that was aborted while its runnable was queued, if the queue can't be trusted
    /// to come to it soon. Dropping what this returns ends the task at once.
    fn withdraw(&self, _task: Listed<'_>) -> Option<Task> {
        None
    }

    /// Learns that a task has panicked, before whoever joins it does.
    fn panicked(&self, _error: &dyn fmt::Display) {}
}

/// The name of a task.
pub(crate) type Name = Cow<'static, str>;

/// A part of the number of a list, which says that its tasks were placed on a worker.
pub(crate) const PLACED: u16 = 1 << 15;

/// A part of the number of a list, which says that its tasks stay on a thread.
pub(crate) const PINNED: u16 = 1 << 14;

/// Makes a task: the owner's side, the right to poll it for the first time, and the handle to join
/// it.
pub(crate) fn new<F, S>(
    future: F,
    scheduler: S,
    id: Id,
    spawned_at: &'static Location<'static>,
) -> (Task, Runnable, JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Schedule,
{
    assemble(future, scheduler, id, spawned_at)
}

/// Makes a task out of a future that must stay on this thread.
///
/// The runnable and the owner's side must be used on this thread only. If they are not, nothing
/// unsound happens, but the task panics instead of being polled, and its future is leaked instead
/// of being dropped. The output needs no binding: a future makes it here, and if it is not `Send`,
/// neither is the join handle.
pub(crate) fn new_local<F, S>(
    future: F,
    scheduler: S,
    id: Id,
    spawned_at: &'static Location<'static>,
) -> (Task, Runnable, JoinHandle<F::Output>)
where
    F: Future + 'static,
    F::Output: 'static,
    S: Schedule,
{
    assemble(AtHome::new(future), scheduler, id, spawned_at)
}

/// Makes a task whose future may be touched wherever its runnable is run and its owner dropped: one
/// that is `Send`, or that minds its thread itself.
fn assemble<F: Future, S: Schedule>(
    future: F,
    scheduler: S,
    id: Id,
    spawned_at: &'static Location<'static>,
) -> (Task, Runnable, JoinHandle<F::Output>) {
    let [task, runnable, handle] = Cell::allocate(future, scheduler, id, spawned_at);
    (Task::new(task), Runnable(runnable), JoinHandle::new(handle))
}
