//! How a runtime is made.

use super::{Runtime, Shared, thread};
use crate::block::Seat;
use crate::blocking::{Limits, Pool};
use crate::handle::Handle;
use crate::idle::Idle;
use crate::queue::{Own, SharedQueue};
use crate::sync::Mutex;
use crate::task::Runnable;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
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
    thread_name: String,
    thread_stack_size: Option<usize>,
    blocking: Limits,
    budget: Budget,
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
            thread_name: "windlass".to_owned(),
            thread_stack_size: None,
            blocking: Limits::default(),
            budget: Budget::default(),
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
    /// It takes a runtime with one worker, which is what it has unless another number is set.
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
        self.thread_name = name.into();
        self
    }

    /// Sets the stack size of the worker threads, in bytes; that of the standard library unless
    /// set.
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
        self.thread_stack_size = Some(bytes);
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

    /// Makes the runtime and starts its threads.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if a number is out of its range, or an environment variable holds an unknown
    /// name; the system's error if the back end doesn't work here, or if there are no descriptors
    /// or threads left.
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
            .map(|_| Own::new(workers, queue.clone()))
            .collect();
        let shared = Arc::new(Shared {
            queue,
            lanes: own.iter().map(|own| own.lane().clone()).collect(),
            tasks: Default::default(),
            idle: Idle::new(workers),
            workers: reactors
                .iter()
                .map(|reactor| reactor.handle().clone())
                .collect(),
            seat: Mutex::new(None),
            pool: Arc::new(Pool::new(self.thread_name.clone(), self.blocking)),
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
        Ok(runtime)
    }

    fn check(&self) -> io::Result<usize> {
        let workers = match self.workers {
            Some(workers) => workers,
            None if self.paused_clock => 1,
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
        if self.blocking.most_threads == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "0 threads for spawn_blocking were asked for; it must be at least 1",
            ));
        }
        if self.thread_name.contains('\0') {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the name for the threads contains a zero byte; the system can't take it",
            ));
        }
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

    fn start_worker(
        &self,
        shared: &Arc<Shared>,
        index: usize,
        reactor: Reactor,
        ready: Own<Runnable>,
    ) -> io::Result<()> {
        let name = format!("{}-{index}", self.thread_name);
        let mut builder = std::thread::Builder::new().name(name);
        if let Some(bytes) = self.thread_stack_size {
            builder = builder.stack_size(bytes);
        }
        let runtime = shared.clone();
        shared.lifecycle.start();
        let started = builder.spawn(move || thread::run(runtime, index, reactor, ready));
        if started.is_err() {
            shared.lifecycle.give_up();
        }
        started.map(drop)
    }
}
