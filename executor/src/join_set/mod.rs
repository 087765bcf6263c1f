//! Tasks that are joined in the order in which they end.

mod ended;

use crate::handle::Handle;
use crate::task::{AbortHandle, Id, JoinError, JoinHandle, discard};
use ended::{Ended, Mark};
use slab::Slab;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use windlass_reactor::budget;

/// A set of tasks, joined one after the other in the order in which they end.
///
/// What it costs to join a task does not depend on how many there are: each task that ends notes
/// itself in a list. Dropping the set aborts the tasks that are in it.
///
/// # Examples
///
/// ```
/// use windlass_executor::{JoinSet, block_on};
///
/// block_on(async {
///     let mut set = JoinSet::new();
///     for number in 1..=3 {
///         set.spawn(async move { number * number });
///     }
///     let mut sum = 0;
///     while let Some(square) = set.join_next().await {
///         sum += square.unwrap();
///     }
///     assert_eq!(sum, 14);
/// });
/// ```
#[must_use = "dropping the set aborts its tasks"]
pub struct JoinSet<T> {
    handles: Slab<JoinHandle<T>>,
    /// Shared with the tasks.
    ended: Arc<Ended>,
}

impl<T> JoinSet<T> {
    /// Makes an empty set.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(windlass_executor::JoinSet::<()>::new().is_empty());
    /// ```
    pub fn new() -> Self {
        Self {
            handles: Slab::new(),
            ended: Arc::default(),
        }
    }

    /// Returns how many tasks are in the set, those included that have ended and are not joined.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{JoinSet, block_on};
    /// # block_on(async {
    /// let mut set = JoinSet::new();
    /// set.spawn(async {});
    /// assert_eq!(set.len(), 1);
    /// # });
    /// ```
    pub fn len(&self) -> usize {
        self.handles.len()
    }

    /// Says whether there is no task in the set.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{JoinSet, block_on};
    /// # block_on(async {
    /// let mut set = JoinSet::new();
    /// set.spawn(async {});
    /// set.join_next().await;
    /// assert!(set.is_empty());
    /// # });
    /// ```
    pub fn is_empty(&self) -> bool {
        self.handles.is_empty()
    }

