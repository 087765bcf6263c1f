//! How a runtime is made.

use super::affinity::Affinity;
use super::hooks::{Hook, Hooks};
use super::names::ThreadNames;
use super::panics::{Panics, TaskPanic};
use super::{Runtime, Shared, thread};
use crate::block::Seat;
use crate::blocking::{Limits, Pool};
use crate::handle::Handle;
use crate::idle::Idle;
use crate::queue::{Own, SharedQueue};
use crate::seed::Lots;
use crate::sync::Mutex;
use crate::task::{PLACED, Runnable, Ticks};
use crate::watch::{Hook as StallHook, Post, Stall, Watch};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;
use windlass_reactor::budget::Budget;
use windlass_reactor::{Backend, Poller, Process, Reactor};

/// Chooses how a [`Runtime`] is made.
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
    /// calls [`Runtime::block_on`]: with 1 there is no thread at all.
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
    /// Whoever calls [`Runtime::block_on`] while another thread is inside has the real clock.
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

    /// Sets the name of the threads, which a number follows; "windlass" unless set.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().workers(1).thread_name("shop").build()?;
    /// let name = || std::thread::current().name().map(str::to_owned);
    /// let job = runtime.handle().spawn_blocking(name);
    /// assert_eq!(job.wait()?.as_deref(), Some("shop-blocking-0"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn thread_name(mut self, name: impl Into<String>) -> Self {
        self.thread_names = ThreadNames::Numbered(name.into());
        self
    }

    /// Sets how the worker threads are named: `name` gets the number of the worker, from 1 up.
    /// Threads of `spawn_blocking` are named "windlass-blocking-" and a number.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::thread;
    /// use windlass_executor::Runtime;
    ///
    /// let name = |worker| format!("{worker}nd worker");
    /// let runtime = Runtime::builder().workers(3).thread_name_fn(name).build()?;
    /// let task = runtime.handle().spawn_on(2, async { thread::current().name() == Some("2nd worker") });
    /// assert!(task.wait()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn thread_name_fn(
        mut self,
        name: impl Fn(usize) -> String + Send + Sync + 'static,
    ) -> Self {
        self.thread_names = ThreadNames::Function(Arc::new(name));
        self
    }

    /// Says whether it is measured how long polls take: two looks at the clock for each. It is not
    /// unless set.
    ///
    /// [`Runtime::metrics`] shows it for each worker, [`Runtime::dump`] for each task.
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

    /// Sets the stack size of the worker threads and of those of `spawn_blocking`, in bytes; that of
    /// the standard library unless set.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().workers(2).thread_stack_size(8 << 20).build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn thread_stack_size(mut self, bytes: usize) -> Self {
        self.blocking.stack_size = Some(bytes);
        self
    }

    /// Sets how many threads `spawn_blocking` uses at the most, at least 1; 512 unless set. More
    /// jobs than that wait, and a job that waits for another one may wait for ever.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().blocking_threads(4).build()?;
    /// # drop(runtime);
    /// let error = Runtime::builder().blocking_threads(0).build().unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn blocking_threads(mut self, most: usize) -> Self {
        self.blocking.most_threads = most;
        self
    }

    /// Sets how long a thread of `spawn_blocking` stays without a job; 10 seconds unless set.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().blocking_keep_alive(Duration::from_secs(1)).build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn blocking_keep_alive(mut self, keep_alive: Duration) -> Self {
        self.blocking.keep_alive = keep_alive;
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

    /// Sets what each thread of the runtime calls when it begins: workers and those of
    /// `spawn_blocking`, but not the thread that calls `block_on`.
    ///
    /// A panic of this or of another such function ends the call and has no other effect.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().on_thread_start(|| println!("one more")).build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn on_thread_start(mut self, function: impl Fn() + Send + Sync + 'static) -> Self {
        self.hooks.start = Hook::new(function);
        self
    }

    /// Sets what each thread of the runtime calls before it ends, after its last task.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().on_thread_stop(|| println!("one less")).build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn on_thread_stop(mut self, function: impl Fn() + Send + Sync + 'static) -> Self {
        self.hooks.stop = Hook::new(function);
        self
    }

    /// Sets what a worker calls before it sleeps, as it has nothing to do: also the one that is the
    /// thread in `block_on`. What the function spawns or wakes may be seen only after that sleep.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use std::time::Duration;
    /// use windlass_executor::Runtime;
    /// use windlass_reactor::time::sleep;
    ///
    /// let sleeps = Arc::new(AtomicUsize::new(0));
    /// let count = sleeps.clone();
    /// let counts = move || {
    ///     count.fetch_add(1, Ordering::Relaxed);
    /// };
    /// let runtime = Runtime::builder().workers(1).on_thread_park(counts).build()?;
    /// runtime.block_on(sleep(Duration::from_millis(1)));
    /// assert!(sleeps.load(Ordering::Relaxed) >= 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn on_thread_park(mut self, function: impl Fn() + Send + Sync + 'static) -> Self {
        self.hooks.park = Hook::new(function);
        self
    }

    /// Sets what a worker calls after it has slept.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().on_thread_unpark(|| println!("awake")).build()?;
    /// # drop(runtime);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn on_thread_unpark(mut self, function: impl Fn() + Send + Sync + 'static) -> Self {
        self.hooks.unpark = Hook::new(function);
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

    /// Sets on which processors each worker thread may run: `processors` gets the number of the
    /// worker, from 1 up. Worker 0 is whoever calls `block_on`, and goes where it likes.
    ///
    /// Works on Linux and Android; elsewhere [`build`](Self::build) fails with `Unsupported`, if
    /// there is a worker thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let made = Runtime::builder().workers(2).cpu_affinity(|worker| vec![worker - 1]).build();
    /// if let Err(error) = made {
    ///     // Where the process may not use processor 0.
    ///     eprintln!("{error}");
    /// }
    /// ```
    #[must_use]
    pub fn cpu_affinity(
        mut self,
        processors: impl Fn(usize) -> Vec<usize> + Send + Sync + 'static,
    ) -> Self {
        self.affinity = Affinity(Some(Arc::new(processors)));
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

    /// Makes the runtime and starts its threads.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if a number is out of its range, or an environment variable holds an unknown
    /// name; the system's error if the back end doesn't work here, if there are no descriptors or
    /// threads left, or if a worker can't run on the processors that were chosen for it.
    ///
    /// # Examples
    ///
    /// ```
    /// use windlass_executor::Runtime;
    ///
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// assert_eq!(runtime.block_on(async { 5 }), 5);
    /// let error = Runtime::builder().workers(5000).build().unwrap_err();
    /// assert!(error.to_string().contains("1 to 1024"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn build(self) -> io::Result<Runtime> {
        let workers = self.check()?;
        let reactors = (0..workers)
            .map(|_| self.reactor())
            .collect::<io::Result<Vec<_>>>()?;
        let queue = Arc::new(SharedQueue::default());
        let own: Vec<_> = (0..workers)
            .map(|index| Own::new(index, workers, queue.clone()))
            .collect();
        let shared = Arc::new(Shared {
            queue,
            lanes: own.iter().map(|own| own.lane().clone()).collect(),
            tasks: (0..=workers).map(|_| Default::default()).collect(),
            idle: Idle::new(workers),
            workers: reactors
                .iter()
                .map(|reactor| reactor.handle().clone())
                .collect(),
            seat: Mutex::new(None),
            places: (0..workers).map(|_| Arc::default()).collect(),
            is_stealing: self.is_stealing,
            placed: if self.is_stealing { 0 } else { PLACED },
            turn: AtomicUsize::new(0),
            hooks: self.hooks.clone(),
            panics: Panics::new(self.task_panic),
            pool: Arc::new(Pool::new(self.thread_names.clone(), self.blocking)),
            posts: (0..workers).map(|_| Arc::new(Post::new())).collect(),
            watch: Watch::new(workers, self.on_stall.clone()),
            counters: (0..workers).map(|_| Arc::default()).collect(),
            pinned: Mutex::new(Vec::new()),
            ticks: Ticks::new(),
            is_timed: self.is_timed,
            lots: self.seed.map(Lots::new),
            budget: self.budget,
            process: Process::current(),
            lifecycle: Arc::default(),
            stopping: AtomicBool::new(false),
        });
        // From here on a failure stops what was started.
        let runtime = Runtime {
            handle: Handle {
                shared: shared.clone(),
            },
            is_shut_down: false,
        };
        for (index, (reactor, own)) in reactors.into_iter().zip(own).enumerate() {
            if index == 0 {
                *shared.seat.lock() = Some(Seat::new(reactor, own));
            } else {
                self.start_worker(&shared, index, reactor, own)?;
            }
        }
        if shared.watch.is_some() {
            self.start_watch(&shared)?;
        }
        Ok(runtime)
    }

    fn check(&self) -> io::Result<usize> {
        let workers = match self.workers {
            Some(workers) => workers,
            None if self.paused_clock || self.seed.is_some() => 1,
            None => std::thread::available_parallelism()?
                .get()
                .min(Self::MAX_WORKERS),
        };
        if !(1..=Self::MAX_WORKERS).contains(&workers) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "{workers} workers were asked for; it must be 1 to {}, or left out for one per processor",
                    Self::MAX_WORKERS
                ),
            ));
        }
        if self.paused_clock && workers > 1 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{workers} workers were asked for; a paused clock takes exactly 1"),
            ));
        }
        if self.seed.is_some() && workers > 1 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{workers} workers were asked for; a seed takes exactly 1"),
            ));
        }
        if self.blocking.most_threads == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "0 threads for spawn_blocking were asked for; it must be at least 1",
            ));
        }
        self.thread_names.check()?;
        Ok(workers)
    }

    fn reactor(&self) -> io::Result<Reactor> {
        let poller = match self.backend {
            Some(backend) => Poller::with_backend(backend)?,
            None => Poller::new()?,
        };
        Ok(if self.paused_clock {
            Reactor::with_paused_clock(poller)
        } else {
            Reactor::with_poller(poller)
        })
    }

    fn start_watch(&self, shared: &Arc<Shared>) -> io::Result<()> {
        let name = self.thread_names.of_watch();
        let runtime = shared.clone();
        shared.lifecycle.start_watch();
        let started = std::thread::Builder::new()
            .name(name)
            .spawn(move || thread::run_watch(runtime));
        if started.is_err() {
            shared.lifecycle.end();
        }
        started.map(drop)
    }

    fn start_worker(
        &self,
        shared: &Arc<Shared>,
        index: usize,
        reactor: Reactor,
        ready: Own<Runnable>,
    ) -> io::Result<()> {
        let mut builder = std::thread::Builder::new().name(self.thread_names.of_worker(index)?);
        if let Some(bytes) = self.blocking.stack_size {
            builder = builder.stack_size(bytes);
        }
        let (binding, bound) = self.affinity.of_worker(index);
        let runtime = shared.clone();
        shared.lifecycle.start();
        let run = move || thread::run(runtime, index, reactor, ready, binding);
        let started = builder.spawn(run);
        if started.is_err() {
            shared.lifecycle.give_up();
        }
        started?;
        bound.wait(index)
    }
}
