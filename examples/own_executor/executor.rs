//! All there is to an executor for one thread.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use windlass::reactor::{Handle, Reactor};

/// Runs tasks on the thread that calls [`Executor::run_until`].
pub(crate) struct Executor {
    reactor: Reactor,
    pub(crate) ready: Arc<Ready>,
}

/// The tasks that are to be polled.
pub(crate) struct Ready {
    queue: Mutex<VecDeque<Arc<Task>>>,
    /// Ends the turn of the thread that polls them.
    handle: Handle,
}

struct Task {
    /// Nothing once it is done.
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    is_queued: AtomicBool,
    ready: Arc<Ready>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::AcqRel) {
            lock(&self.ready.queue).push_back(self.clone());
            // It makes a system call only if the other thread is in a turn. If that fails, the
            // descriptors of the process are beyond help.
            let _ = self.ready.handle.notify();
        }
    }
}

impl Task {
    fn poll(self: Arc<Self>) {
        self.is_queued.store(false, Ordering::Release);
        let waker = Waker::from(self.clone());
        let mut place = lock(&self.future);
        if let Some(future) = &mut *place {
            if future
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_ready()
            {
                *place = None;
            }
        }
    }
}

impl Executor {
    pub(crate) fn new() -> io::Result<Self> {
        let reactor = Reactor::new()?;
        let queue = Mutex::default();
        let handle = reactor.handle().clone();
        let ready = Arc::new(Ready { queue, handle });
        Ok(Self { reactor, ready })
    }

    /// Polls tasks until one of them sets `done`.
    pub(crate) fn run_until(mut self, done: &AtomicBool) -> io::Result<()> {
        let handle = self.reactor.handle().clone();
        // What the tasks wait for goes to this reactor.
        handle.enter(|| {
            loop {
                // What is woken meanwhile comes after a look at the descriptors.
                let batch = std::mem::take(&mut *lock(&self.ready.queue));
                batch.into_iter().for_each(Task::poll);
                if done.load(Ordering::Acquire) {
                    return Ok(());
                }
                let is_busy = !lock(&self.ready.queue).is_empty();
                self.reactor.turn(is_busy.then_some(Duration::ZERO))?;
            }
        })
    }
}

/// Has the executor run `future`.
pub(crate) fn spawn(ready: &Arc<Ready>, future: impl Future<Output = ()> + Send + 'static) {
    let task = Task {
        future: Mutex::new(Some(Box::pin(future))),
        is_queued: AtomicBool::new(false),
        ready: ready.clone(),
    };
    Arc::new(task).wake();
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