    /// Starts a task as [`spawn`](crate::spawn) does, in the set.
    ///
    /// # Panics
    ///
    /// As [`spawn`](crate::spawn): on a thread that runs no tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{JoinSet, block_on};
    /// # block_on(async {
    /// let mut set = JoinSet::new();
    /// let abort = set.spawn(async { 5 });
    /// let (id, output) = set.join_next_with_id().await.unwrap().unwrap();
    /// assert_eq!((id, output), (abort.id(), 5));
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.insert(crate::spawn(future))
    }

    /// Starts a task of the runtime that `handle` reaches, in the set.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::{JoinSet, Runtime};
    ///
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// let mut set = JoinSet::new();
    /// set.spawn_on(async { 5 }, runtime.handle());
    /// assert_eq!(runtime.block_on(set.join_next()).unwrap()?, 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(&mut self, future: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.insert(handle.spawn(future))
    }

    /// Starts a task that stays on this thread as [`spawn_local`](crate::spawn_local) does, in the
    /// set.
    ///
    /// # Panics
    ///
    /// As [`spawn_local`](crate::spawn_local): on a thread that is no worker.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{JoinSet, block_on};
    /// # use std::rc::Rc;
    /// # block_on(async {
    /// let (mut set, shared) = (JoinSet::new(), Rc::new(5));
    /// set.spawn_local(async move { *shared });
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 5);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        self.insert(crate::spawn_local(future))
    }

    /// Runs a closure that may block as [`spawn_blocking`](crate::spawn_blocking) does, in the set.
    ///
    /// # Panics
    ///
    /// As [`spawn_blocking`](crate::spawn_blocking): on a thread that runs no tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{JoinSet, block_on};
    /// # block_on(async {
    /// let mut set = JoinSet::new();
    /// set.spawn_blocking(|| 5);
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 5);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_blocking<C>(&mut self, closure: C) -> AbortHandle
    where
        C: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.insert(crate::spawn_blocking(closure))
    }

    /// Takes in a task that was spawned by other means.
    ///
    /// # Panics
    ///
    /// If the handle has given its result already.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{JoinSet, block_on, spawn};
    /// # block_on(async {
    /// let task = spawn(async { 5 });
    /// let mut set = JoinSet::new();
    /// set.insert(task);
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 5);
    /// # });
    /// ```
    #[track_caller]
    pub fn insert(&mut self, mut handle: JoinHandle<T>) -> AbortHandle {
        let abort = handle.abort_handle();
        let entry = self.handles.vacant_entry();
        let key = entry.key();
        let mark = Waker::from(Arc::new(Mark {
            ended: self.ended.clone(),
            key,
        }));
        let has_ended = handle.leave_waker(&mark);
        entry.insert(handle);
        if has_ended {
            self.ended.push(key);
        }
        abort
    }

    /// Waits for the task that ends next and gives its output; `None` if the set is empty.
    ///
    /// # Errors
    ///
    /// The inner one: that the task panicked or was cancelled; it says which task.
    ///
    /// # Cancel safety
    ///
    /// If this is dropped before it is done, no task has left the set.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{JoinSet, block_on};
    /// # block_on(async {
    /// let mut set = JoinSet::new();
    /// let task = set.spawn(async { panic!("no bread") });
    /// let error: windlass_executor::JoinError = set.join_next().await.unwrap().unwrap_err();
    /// assert_eq!(error.id(), task.id());
    /// assert!(set.join_next().await.is_none());
    /// # });
    /// ```
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|context| self.poll_join_next(context)).await
    }

    /// Waits as [`join_next`](Self::join_next) does, and says which task it was; of one that
    /// failed, the error does.
    ///
    /// # Errors
    ///
    /// The inner one: that the task panicked or was cancelled.
    ///
    /// # Cancel safety
    ///
    /// If this is dropped before it is done, no task has left the set.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{JoinSet, block_on};
    /// # block_on(async {
    /// let mut set = JoinSet::new();
    /// let abort = set.spawn(async {});
    /// assert_eq!(set.join_next_with_id().await.unwrap().unwrap().0, abort.id());
    /// # });
    /// ```
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        let (id, result) = poll_fn(|context| self.poll_next(context)).await?;
        Some(result.map(|output| (id, output)))
    }

    /// Gives the output of a task that has ended; `None` if there is no such.
    ///
    /// # Errors
    ///
    /// The inner one: that the task panicked or was cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{JoinSet, block_on, yield_now};
    /// # block_on(async {
    /// let mut set = JoinSet::new();
    /// set.spawn(async { 5 });
    /// assert!(set.try_join_next().is_none());
    /// yield_now().await;
    /// assert_eq!(set.try_join_next().unwrap().unwrap(), 5);
    /// # });
    /// ```
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        let key = self.ended.pop()?;
        Some(self.take(key).1)
    }

    /// Waits for the task that ends next, as [`join_next`](Self::join_next) does, where there is no
    /// `await`. Of several callers the last one is woken.
    ///
    /// # Errors
    ///
    /// The innermost one: that the task panicked or was cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{JoinSet, block_on};
    /// # use std::future::poll_fn;
    /// # block_on(async {
    /// let mut set = JoinSet::new();
    /// set.spawn(async { 5 });
    /// let joined = poll_fn(|context| set.poll_join_next(context)).await;
    /// assert_eq!(joined.unwrap().unwrap(), 5);
    /// # });
    /// ```
    pub fn poll_join_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<T, JoinError>>> {
        self.poll_next(context)
            .map(|joined| joined.map(|(_, result)| result))
    }

    /// Waits for all tasks, and gives their outputs in the order in which the tasks ended.
    ///
    /// # Panics
    ///
    /// If a task panicked, with what it panicked with; if one was cancelled. The rest is aborted
    /// then. [`join_next`](Self::join_next) gives errors instead.
    ///
    /// # Cancel safety
    ///
    /// If this is dropped before it is done, the tasks are aborted and outputs are lost.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{JoinSet, block_on};
    /// # block_on(async {
    /// let set: JoinSet<_> = (1..=3).map(|number| async move { number * number }).collect();
    /// assert_eq!(set.join_all().await.iter().sum::<i32>(), 14);
    /// # });
    /// ```
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next().await {
            outputs.push(result.unwrap_or_else(|error| fail(error)));
        }
        outputs
    }

    /// Asks all tasks to end, as [`JoinHandle::abort`] does. They stay in the set until they are
    /// joined.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{JoinSet, block_on};
    /// # block_on(async {
    /// let mut set = JoinSet::new();
    /// set.spawn(std::future::pending::<()>());
    /// set.abort_all();
    /// assert!(set.join_next().await.unwrap().unwrap_err().is_cancelled());
    /// # });
    /// ```
    pub fn abort_all(&mut self) {
        for (_, handle) in &self.handles {
            handle.abort();
        }
    }

    /// Lets all tasks go: they run on by themselves, and their outputs are dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{JoinSet, block_on};
    /// # block_on(async {
    /// let mut set = JoinSet::new();
    /// set.spawn(async { /* runs to its end */ });
    /// set.detach_all();
    /// assert!(set.is_empty());
    /// # });
    /// ```
    pub fn detach_all(&mut self) {
        // Some may be about to note that they have ended; their keys will mean nothing.
        self.ended = Arc::default();
        drop(std::mem::take(&mut self.handles));
    }

    /// Asks all tasks to end, and waits until they have: all of their futures are dropped then,
    /// and their outputs as well; a destructor of an output that panics goes no further.
    ///
    /// Closures of [`spawn_blocking`](crate::spawn_blocking) that have started are waited for.
    ///
    /// # Cancel safety
    ///
    /// If this is dropped before it is done, all tasks were aborted, and some were joined.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{JoinSet, block_on};
    /// # block_on(async {
    /// let mut set = JoinSet::new();
    /// set.spawn(std::future::pending::<()>());
    /// set.shutdown().await;
    /// assert!(set.is_empty());
    /// # });
    /// ```
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while let Some(result) = self.join_next().await {
            discard(result);
        }
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<(Id, Result<T, JoinError>)>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        let permit = ready!(budget::poll_proceed(context));
        let key = ready!(self.ended.poll_pop(context));
        permit.spend();
        Poll::Ready(Some(self.take(key)))
    }

    /// Takes a task that has ended out of the set.
    fn take(&mut self, key: usize) -> (Id, Result<T, JoinError>) {
        let mut handle = self.handles.remove(key);
        (handle.id(), handle.take())
    }
}

#[cold]
fn fail(error: JoinError) -> ! {
    match error.try_into_panic() {
        Ok(payload) => resume_unwind(payload),
        Err(error) => panic!("{error}"),
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("JoinSet")
            .field("len", &self.len())
            .finish()
    }
}

impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    /// Starts a task for each future, as [`JoinSet::spawn`] does.
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> Self {
        let mut set = Self::new();
        for future in futures {
            set.spawn(future);
        }
        set
    }
}
