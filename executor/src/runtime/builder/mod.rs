//! How a runtime is made: what can be chosen (here, and of its threads in `threads.rs`), and what is done
//! then (`build.rs`).

mod build;
mod threads;

use super::affinity::Affinity;
use super::hooks::Hooks;
use super::names::ThreadNames;
use super::panics::TaskPanic;
use crate::blocking::Limits;
use crate::watch::{Hook as StallHook, Stall};
use windlass_reactor::Backend;
use windlass_reactor::budget::Budget;

/// Chooses how a [`Runtime`](crate::Runtime) is made.
///
/// # Examples
///
/// ```
/// use windlass_executor::Runtime;
///
/// let runtime = Runtime::builder().workers(2).thread_name("server").build()?;
/// # drop(runtime);
/// let error = Runtime::builder().workers(0).build().unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    workers: Option<usize>,
    backend: Option<Backend>,
    paused_clock: bool,
    thread_names: ThreadNames,
    blocking: Limits,
    hooks: Hooks,
    task_panic: TaskPanic,
    affinity: Affinity,
    is_stealing: bool,
    is_timed: bool,
    on_stall: Option<StallHook>,
    budget: Budget,
    seed: Option<u64>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// The most workers that a runtime can have.
    pub const MAX_WORKERS: usize = 1024;

    /// Begins with a worker for each processor, on the fastest back end.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = windlass_executor::Builder::new().build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new() -> Self {
        Self {
            workers: None,
            backend: None,
            paused_clock: false,
            thread_names: ThreadNames::default(),
            blocking: Limits::default(),
            hooks: Hooks::default(),
            task_panic: TaskPanic::default(),
            affinity: Affinity::default(),
            is_stealing: true,
            is_timed: false,
            on_stall: None,
            budget: Budget::default(),
            seed: None,
        }
    }

    /// Sets the number of workers, 1 to [`Builder::MAX_WORKERS`]. One of them is the thread that
    /// calls [`Runtime::block_on`](crate::Runtime::block_on): with 1 there is no thread at all.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::thread;
    /// use windlass_executor::{Runtime, spawn};
    ///
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// let of_a_task = || async { spawn(async { thread::current().id() }).await };
    /// assert_eq!(runtime.block_on(of_a_task())?, thread::current().id());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Chooses the readiness mechanism, whatever the environment says.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    /// use windlass_reactor::Backend;
    ///
    /// let runtime = Runtime::builder().backend(Backend::Poll).build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = Some(backend);
        self
    }

    /// Pauses the clock of the runtime, for tests: sleeps, timeouts and intervals take no time.
    ///
    /// The clock stands, until every task waits, nobody waits for a descriptor, and no closure of
    /// `spawn_blocking` is queued or runs; then it moves to the earliest deadline by itself. What
    /// exactly holds it, and how it is moved by hand, is told by
    /// [`windlass_reactor::time`](windlass_reactor::time#paused-clocks).
    ///
    /// It takes a runtime with one worker, which is what it has unless another number is set; with
    /// several, the order of what happens at one time would be left to chance, and `build` refuses it.
    /// Whoever calls [`Runtime::block_on`](crate::Runtime::block_on) while another thread is inside
    /// has the real clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use windlass_executor::Runtime;
    /// use windlass_reactor::time;
    ///
    /// let runtime = Runtime::builder().paused_clock().build()?;
    /// let began = Instant::now();
    /// runtime.block_on(async {
    ///     let begin = time::now();
    ///     time::sleep(Duration::from_secs(3600)).await;
    ///     assert_eq!(time::now() - begin, Duration::from_secs(3600));
    /// });
    /// assert!(began.elapsed() < Duration::from_secs(3600));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn paused_clock(mut self) -> Self {
        self.paused_clock = true;
        self
    }

    /// Says whether it is measured how long polls take: two looks at the clock for each. It is not
    /// unless set.
    ///
    /// [`Runtime::metrics`](crate::Runtime::metrics) shows it for each worker,
    /// [`Runtime::dump`](crate::Runtime::dump) for each task.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass_executor::{Runtime, spawn};
    ///
    /// let runtime = Runtime::builder().workers(1).task_times(true).build()?;
    /// runtime.block_on(async {
    ///     spawn(async { std::thread::sleep(Duration::from_millis(2)) }).await
    /// })?;
    /// assert!(runtime.metrics().total().busy >= Duration::from_millis(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn task_times(mut self, measured: bool) -> Self {
        self.is_timed = measured;
        self
    }

    /// Sets how many operations a task may do in one poll before it has to give way, at least 1; 64
    /// unless set. See [`windlass_reactor::budget`].
    ///
    /// More of them have a task with much to do go on for longer, and the others wait for longer.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().budget(16).build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn budget(mut self, operations: u32) -> Self {
        self.budget = Budget::of(operations);
        self
    }

    /// Sets what happens when a task panics: whoever joins it learns of that, and by default
    /// nothing else happens.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::panic::{AssertUnwindSafe, catch_unwind};
    /// use windlass_executor::{Runtime, TaskPanic, spawn};
    ///
    /// let runtime = Runtime::builder().workers(1).on_task_panic(TaskPanic::ShutDown).build()?;
    /// let panic = catch_unwind(AssertUnwindSafe(|| {
    ///     runtime.block_on(async {
    ///         drop(spawn(async { panic!("no bread") }));
    ///         std::future::pending::<()>().await
    ///     })
    /// }));
    /// let message = *panic.unwrap_err().downcast::<String>().unwrap();
    /// assert!(message.contains("no bread"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn on_task_panic(mut self, choice: TaskPanic) -> Self {
        self.task_panic = choice;
        self
    }

    /// Chooses whether tasks go from busy workers to free ones; they do unless this says otherwise.
    ///
    /// If they don't, a task stays on the worker whose task has spawned it, as with
    /// [`spawn_on`](crate::spawn_on), and what is spawned from elsewhere goes to the worker threads
    /// in turn: a thread per core. Then no task waits for the memory of another processor, but a
    /// busy worker is not helped.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::thread;
    /// use windlass_executor::{Runtime, spawn};
    ///
    /// let runtime = Runtime::builder().workers(2).stealing(false).build()?;
    /// runtime.block_on(async {
    ///     let here = thread::current().id();
    ///     assert!(spawn(async move { thread::current().id() == here }).await.unwrap());
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn stealing(mut self, choice: bool) -> Self {
        self.is_stealing = choice;
        self
    }

    /// Has `hook` told of each worker that runs one thing for more than some 10 milliseconds: once
    /// when that is noticed, and once [when it is over](Stall::is_over).
    ///
    /// It is called on the thread that helps where a worker is stuck, so that while it runs nobody
    /// does. A panic of it goes no further. Without a hook there is such a thread as well, but not
    /// with one worker, where it could do nothing but tell.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder()
    ///     .on_stall(|stall| eprintln!("{stall}"))
    ///     .build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn on_stall(mut self, hook: impl Fn(&Stall) + Send + Sync + 'static) -> Self {
        self.on_stall = Some(StallHook::new(hook));
        self
    }

    /// Has the order in which ready tasks run be drawn by lot, the same with the same seed: for tests
    /// that look for mistakes which show in some orders only.
    ///
    /// Each time, the next task is any of those that are ready, whatever has made them so, instead
    /// of the one that was first; and after how many tasks the future of `block_on` has its turn is
    /// drawn as well. A run that fails can be repeated with its seed, from a new runtime.
    ///
    /// That holds for what happens within the runtime. What comes from outside comes when it comes:
    /// I/O, signals, and what other threads do, those of `spawn_blocking` included. So do timers,
    /// unless the clock is [paused](Self::paused_clock). Orders may differ between versions.
    ///
    /// It takes a runtime with one worker, which is what it has unless another number is set.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use windlass_executor::{JoinSet, Runtime};
    ///
    /// let order = |seed| {
    ///     let runtime = Runtime::builder().seed(seed).build().unwrap();
    ///     let order = Arc::new(Mutex::new(Vec::new()));
    ///     runtime.block_on(async {
    ///         let mut tasks = JoinSet::new();
    ///         for number in 0..20 {
    ///             let order = order.clone();
    ///             tasks.spawn(async move { order.lock().unwrap().push(number) });
    ///         }
    ///         while tasks.join_next().await.is_some() {}
    ///     });
    ///     order.lock().unwrap().clone()
    /// };
    /// assert_eq!(order(1), order(1));
    /// assert_ne!(order(1), order(2));
    /// ```
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }
}
