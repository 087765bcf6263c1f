//! Tasks that stay on one thread: those that aren't `Send`.
//!
//! They belong to the pair of a thread and a runtime. A worker thread has one such set for its
//! life; the thread that calls `block_on` gets one with its first call, and keeps it until the
//! runtime is dropped or the thread ends. They run while the thread is inside the runtime, and
//! their futures are dropped on it.

use crate::context;
use crate::queue::{Line, TaskList};
use crate::runtime::Shared;
use crate::sync::Mutex;
use crate::task::{Runnable, Schedule, Slot, Task};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use windlass_reactor::Process;

/// The tasks of one thread; reached by the wakers of them from any.
pub(crate) struct Pinned {
    pub(crate) tasks: TaskList,
    /// Tasks that were woken by other threads.
    inbox: Mutex<VecDeque<Runnable>>,
    /// The inbox has something, so that looking takes no lock. Written under its lock.
    has_mail: AtomicBool,
    /// The worker that the thread is at the moment, if it is one.
    host: Mutex<Option<(Weak<Shared>, usize)>>,
    /// Whose thread it is.
    process: Process,
}

impl Pinned {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            tasks: TaskList::default(),
            inbox: Mutex::default(),
            has_mail: AtomicBool::new(false),
            host: Mutex::default(),
            process: Process::current(),
        })
    }

    /// Says whether the tasks are those of a process that has forked into this one.
    pub(crate) fn is_inherited(&self) -> bool {
        !self.process.is_current()
    }

    /// The thread runs tasks from now on, as this worker.
    pub(crate) fn arrive(&self, shared: &Arc<Shared>, worker: usize) {
        *self.host.lock() = Some((Arc::downgrade(shared), worker));
    }

    /// The thread runs no tasks any more.
    pub(crate) fn leave(&self) {
        *self.host.lock() = None;
    }

    pub(crate) fn has_mail(&self) -> bool {
        self.has_mail.load(Ordering::SeqCst)
    }

    /// Takes the first of what came in, and moves up to `more` others to `queue`.
    pub(crate) fn take_mail(&self, more: usize, queue: &mut Line<Runnable>) -> Option<Runnable> {
        if !self.has_mail() {
            return None;
        }
        let mut inbox = self.inbox.lock();
        let first = inbox.pop_front();
        let more = more.min(inbox.len());
        queue.extend(inbox.drain(..more));
        self.has_mail.store(!inbox.is_empty(), Ordering::SeqCst);
        first
    }

    /// Keeps tasks that were not run for the next time.
    pub(crate) fn keep(&self, runnables: Line<Runnable>) {
        if !runnables.is_empty() {
            let mut inbox = self.inbox.lock();
            inbox.extend(runnables);
            self.has_mail.store(true, Ordering::SeqCst);
        }
    }

    fn send(&self, runnable: Runnable) {
        let mut inbox = self.inbox.lock();
        inbox.push_back(runnable);
        self.has_mail.store(true, Ordering::SeqCst);
        drop(inbox);
        let host = self.host.lock().clone();
        if let Some((shared, worker)) = host {
            if let Some(shared) = shared.upgrade() {
                shared.wake_worker(worker);
            }
        }
    }

    /// Ends all tasks. Called on their thread, with no task of it running.
    pub(crate) fn close(&self) {
        self.tasks.close();
        let late = std::mem::take(&mut *self.inbox.lock());
        drop(late);
    }
}

/// Sends pinned tasks home.
#[derive(Clone)]
pub(crate) struct ToThread(pub(crate) Arc<Pinned>);

impl Schedule for ToThread {
    fn schedule(&self, runnable: Runnable) {
        if let Some(runnable) = context::push_pinned(&self.0, runnable) {
            self.0.send(runnable);
        }
    }

    fn release(&self, slot: Slot) -> Option<Task> {
        self.0.tasks.remove(slot)
    }
}

/// The set that a thread has for one runtime, when it isn't a worker of it for life.
struct Visit {
    runtime: Weak<Shared>,
    pinned: Arc<Pinned>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        if self.pinned.is_inherited() {
            // What the tasks hold is for the parent to close.
            std::mem::forget(self.pinned.clone());
        } else {
            self.pinned.close();
        }
    }
}

thread_local! {
    static VISITS: RefCell<Vec<Visit>> = const { RefCell::new(Vec::new()) };
}

/// Returns the tasks that this thread has with `shared`; ends those of runtimes that are gone.
///
/// Where thread-locals are being destroyed there is no list to keep them in: they have to be
/// [closed](close_if_unlisted) before the thread leaves.
pub(crate) fn of_this_thread(shared: &Arc<Shared>) -> Arc<Pinned> {
    let known = VISITS.try_with(|visits| {
        let visits = visits.borrow();
        let mut of_shared = visits.iter().filter(|visit| is_of(visit, shared));
        of_shared.next().map(|visit| visit.pinned.clone())
    });
    known.ok().flatten().unwrap_or_else(|| {
        forget_if(|visit| visit.runtime.strong_count() == 0);
        let pinned = Pinned::new();
        let _ = VISITS.try_with(|visits| {
            visits.borrow_mut().push(Visit {
                runtime: Arc::downgrade(shared),
                pinned: pinned.clone(),
            });
        });
        pinned
    })
}

/// Ends the tasks of a thread that can't keep them for its next visit.
pub(crate) fn close_if_unlisted(pinned: &Pinned) {
    if VISITS.try_with(|_| ()).is_err() {
        pinned.close();
    }
}

/// Ends the tasks that this thread has with `shared`, which is being shut down.
pub(crate) fn end_visit(shared: &Arc<Shared>) {
    forget_if(|visit| is_of(visit, shared));
}

/// Forgets visits. Their tasks are dropped when nothing is borrowed any more, as that runs code of
/// users.
fn forget_if(is_over: impl Fn(&Visit) -> bool) {
    // A thread that is ending has forgotten them all.
    let over: Vec<Visit> = VISITS
        .try_with(|visits| {
            let (over, going_on) = visits.take().into_iter().partition(is_over);
            visits.replace(going_on);
            over
        })
        .unwrap_or_default();
    drop(over);
}

fn is_of(visit: &Visit, shared: &Arc<Shared>) -> bool {
    std::ptr::eq(visit.runtime.as_ptr(), Arc::as_ptr(shared))
}
