//! Ending in good order: ask to stop, wait for those who are at it, cut off the rest.

use crate::cancel::{CancellationToken, Place, Waiters};
use crate::sync::Mutex;
use crate::task::{AbortHandle, JoinHandle};
use pin_project_lite::pin_project;
use slab::Slab;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use windlass_reactor::time::timeout;

/// Ends a server in good order.
///
/// Whoever takes on work that should not be cut off keeps a [`guard`](Self::guard) as long, or has
/// it [tracked](Self::track) or [spawned](Self::spawn) through this. [`stop`](Self::stop) asks
/// everybody to come to an end, and [`wait`](Self::wait) gives them time. Clones are the same drain.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use windlass_executor::{Drain, block_on};
/// use windlass_reactor::time::sleep;
///
/// block_on(async {
///     let drain = Drain::new();
///     let stopping = drain.token().clone();
///     drain.spawn(async move {
///         while !stopping.is_cancelled() {
///             sleep(Duration::from_millis(1)).await;
///         }
///     });
///     let stuck = drain.spawn(std::future::pending::<()>());
///
///     drain.stop();
///     assert_eq!(drain.wait(Duration::from_millis(50)).await, 1);
///     // What did not end in time was aborted.
///     assert!(stuck.await.unwrap_err().is_cancelled());
/// });
/// ```
#[derive(Clone, Default)]
pub struct Drain(Arc<Shared>);

#[derive(Default)]
struct Shared {
    stop: CancellationToken,
    /// How many guards there are. Whoever waits leaves its waker first and then looks at this;
    /// whoever counts down to zero wakes after that. Both take the lock of the wakers in between.
    count: AtomicUsize,
    waiters: Waiters,
    /// The tasks to be aborted in the end.
    tasks: Mutex<Tasks>,
}

/// What aborts the tasks that are alive, as soon as they are spawned.
#[derive(Default)]
struct Tasks {
    alive: Slab<Entry>,
    /// The number that was given last.
    last: u32,
}

struct Entry {
    /// Places are used again: this tells who has it from who had it before.
    number: u32,
    stage: Stage,
}

/// How far a task is.
enum Stage {
    /// It is being spawned: it may run, but what aborts it isn't there yet.
    Coming,
    /// It was to be aborted meanwhile.
    Aborted,
    Spawned(AbortHandle),
}

impl Stage {
    /// Returns what aborts the task; who spawns it does that if it isn't there yet.
    fn mark_aborted(&mut self) -> Option<AbortHandle> {
        match self {
            Stage::Spawned(handle) => Some(handle.clone()),
            Stage::Coming | Stage::Aborted => {
                *self = Stage::Aborted;
                None
            }
        }
    }
}

/// Names a task in the list; also after it has left that, when it names nothing (but for a task
/// that stays in one place while four billion others come and go).
#[derive(Clone, Copy)]
struct TaskKey {
    place: u32,
    number: u32,
}

impl Tasks {
    /// Takes in a task that is about to be spawned.
    fn insert(&mut self) -> TaskKey {
        self.last = self.last.wrapping_add(1);
        let number = self.last;
        let stage = Stage::Coming;
        let place = self.alive.insert(Entry { number, stage }) as u32;
        TaskKey { place, number }
    }

    fn get_mut(&mut self, key: TaskKey) -> Option<&mut Entry> {
        let entry = self.alive.get_mut(key.place as usize);
        entry.filter(|entry| entry.number == key.number)
    }

    /// Takes out a task that is in the list.
    fn remove(&mut self, key: TaskKey) -> Option<Entry> {
        self.alive.try_remove(key.place as usize)
    }
}

impl Shared {
    /// Notes what aborts a task, now that it is spawned; or aborts it, if that was asked meanwhile.
    fn remember<T>(&self, key: TaskKey, task: &JoinHandle<T>) {
        let mut tasks = self.tasks.lock();
        match tasks.get_mut(key).map(|entry| &mut entry.stage) {
            Some(Stage::Aborted) => {
                drop(tasks);
                task.abort();
            }
            Some(stage) => *stage = Stage::Spawned(task.abort_handle()),
            // It has ended already, and has left the list.
            None => {}
        }
    }
}

