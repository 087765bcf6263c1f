//! All tasks of a runtime, and what each waits for.
//!
//! While tasks run nothing is kept of what they wait for. Whoever asks for a dump finds it: each
//! reactor lists the wakers that wait on it, and those of tasks have the address of the task as
//! their data; a task whose join handle is awaited has a mark of the task that does. Addresses are
//! compared with those of the tasks that are alive, and never followed.
//!
//! No lock is held but to copy from what it guards, and no code of users is called. So the dump is
//! not one moment's: a task that was woken meanwhile may be shown as waiting for nothing known.

mod shown;

use crate::block::Root;
use crate::handle::Handle;
use crate::runtime::{Runtime, Shared};
use crate::task::{Id, List, Mark, Sight, Stage};
use std::borrow::Cow;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;
use windlass_reactor::{Direction, Handle as ReactorHandle, WaitsFor};

/// All tasks of a runtime, as [`Handle::dump`] has found them.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use windlass_executor::{Handle, TaskBuilder, WaitingFor, block_on, yield_now};
/// use windlass_reactor::time::sleep;
///
/// block_on(async {
///     let task = TaskBuilder::new().name("nap").spawn(sleep(Duration::from_secs(60)));
///     yield_now().await; // The task begins to sleep.
///     let dump = Handle::current().dump();
///     assert_eq!(dump.tasks[0].name.as_deref(), Some("nap"));
///     assert!(matches!(dump.tasks[0].waits_for[0], WaitingFor::Sleep { .. }));
///     println!("{dump}");
///     # task.abort();
/// });
/// ```
///
/// For people it is one line a task, by where they were spawned; with `{:#}` all of them, else the
/// first ten of each place:
///
/// ```text
/// 1002 tasks: 2 run, 0 are ready, 1000 wait
/// 1000 spawned at src/main.rs:41:9
///   task 12: waits to read from 127.0.0.1:50112 (descriptor 9); 3 polls, the last 0.2 s ago
///   task 13 "upload": waits to write to 127.0.0.1:50114 (descriptor 10); 9 polls, the last 1.0 s ago
///   ... and 998 more
/// 2 spawned at src/main.rs:60:5
///   task 3: waits for task 12; 1 poll, the last 7.5 s ago
///   task 4: runs on worker 1; 18 polls, the last 0.0 s ago
/// the future of block_on: waits for task 3
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Dump {
    /// The tasks, by where they were spawned and by their numbers.
    pub tasks: Vec<TaskView>,
    /// The future of [`block_on`](crate::block_on) that worker 0 runs besides tasks, if it does. Those
    /// of others who block on the runtime meanwhile are not shown.
    pub root: Option<RootView>,
}

/// The future of [`block_on`](crate::block_on) in a [`Dump`].
///
/// # Examples
///
/// ```
/// use windlass_executor::{Handle, TaskState, block_on};
///
/// let dump = block_on(async { Handle::current().dump() });
/// assert_eq!(dump.root.unwrap().state, TaskState::Running { worker: Some(0) });
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RootView {
    /// What it is doing.
    pub state: TaskState,
    /// What it waits for, if it is idle. Several of these, if it waits for several at a time.
    pub waits_for: Vec<WaitingFor>,
}

/// A task in a [`Dump`].
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TaskView {
    /// Its number.
    #[cfg_attr(feature = "serde", serde(serialize_with = "shown::number"))]
    pub id: Id,
    /// Its name, if it has one.
    pub name: Option<Cow<'static, str>>,
    /// The call that spawned it.
    #[cfg_attr(feature = "serde", serde(serialize_with = "shown::text"))]
    pub spawned_at: &'static Location<'static>,
    /// It is a job of `spawn_blocking`.
    pub is_blocking: bool,
    /// What it is doing.
    pub state: TaskState,
    /// How often it was polled; wraps around after four thousand million.
    pub polls: u32,
    /// How long ago its last poll began, to some milliseconds; `None` if there was none.
    pub last_poll: Option<Duration>,
    /// How long its polls took, if [`Builder::task_times`](crate::Builder::task_times) says so.
    pub busy: Duration,
    /// What it waits for, if it is idle. Several of these, if it waits for several at a time.
    pub waits_for: Vec<WaitingFor>,
}

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum TaskState {
    /// It is being polled.
    Running {
        /// By which worker, if that is known: a job runs on a thread of its own.
        worker: Option<usize>,
    },
    /// It was spawned or woken, and waits for a thread.
    Ready,
    /// It waits for something.
    Idle,
    /// It is over.
    Complete,
}

