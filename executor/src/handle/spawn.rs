//! Spawning on the runtime of the thread.

use super::LocalHandle;
use crate::context;
use crate::runtime::{INHERITED, Shared};
use crate::task::JoinHandle;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

/// There is no runtime on this thread that could take a task.
///
/// # Examples
///
/// ```
/// let error = windlass_executor::try_spawn(async {}).unwrap_err();
/// assert!(error.to_string().contains("block_on"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpawnError(Refusal);

/// Why a task can't be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    NoRuntime,
    /// It is the parent's.
    Inherited,
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Refusal::NoRuntime => {
                "this thread runs no tasks; spawn inside block_on or a task, or through a Handle"
            }
            Refusal::Inherited => INHERITED,
        })
    }
}

impl std::error::Error for SpawnError {}

/// Starts `future` as a task of the runtime that this thread runs tasks for.
///
/// The task runs on whether or not the handle is kept.
///
/// # Examples
///
/// ```
/// use windlass_executor::{block_on, spawn};
///
/// let sum = block_on(async {
///     let one = spawn(async { 1 });
///     let two = spawn(async { 2 });
///     one.await.unwrap() + two.await.unwrap()
/// });
/// assert_eq!(sum, 3);
/// ```
///
/// # Panics
///
/// On a thread that is neither in `block_on` nor a worker; [`try_spawn`] and [`Handle::spawn`](crate::Handle::spawn)
/// don't.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn_at(future, Location::caller())
}

/// Starts `future` as [`spawn`] does, on behalf of who called from elsewhere.
#[inline(always)]
#[track_caller]
pub(crate) fn spawn_at<F>(
    future: F,
    spawned_at: &'static Location<'static>,
) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    context::spawn(future, spawned_at, |future| {
        current_or_panic("spawn").spawn(future, spawned_at)
    })
}

/// Starts `future` as [`spawn`] does.
///
/// # Errors
///
/// [`SpawnError`] on a thread that is neither in `block_on` nor a worker, and in a child process
/// that was forked within either; the future is dropped.
///
/// # Examples
///
/// ```
/// use windlass_executor::{block_on, try_spawn};
///
/// assert!(try_spawn(async {}).is_err());
/// block_on(async { assert!(try_spawn(async {}).is_ok()) });
/// ```
#[track_caller]
pub fn try_spawn<F>(future: F) -> Result<JoinHandle<F::Output>, SpawnError>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let spawned_at = Location::caller();
    match context::with(|context| context.shared.is_inherited()) {
        None => Err(SpawnError(Refusal::NoRuntime)),
        Some(true) => Err(SpawnError(Refusal::Inherited)),
        Some(false) => Ok(context::spawn(future, spawned_at, |future| {
            current_or_panic("try_spawn").spawn(future, spawned_at)
        })),
    }
}

/// Starts `future` as a task that stays on this thread, so that it need not be `Send`.
///
/// It runs while this thread is in `block_on`, or for good on a worker thread, and its future is
/// dropped there.
///
/// # Examples
///
/// ```
/// use std::rc::Rc;
/// use windlass_executor::{block_on, spawn_local};
///
/// let shared = Rc::new(5);
/// let copy = shared.clone();
/// assert_eq!(block_on(async { spawn_local(async move { *copy }).await.unwrap() }), 5);
/// ```
///
/// # Panics
///
/// On a thread that is neither a worker nor the first one in `block_on`.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    match LocalHandle::try_current() {
        Some(handle) => handle.spawn_local(future),
        None => no_runtime("spawn_local"),
    }
}

/// Runs a closure that may block, on a thread that is kept for such.
///
/// There is a thread for each closure up to a limit
/// ([`Builder::blocking_threads`](crate::Builder::blocking_threads)); those above it wait in a queue
/// that has none, so it is up to the caller not to fill it faster than it empties. A thread without
/// work ends after a while
/// ([`Builder::blocking_keep_alive`](crate::Builder::blocking_keep_alive)).
///
/// A closure that has started can't be stopped: shutting the runtime down waits for it. One that
/// hasn't is dropped by [`JoinHandle::abort`], at once and where that is called, or with the
/// runtime; and right away, if it is the first and the system has no thread for it. Its panic is the
/// error of who joins it.
///
/// # Examples
///
/// ```
/// use windlass_executor::{block_on, spawn_blocking};
///
/// let text = block_on(async {
///     spawn_blocking(|| std::fs::read_to_string("/proc/self/stat")).await.unwrap()
/// });
/// # let _ = text;
/// ```
///
/// # Panics
///
/// On a thread that is neither in `block_on` nor a worker; [`Handle::spawn_blocking`](crate::Handle::spawn_blocking) doesn't.
#[track_caller]
pub fn spawn_blocking<T, C>(closure: C) -> JoinHandle<T>
where
    T: Send + 'static,
    C: FnOnce() -> T + Send + 'static,
{
    match context::runtime() {
        Some(shared) => shared.spawn_blocking(closure, shared.to_pool(), Location::caller()),
        None => no_runtime("spawn_blocking"),
    }
}

/// Returns the runtime that this thread runs tasks for.
#[cold]
#[inline(never)]
#[track_caller]
fn current_or_panic(what: &str) -> Arc<Shared> {
    context::runtime().unwrap_or_else(|| no_runtime(what))
}

#[cold]
#[track_caller]
pub(crate) fn no_runtime(what: &str) -> ! {
    panic!(
        "{what} was called on a thread that runs no tasks: call it inside block_on or a task, \
         or use a Handle of the runtime"
    )
}