impl Drain {
    /// Makes a drain that nobody was asked to stop by.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(!windlass_executor::Drain::new().is_stopping());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks everybody to stop: cancels the [`token`](Self::token).
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::Drain;
    /// let drain = Drain::new();
    /// drain.stop();
    /// assert!(drain.is_stopping());
    /// ```
    pub fn stop(&self) {
        self.0.stop.cancel();
    }

    /// Says whether everybody was asked to stop.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::Drain;
    /// let drain = Drain::new();
    /// let keep_alive = !drain.is_stopping();
    /// assert!(keep_alive);
    /// ```
    pub fn is_stopping(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    /// Returns the token that [`stop`](Self::stop) cancels: to wait for that, or to run something
    /// until then.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{Drain, block_on};
    /// # block_on(async {
    /// let drain = Drain::new();
    /// let accepting = async { /* accepts connections for ever */ };
    /// drain.token().run_until_cancelled(accepting).await;
    /// # });
    /// ```
    pub fn token(&self) -> &CancellationToken {
        &self.0.stop
    }

    /// Says that something goes on that should be waited for, until the guard is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::Drain;
    /// let drain = Drain::new();
    /// let guard = drain.guard();
    /// assert_eq!(drain.count(), 1);
    /// drop(guard);
    /// assert_eq!(drain.count(), 0);
    /// ```
    pub fn guard(&self) -> DrainGuard {
        self.0.count.fetch_add(1, Ordering::Relaxed);
        DrainGuard(self.0.clone())
    }

    /// Has `future` waited for until it is dropped, done or not.
    ///
    /// # Cancel safety
    ///
    /// As that of `future`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{Drain, block_on};
    /// let drain = Drain::new();
    /// let tracked = drain.track(async { 5 });
    /// assert_eq!(drain.count(), 1);
    /// assert_eq!(block_on(tracked), 5);
    /// assert_eq!(drain.count(), 0);
    /// ```
    pub fn track<F: Future>(&self, future: F) -> Tracked<F> {
        Tracked {
            future,
            _guard: self.guard(),
        }
    }

    /// Starts a task as [`spawn`](crate::spawn) does, to be waited for, and to be aborted if that
    /// takes too long.
    ///
    /// # Panics
    ///
    /// As [`spawn`](crate::spawn): on a thread that runs no tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use windlass_executor::{Drain, block_on};
    /// # block_on(async {
    /// let drain = Drain::new();
    /// let task = drain.spawn(async { 5 });
    /// assert_eq!(drain.wait(Duration::from_secs(5)).await, 0);
    /// assert_eq!(task.await.unwrap(), 5);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_at(future, Location::caller())
    }

    /// As [`spawn`](Self::spawn), on behalf of who called from elsewhere; for the acceptor of the
    /// crate `windlass`, and no part of what is kept stable.
    #[doc(hidden)]
    #[track_caller]
    pub fn spawn_at<F>(
        &self,
        future: F,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let listed = Listed::new(self.guard());
        let key = listed.key;
        let spawned = Spawned {
            future,
            _listed: listed,
        };
        let task = crate::handle::spawn_at(spawned, spawned_at);
        self.0.remember(key, &task);
        task
    }

    /// Returns how many are to be waited for.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::Drain;
    /// assert_eq!(Drain::new().count(), 0);
    /// ```
    pub fn count(&self) -> usize {
        self.0.count.load(Ordering::Acquire)
    }

    /// Waits until nobody has to be waited for any more, but for `limit` at the most. Then it aborts
    /// the tasks that were [spawned](Self::spawn) through this, and says how many there were to wait
    /// for, those included: 0 is a good end.
    ///
    /// What is taken on meanwhile is waited for as well; it is up to others to take the
    /// [hint](Self::stop).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost if the future is dropped, and nothing aborted.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use windlass_executor::{Drain, block_on};
    /// # block_on(async {
    /// let drain = Drain::new();
    /// let _guard = drain.guard();
    /// assert_eq!(drain.wait(Duration::from_millis(1)).await, 1);
    /// # });
    /// ```
    pub async fn wait(&self, limit: Duration) -> usize {
        let nobody_left = NobodyLeft {
            shared: &self.0,
            place: Place::default(),
        };
        if timeout(limit, nobody_left).await.is_ok() {
            return 0;
        }
        let left = self.count();
        self.abort_all();
        left
    }

