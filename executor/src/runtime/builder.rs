//! How a runtime is made.

use super::lifecycle::Lifecycle;
use super::{Runtime, Shared};
use crate::block::Seat;
use crate::blocking::{Limits, Pool};
use crate::context::{self, Context, Queues};
use crate::handle::Handle;
use crate::idle::Idle;
use crate::pinned::Pinned;
use crate::sync::Mutex;
use crate::worker::{Goal, Worker};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use windlass_reactor::{Backend, Reactor};

/// Chooses how a [`Runtime`] is made.
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
    thread_name: String,
    thread_stack_size: Option<usize>,
    blocking: Limits,
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
    pub fn new() -> Self {
        Self {
            workers: None,
            backend: None,
            thread_name: "windlass".to_owned(),
            thread_stack_size: None,
            blocking: Limits::default(),
        }
    }

    /// Sets the number of workers, 1 to [`Builder::MAX_WORKERS`]. One of them is the thread that
    /// calls [`Runtime::block_on`]: with 1 there is no thread at all.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Chooses the readiness mechanism, whatever the environment says.
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = Some(backend);
        self
    }

    /// Sets the name of the threads, which a number follows; "windlass" unless set.
    #[must_use]
    pub fn thread_name(mut self, name: impl Into<String>) -> Self {
        self.thread_name = name.into();
        self
    }

    /// Sets the stack size of the worker threads, in bytes; that of the standard library unless
    /// set.
    #[must_use]
    pub fn thread_stack_size(mut self, bytes: usize) -> Self {
        self.thread_stack_size = Some(bytes);
        self
    }

    /// Sets how many threads `spawn_blocking` uses at the most, at least 1; 512 unless set. More
    /// jobs than that wait.
    #[must_use]
    pub fn blocking_threads(mut self, most: usize) -> Self {
        self.blocking.most_threads = most;
        self
    }

    /// Sets how long a thread of `spawn_blocking` stays without a job; 10 seconds unless set.
    #[must_use]
    pub fn blocking_keep_alive(mut self, keep_alive: Duration) -> Self {
        self.blocking.keep_alive = keep_alive;
        self
    }

    /// Makes the runtime and starts its threads.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if a number is out of its range, or an environment variable holds an unknown
    /// name; the system's error if the back end doesn't work here, or if there are no descriptors
    /// or threads left.
    pub fn build(self) -> io::Result<Runtime> {
        let workers = self.check()?;
        let reactors = (0..workers)
            .map(|_| self.reactor())
            .collect::<io::Result<Vec<_>>>()?;
        let shared = Arc::new(Shared {
            queue: Default::default(),
            tasks: Default::default(),
            idle: Idle::new(workers),
            workers: reactors
                .iter()
                .map(|reactor| reactor.handle().clone())
                .collect(),
            seat: Mutex::new(None),
            pool: Arc::new(Pool::new(self.thread_name.clone(), self.blocking)),
            lifecycle: Lifecycle::default(),
            stopping: AtomicBool::new(false),
        });
        // From here on a failure stops what was started.
        let runtime = Runtime {
            handle: Handle {
                shared: shared.clone(),
            },
            is_shut_down: false,
        };
        for (index, reactor) in reactors.into_iter().enumerate() {
            if index == 0 {
                *shared.seat.lock() = Some(Seat::new(reactor));
            } else {
                self.start_worker(&shared, index, reactor)?;
            }
        }
        Ok(runtime)
    }

    fn check(&self) -> io::Result<usize> {
        let workers = match self.workers {
            Some(workers) => workers,
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
        if self.blocking.most_threads == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "0 threads for spawn_blocking were asked for; it must be at least 1",
            ));
        }
        Ok(workers)
    }

    fn reactor(&self) -> io::Result<Reactor> {
        match self.backend {
            Some(backend) => Reactor::with_backend(backend),
            None => Reactor::new(),
        }
    }

    fn start_worker(&self, shared: &Arc<Shared>, index: usize, reactor: Reactor) -> io::Result<()> {
        let name = format!("{}-{index}", self.thread_name);
        let mut thread = std::thread::Builder::new().name(name);
        if let Some(bytes) = self.thread_stack_size {
            thread = thread.stack_size(bytes);
        }
        let ending = Ending(shared.clone());
        shared.lifecycle.start();
        thread
            .spawn(move || run_worker(ending, index, reactor))
            .map(drop)
    }
}

/// Ends the part of a thread in the life of the runtime, also if it panics or never began.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.lifecycle.end();
    }
}

/// What a worker thread does, from beginning to end.
fn run_worker(ending: Ending, index: usize, reactor: Reactor) {
    let shared = ending.0.clone();
    let pinned = Pinned::new();
    pinned.arrive(&shared, index);
    let handle = reactor.handle().clone();
    let mut worker = Worker::new(shared.clone(), index, pinned.clone(), reactor);
    let context = Context {
        shared: shared.clone(),
        queues: Some(Queues::new(pinned.clone())),
    };
    let ((), context) = context::enter(context, || {
        handle.enter(|| {
            if catch_unwind(AssertUnwindSafe(|| worker.run(&mut Stop(&shared)))).is_err() {
                // Its reactor has failed, as the panic hook has said: the runtime can't go on.
                shared.stop();
            }
            pinned.leave();
            if shared.lifecycle.stop_together() {
                shared.end_tasks();
            }
            pinned.close();
        });
    });
    drop(context);
    drop(worker);
    drop(ending);
}

/// A worker thread runs until the runtime stops.
struct Stop<'a>(&'a Shared);

impl Goal for Stop<'_> {
    type Output = ();

    fn check(&mut self) -> Option<()> {
        self.is_due().then_some(())
    }

    fn is_due(&self) -> bool {
        self.0.is_stopping()
    }
}
