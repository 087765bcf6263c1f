//! Making a runtime of what was chosen.

use super::Builder;
use crate::block::Seat;
use crate::blocking::Pool;
use crate::handle::Handle;
use crate::idle::Idle;
use crate::queue::{Own, SharedQueue};
use crate::runtime::panics::Panics;
use crate::runtime::{Runtime, Shared, thread};
use crate::seed::Lots;
use crate::sync::Mutex;
use crate::task::{PLACED, Runnable, Ticks};
use crate::watch::{Post, Watch};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use windlass_reactor::{Poller, Process, Reactor};

impl Builder {
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
        let shared = Arc::new(self.shared(queue, &reactors, &own));
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

    /// Makes what the workers have in common.
    fn shared(
        &self,
        queue: Arc<SharedQueue<Runnable>>,
        reactors: &[Reactor],
        own: &[Own<Runnable>],
    ) -> Shared {
        let workers = reactors.len();
        Shared {
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
        }
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
            return Err(invalid(format!(
                "{workers} workers were asked for; it must be 1 to {}, or left out for one per \
                 processor",
                Self::MAX_WORKERS
            )));
        }
        if self.paused_clock && workers > 1 {
            return Err(invalid(format!(
                "{workers} workers were asked for; a paused clock takes exactly 1"
            )));
        }
        if self.seed.is_some() && workers > 1 {
            return Err(invalid(format!(
                "{workers} workers were asked for; a seed takes exactly 1"
            )));
        }
        if self.blocking.most_threads == 0 {
            return Err(invalid(
                "0 threads for spawn_blocking were asked for; it must be at least 1".into(),
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

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