    /// Asks all tasks that were [spawned](Self::spawn) through this to end at once.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::{Drain, block_on};
    /// # block_on(async {
    /// let drain = Drain::new();
    /// let task = drain.spawn(std::future::pending::<()>());
    /// drain.abort_all();
    /// assert!(task.await.unwrap_err().is_cancelled());
    /// # });
    /// ```
    pub fn abort_all(&self) {
        let tasks: Vec<_> = {
            let mut tasks = self.0.tasks.lock();
            let all = tasks.alive.iter_mut();
            all.filter_map(|(_, entry)| entry.stage.mark_aborted())
                .collect()
        };
        for task in tasks {
            task.abort();
        }
    }
}

impl fmt::Debug for Drain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Drain")
            .field("is_stopping", &self.is_stopping())
            .field("count", &self.count())
            .finish()
    }
}

/// Something that a [`Drain`] waits for until this is dropped.
#[must_use = "a guard that is dropped is not waited for"]
pub struct DrainGuard(Arc<Shared>);

impl Drop for DrainGuard {
    fn drop(&mut self) {
        // What was done under the guard is seen by who waits for its end.
        if self.0.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.waiters.wake_all();
        }
    }
}

impl fmt::Debug for DrainGuard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DrainGuard").finish_non_exhaustive()
    }
}

pin_project! {
    /// The future of [`Drain::track`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Tracked<F> {
        // Dropped before the guard, so that what it does then is waited for, too.
        #[pin]
        future: F,
        _guard: DrainGuard,
    }
}

pin_project! {
    /// The future of a task that [`Drain::spawn`] has started.
    struct Spawned<F> {
        // As above.
        #[pin]
        future: F,
        _listed: Listed,
    }
}

impl<F: Future> Future for Tracked<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.project().future.poll(context)
    }
}

impl<F: Future> Future for Spawned<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.project().future.poll(context)
    }
}

/// Keeps a task in the list of those to abort, and then has it waited for until it has left that.
struct Listed {
    guard: DrainGuard,
    key: TaskKey,
}

impl Listed {
    fn new(guard: DrainGuard) -> Self {
        let key = guard.0.tasks.lock().insert();
        Self { guard, key }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let entry = self.guard.0.tasks.lock().remove(self.key);
        drop(entry);
    }
}

/// Waits until there is no guard.
struct NobodyLeft<'a> {
    shared: &'a Shared,
    place: Place,
}

impl Future for NobodyLeft<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let count = &this.shared.count;
        if count.load(Ordering::Acquire) != 0 {
            this.shared.waiters.come(&mut this.place, context);
            if count.load(Ordering::Acquire) != 0 {
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    }
}

impl Drop for NobodyLeft<'_> {
    fn drop(&mut self) {
        self.shared.waiters.leave(&mut self.place);
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::{Drain, Listed, Tasks};
    use crate::{block_on, spawn};
    use std::future::pending;

    /// All are aborted while a task is being spawned: it may run already, and doesn't get away.
    #[test]
    fn who_is_being_spawned_is_aborted_as_well() {
        block_on(async {
            let drain = Drain::new();
            let listed = Listed::new(drain.guard());
            drain.abort_all();
            let task = spawn(pending::<()>());
            drain.0.remember(listed.key, &task);
            assert!(task.await.unwrap_err().is_cancelled());

            let late = Listed::new(drain.guard());
            let task = spawn(pending::<()>());
            drain.0.remember(late.key, &task);
            drain.abort_all();
            assert!(task.await.unwrap_err().is_cancelled());
        });
    }

    #[test]
    fn who_had_a_place_before_does_not_find_who_has_it_now() {
        let mut tasks = Tasks::default();
        let first = tasks.insert();
        assert!(tasks.get_mut(first).is_some());
        tasks.remove(first);
        assert!(tasks.get_mut(first).is_none());
        let second = tasks.insert();
        assert_eq!(first.place, second.place);
        assert!(tasks.get_mut(first).is_none());
        assert!(tasks.get_mut(second).is_some());
    }
}
