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
//! What it has done is counted (`metrics.rs`), and what all tasks are doing can be seen (`dump/`).
//!
//! A worker that is stuck in a task holds up nothing that could run elsewhere (`watch/`).
//!
//! `block_on` makes the calling thread a worker while it is inside (`block.rs`); the free [`block_on`]
//! does so if its future is not ready at once (`block_on.rs`). Closures that
//! block go to threads of their own (`blocking.rs`), or have the others take over the work of the
//! thread that they are on (`block_in_place.rs`).
//!
//! On top of that, tasks are put on one worker (`place.rs`), named (`task_builder.rs`), joined in the
//! order in which they end (`join_set/`), and asked to stop (`cancel/`, `drain.rs`).

mod block;
mod block_in_place;
mod block_on;
mod blocking;
mod cancel;
mod context;
mod drain;
mod dump;
mod handle;
mod help;
mod idle;
mod join_set;
mod metrics;
mod pace;
mod pinned;
mod place;
mod queue;
mod runtime;
mod seed;
mod sync;
mod task;
mod task_builder;
mod wait;
mod watch;
mod worker;
mod yield_now;

pub use block_in_place::block_in_place;
pub use block_on::block_on;
pub use cancel::{CancellationToken, Cancelled, CancelledOwned, DropGuard};
pub use drain::{Drain, DrainGuard, Tracked};
pub use dump::{Dump, Endpoint, RootView, TaskState, TaskView, WaitingFor};
pub use handle::{Handle, LocalHandle, SpawnError, spawn, spawn_blocking, spawn_local, try_spawn};
pub use join_set::JoinSet;
pub use metrics::{Metrics, WorkerMetrics};
pub use place::spawn_on;
pub use runtime::{Builder, Runtime, TaskPanic};
pub use task::{
    AbortHandle, Id, JoinError, JoinHandle, TaskLocal, TaskLocalError, TaskLocalFuture,
};
pub use task_builder::TaskBuilder;
pub use watch::{Culprit, Stall, StalledTask};
pub use yield_now::{YieldNow, yield_now};
