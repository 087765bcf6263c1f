//! Tasks that run on one worker, whichever thread that is.
//!
//! Worker 0 is whoever calls `block_on`, so its tasks must be `Send` and must not be left with a
//! thread that goes: they wait in the inbox of the place while nobody is there. They are queued with
//! the tasks of the thread, whose bell also says that the place has mail.

use crate::context;
use crate::handle::{Handle, no_runtime};
use crate::pinned::Pinned;
use crate::queue::Line;
use crate::runtime::Shared;
use crate::sync::Mutex;
use crate::task::{self, Id, JoinHandle, List, Listed, Name, PLACED, Runnable, Schedule, Task};
use std::collections::VecDeque;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The tasks of one worker.
#[derive(Default)]
pub(crate) struct Place {
    tasks: List,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Who is the worker at the moment.
    host: Option<Arc<Pinned>>,
    /// Tasks that were woken by other threads, or are left from the last host.
    inbox: VecDeque<Runnable>,
    /// Nobody will come any more.
    closed: bool,
}

impl Place {
    /// A thread is this worker from now on.
    pub(crate) fn arrive(&self, host: &Arc<Pinned>) {
        let mut state = self.state.lock();
        state.host = Some(host.clone());
        let has_mail = !state.inbox.is_empty();
        drop(state);
        if has_mail {
            host.ring();
        }
    }

    /// The thread is the worker no longer.
    pub(crate) fn leave(&self) {
        let host = self.state.lock().host.take();
        drop(host);
    }

    /// Moves up to `most` of what came in to `queue`; returns whether some is left.
    pub(crate) fn take_mail(&self, most: usize, queue: &mut Line<Runnable>) -> bool {
        let mut state = self.state.lock();
        let part = most.min(state.inbox.len());
        queue.extend(state.inbox.drain(..part));
        !state.inbox.is_empty()
    }

    /// Keeps tasks that were not run for the next host.
    pub(crate) fn keep(&self, runnables: Vec<Runnable>) {
        for runnable in runnables {
            self.send(runnable);
        }
    }

    fn send(&self, runnable: Runnable) {
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            return drop(runnable);
        }
        state.inbox.push_back(runnable);
        let host = state.host.clone();
        drop(state);
        if let Some(host) = host {
            host.ring();
        }
    }

    /// Finds the name of a task of this place.
    pub(crate) fn name_of(&self, id: Id) -> Option<Name> {
        self.tasks.name_of(id)
    }

    /// Returns the list of the tasks.
    pub(crate) fn tasks(&self) -> &List {
        &self.tasks
    }

    /// Ends all tasks. No worker runs any more.
    pub(crate) fn close(&self) {
        self.tasks.close();
        let mut state = self.state.lock();
        state.closed = true;
        let late = std::mem::take(&mut state.inbox);
        drop(state);
        drop(late);
    }

    /// Starts a task here; `schedule` leads to this place.
    pub(crate) fn spawn<F, S>(
        &self,
        future: F,
        schedule: &S,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
        S: Schedule + Clone,
    {
        let (task, runnable, handle) = task::new(future, schedule.clone(), Id::next(), spawned_at);
        match self.tasks.insert(PLACED, task) {
            Ok(()) => schedule.schedule(runnable),
            Err(refused) => drop((runnable, refused)),
        }
        handle
    }
}

/// Sends tasks to their place.
#[derive(Clone)]
pub(crate) struct ToPlace(pub(crate) Arc<Place>);

impl Schedule for ToPlace {
    fn schedule(&self, runnable: Runnable) {
        if let Some(runnable) = push(&self.0, runnable) {
            self.0.send(runnable);
        }
    }

    fn release(&self, task: Listed<'_>) -> Option<Task> {
        self.0.tasks.remove(task)
    }

    fn panicked(&self, error: &dyn std::fmt::Display) {
        context::task_panicked(error);
    }
}

/// Queues a placed task here, if this thread is its worker; else hands it back.
#[inline]
fn push(place: &Arc<Place>, runnable: Runnable) -> Option<Runnable> {
    let mut left = Some(runnable);
    context::with_entered(|context| {
        let queues = context.queues.as_mut();
        if let Some(queues) = queues.filter(|queues| queues.pinned.is_at(place)) {
            queues.pinned_ready.extend(left.take());
        }
    });
    left
}

impl Shared {
    /// Returns the place of a worker.
    ///
    /// # Panics
    ///
    /// If there is no such worker.
    #[track_caller]
    pub(crate) fn place(&self, worker: usize) -> &Arc<Place> {
        let last = self.places.len() - 1;
        assert!(
            worker <= last,
            "there is no worker {worker}: those of this runtime are 0 to {last}"
        );
        &self.places[worker]
    }

    /// Returns which list a new task goes to: that of this worker, or that of what comes from
    /// elsewhere. If tasks don't move, the list says where the task runs: here, or if this is no
    /// worker, at the workers in turn. Worker 0 gets none of those unless it is the only one, as it
    /// may be away.
    pub(crate) fn list_of_new(self: &Arc<Self>) -> usize {
        let own = context::index_in(self);
        own.unwrap_or_else(|| match (self.is_stealing, self.places.len() - 1) {
            (true, _) => self.workers.len(),
            (false, 0) => 0,
            (false, others) => 1 + self.turn.fetch_add(1, Ordering::Relaxed) % others,
        })
    }

    /// Has a task run on the worker that its list is named by, as tasks don't move.
    ///
    /// Such a task has the scheduler of all others, so that each future is compiled into one kind of
    /// task only.
    #[cold]
    pub(crate) fn send_home(&self, runnable: Runnable) {
        let place = &self.places[runnable.list()];
        if let Some(runnable) = push(place, runnable) {
            place.send(runnable);
        }
    }
}

impl Handle {
    /// Returns how many workers the runtime has.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = windlass_executor::Runtime::builder().workers(2).build()?;
    /// assert_eq!(runtime.handle().workers(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn workers(&self) -> usize {
        self.shared.workers.len()
    }

    /// Starts `future` as a task that only this worker runs: a number from 0 up to that of
    /// [`workers`](Self::workers).
    ///
    /// Worker 0 is whoever calls [`Runtime::block_on`](crate::Runtime::block_on), so its tasks wait
    /// between two calls, and may run on another thread after. A task that is placed is not taken
    /// over by others while its worker is busy.
    ///
    /// # Panics
    ///
    /// If there is no such worker.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::thread;
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().workers(2).thread_name("cook").build()?;
    /// let task = runtime.handle().spawn_on(1, async { thread::current().name() == Some("cook-1") });
    /// assert!(runtime.block_on(task)?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(&self, worker: usize, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let place = self.shared.place(worker);
        place.spawn(future, &ToPlace(place.clone()), Location::caller())
    }
}

/// Starts `future` as a task that only this worker of the current runtime runs; see
/// [`Handle::spawn_on`].
///
/// # Panics
///
/// If there is no such worker; on a thread that is neither in `block_on` nor a worker.
///
/// # Examples
///
/// ```
/// use windlass_executor::{block_on, spawn_on};
///
/// // The free `block_on` has one worker.
/// assert_eq!(block_on(async { spawn_on(0, async { 5 }).await }).unwrap(), 5);
/// ```
#[track_caller]
pub fn spawn_on<F>(worker: usize, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match Handle::try_current() {
        Some(handle) => handle.spawn_on(worker, future),
        None => no_runtime("spawn_on"),
    }
}
