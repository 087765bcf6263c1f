//! Runs tasks on one thread or on many, asleep in the reactor when there is nothing to run.
//!
//! The life of a wake, which is also the order to read this crate in:
//!
//! 1. A future is spawned ([`spawn`], [`Handle`]) and becomes a task: one allocation that holds the
//!    future, its state, and then its output (`task/`).
//! 2. The task is queued (`queue/`): with the worker that spawned it, from whom others may steal it,
//!    or where all workers take from; tasks that aren't `Send` on their own thread (`pinned.rs`).
//! 3. A worker (`worker.rs`) polls it. The task has nothing to do but wait, and returns.
//! 4. When there is nothing left to poll, the worker lists itself as idle (`idle.rs`) and turns its
//!    reactor, which is where it sleeps.
//! 5. An event makes the reactor wake the task: its state says that it is idle, so it is queued.
//!    If that is not done by a worker, a sleeping worker's turn is ended.
//!
//! A worker that is stuck in a task holds up nothing that could run elsewhere (`watch/`).
//!
//! [`block_on`] makes the calling thread a worker while it is inside (`block.rs`). Closures that
//! block go to threads of their own (`blocking.rs`).

mod block;
mod blocking;
mod context;
mod handle;
mod idle;
mod pace;
mod pinned;
mod queue;
mod runtime;
mod sync;
mod task;
mod wait;
mod watch;
mod worker;
mod yield_now;

pub use block::block_on;
pub use handle::{Handle, LocalHandle, SpawnError, spawn, spawn_blocking, spawn_local, try_spawn};
pub use runtime::{Builder, Runtime};
pub use task::{AbortHandle, Id, JoinError, JoinHandle};
pub use watch::{Culprit, Stall, StalledTask};
pub use yield_now::{YieldNow, yield_now};