/// What a task waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum WaitingFor {
    /// Data to read.
    Read(Endpoint),
    /// Room to write, or a connection that is being made.
    Write(Endpoint),
    /// Urgent data.
    Urgent(Endpoint),
    /// A connection to accept.
    Accept(Endpoint),
    /// A timer.
    Sleep {
        /// How long it is until it is due.
        left: Duration,
    },
    /// The end of another task.
    Task {
        /// The number of that task.
        #[cfg_attr(feature = "serde", serde(serialize_with = "shown::number"))]
        id: Id,
        /// It is a job of `spawn_blocking`.
        is_blocking: bool,
    },
    /// Something that neither a reactor nor a task knows of, as a channel.
    Other,
}

/// A descriptor that is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Endpoint {
    /// Its number.
    pub descriptor: RawFd,
    /// Its own address, if it is a socket with an Internet address.
    pub local: Option<SocketAddr>,
    /// The address at the other end, if there is one.
    pub peer: Option<SocketAddr>,
}

impl Runtime {
    /// Shows all tasks and what they wait for; as [`Handle::dump`].
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = windlass_executor::Runtime::builder().workers(1).build()?;
    /// let task = runtime.spawn(std::future::pending::<()>());
    /// assert_eq!(runtime.dump().tasks[0].id, task.id());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn dump(&self) -> Dump {
        self.handle().dump()
    }
}

impl Handle {
    /// Shows all tasks and what they wait for. Any thread may ask, also a task.
    ///
    /// It takes some microseconds for each task, during which the workers go on: a lock that they
    /// need is held only while a list is copied.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::{Handle, TaskState, block_on, spawn};
    ///
    /// block_on(async {
    ///     let task = spawn(async { Handle::current().dump() });
    ///     let dump = task.await.unwrap();
    ///     assert_eq!(dump.tasks[0].state, TaskState::Running { worker: Some(0) });
    /// });
    /// ```
    pub fn dump(&self) -> Dump {
        let shared = &*self.shared;
        let mut found = Vec::new();
        shared.for_each_list(|list, _| list.look(|sight| found.push((sight, false))));
        shared.pool.look(|sight| found.push((sight, true)));
        let mut waits = Waits::of(shared, &found);
        let root = shared.posts[0].root();
        let root = root.map(|root| RootView::of(&root, &mut waits));
        let mut tasks: Vec<_> = found
            .into_iter()
            .map(|(sight, is_blocking)| shared.view(sight, is_blocking, &mut waits))
            .collect();
        tasks.sort_by_key(|task| {
            let place = task.spawned_at;
            (place.file(), place.line(), place.column(), task.id)
        });
        Dump { tasks, root }
    }
}

/// What is waited for, by who waits.
struct Waits {
    on_reactors: HashMap<usize, Vec<WaitingFor>>,
    for_tasks: HashMap<Mark, Vec<WaitingFor>>,
}

impl Waits {
    fn of(shared: &Shared, found: &[(Sight, bool)]) -> Self {
        let mut waits = Self {
            on_reactors: HashMap::new(),
            for_tasks: HashMap::new(),
        };
        let fallback = ReactorHandle::fallback();
        for wait in shared
            .workers
            .iter()
            .chain(&fallback)
            .flat_map(ReactorHandle::waits)
        {
            let of_task = waits.on_reactors.entry(wait.waker).or_default();
            of_task.push(WaitingFor::new(&wait.waits_for));
        }
        for (sight, is_blocking) in found {
            if let Some(joiner) = sight.joiner {
                let of_task = waits.for_tasks.entry(joiner).or_default();
                of_task.push(WaitingFor::Task {
                    id: sight.id,
                    is_blocking: *is_blocking,
                });
            }
        }
        waits
    }

    /// Takes what is waited for by the task, or root future, at `address`.
    fn take(&mut self, address: usize) -> Vec<WaitingFor> {
        let mut all = self.on_reactors.remove(&address).unwrap_or_default();
        all.extend(
            self.for_tasks
                .remove(&Mark::of(address))
                .into_iter()
                .flatten(),
        );
        if all.is_empty() {
            all.push(WaitingFor::Other);
        }
        all
    }
}

impl RootView {
    fn of(root: &Arc<Root>, waits: &mut Waits) -> Self {
        let state = if root.is_running() {
            TaskState::Running { worker: Some(0) }
        } else if root.is_due() {
            TaskState::Ready
        } else {
            TaskState::Idle
        };
        let waits_for = match state {
            TaskState::Idle => waits.take(Arc::as_ptr(root).addr()),
            _ => Vec::new(),
        };
        Self { state, waits_for }
    }
}

impl WaitingFor {
    /// Says that a task is waited for; to compare with.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::{Handle, WaitingFor, block_on, spawn, yield_now};
    ///
    /// block_on(async {
    ///     let last = spawn(std::future::pending::<()>());
    ///     let id = last.id();
    ///     let first = spawn(last);
    ///     yield_now().await;
    ///     let dump = Handle::current().dump();
    ///     let first = dump.tasks.iter().find(|task| task.id == first.id()).unwrap();
    ///     assert_eq!(first.waits_for, [WaitingFor::task(id, false)]);
    /// });
    /// ```
    pub fn task(id: Id, is_blocking: bool) -> Self {
        Self::Task { id, is_blocking }
    }

    fn new(waits_for: &WaitsFor) -> Self {
        match *waits_for {
            WaitsFor::Timer { left, .. } => Self::Sleep { left },
            WaitsFor::Descriptor {
                number,
                direction,
                local,
                peer,
                is_listening,
                ..
            } => {
                let endpoint = Endpoint {
                    descriptor: number,
                    local,
                    peer,
                };
                match direction {
                    Direction::Read if is_listening => Self::Accept(endpoint),
                    Direction::Read => Self::Read(endpoint),
                    Direction::Write => Self::Write(endpoint),
                    Direction::Priority => Self::Urgent(endpoint),
                }
            }
            _ => Self::Other,
        }
    }
}

impl Shared {
    /// Shows all lists of tasks that workers run; and for those of one worker, which.
    pub(crate) fn for_each_list(&self, mut look: impl FnMut(&List, Option<usize>)) {
        for list in &self.tasks {
            look(list, None);
        }
        for (worker, place) in self.places.iter().enumerate() {
            look(place.tasks(), Some(worker));
        }
        for pinned in self.pinned_sets() {
            look(&pinned.tasks, None);
        }
    }

    fn view(&self, sight: Sight, is_blocking: bool, waits: &mut Waits) -> TaskView {
        let state = match sight.stage {
            Stage::Running if is_blocking => TaskState::Running { worker: None },
            Stage::Running => TaskState::Running {
                worker: self.who_runs(sight.id),
            },
            Stage::Ready => TaskState::Ready,
            Stage::Idle => TaskState::Idle,
            Stage::Complete => TaskState::Complete,
        };
        let waits_for = match state {
            TaskState::Idle => waits.take(sight.address),
            _ => Vec::new(),
        };
        TaskView {
            id: sight.id,
            spawned_at: sight.spawned_at,
            is_blocking,
            state,
            polls: sight.polls,
            last_poll: (sight.polls > 0).then(|| self.ticks.since(sight.last_poll)),
            busy: sight.busy,
            waits_for,
            name: sight.name,
        }
    }

    /// Finds the worker that runs a task: one of several shows that.
    fn who_runs(&self, task: Id) -> Option<usize> {
        if self.workers.len() == 1 {
            return Some(0);
        }
        (0..self.workers.len()).find(|worker| {
            self.lanes[*worker].polls() % 2 == 1 && self.posts[*worker].runs() == Some(task)
        })
    }
}
