//! Tasks that stay on one thread: those that aren't `Send`.
//!
//! They belong to the pair of a thread and a runtime. A worker thread has one such set for its
//! life; the thread that calls `block_on` gets one with its first call, and keeps it until the
//! runtime is dropped or the thread ends. They run while the thread is inside the runtime, and
//! their futures are dropped on it.

use crate::context;
use crate::place::Place;
use crate::queue::Line;
use crate::runtime::Shared;
use crate::sync::Mutex;
use crate::task::{List, Listed, Runnable, Schedule, Task};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use windlass_reactor::Process;

/// The tasks of one thread; reached by the wakers of them from any.
pub(crate) struct Pinned {
    pub(crate) tasks: List,
    /// Tasks that were woken by other threads.
    inbox: Mutex<VecDeque<Runnable>>,
    /// Not 0 if the inbox has something, so that looking takes no lock. Written under its lock. A
    /// number, so that it can be looked at together with another one.
    mail: AtomicUsize,
    /// The worker that the thread is at the moment, if it is one.
    host: Mutex<Option<(Weak<Shared>, usize)>>,
    /// The place that goes with it, whose tasks run here meanwhile.
    place: Mutex<Option<Arc<Place>>>,
    /// The address of the place, only to be compared, so that looking takes no lock.
    place_address: AtomicUsize,
    /// Whose thread it is.
    process: Process,
}

impl Pinned {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            tasks: List::default(),
            inbox: Mutex::default(),
            mail: AtomicUsize::new(0),
            host: Mutex::default(),
            place: Mutex::default(),
            place_address: AtomicUsize::new(0),
            process: Process::current(),
        })
    }

    /// Says whether the tasks are those of a process that has forked into this one.
    pub(crate) fn is_inherited(&self) -> bool {
        !self.process.is_current()
    }

    /// The thread runs tasks from now on, as this worker.
    pub(crate) fn arrive(self: &Arc<Self>, shared: &Arc<Shared>, worker: usize) {
        *self.host.lock() = Some((Arc::downgrade(shared), worker));
        let place = shared.places[worker].clone();
        let address = Arc::as_ptr(&place) as usize;
        self.place_address.store(address, Ordering::Relaxed);
        *self.place.lock() = Some(place.clone());
        place.arrive(self);
    }

    /// The thread runs no tasks any more.
    pub(crate) fn leave(&self) {
        *self.host.lock() = None;
        self.place_address.store(0, Ordering::Relaxed);
        let place = self.place.lock().take();
        if let Some(place) = place {
            place.leave();
        }
    }

    /// Returns the place whose tasks run here.
    pub(crate) fn place(&self) -> Option<Arc<Place>> {
        self.place.lock().clone()
    }

    /// Says whether the tasks of this place run here. Asked on the thread itself.
    #[inline]
    pub(crate) fn is_at(&self, place: &Arc<Place>) -> bool {
        self.place_address.load(Ordering::Relaxed) == Arc::as_ptr(place) as usize
    }

    /// Says whether something came in: 0 if not.
    #[inline(always)]
    pub(crate) fn mail(&self) -> usize {
        self.mail.load(Ordering::SeqCst)
    }

    /// Takes the first of what came in, and moves up to `more` others to `queue`.
    pub(crate) fn take_mail(&self, more: usize, queue: &mut Line<Runnable>) -> Option<Runnable> {
        if self.mail() == 0 {
            return None;
        }
        let mut inbox = self.inbox.lock();
        // Before anything is taken: what comes in later says so again.
        self.mail.store(0, Ordering::SeqCst);
        let first = inbox.pop_front();
        let part = more.min(inbox.len());
        queue.extend(inbox.drain(..part));
        let mut is_left = !inbox.is_empty();
        drop(inbox);
        if let Some(place) = self.place() {
            is_left |= place.take_mail(more.max(1), queue);
        }
        if is_left {
            self.mail.store(1, Ordering::SeqCst);
        }
        // If there was none, those of the place may be all that there is.
        first.or_else(|| queue.pop())
    }

    /// Keeps tasks that were not run for the next time.
    pub(crate) fn keep(&self, runnables: Vec<Runnable>) {
        if !runnables.is_empty() {
            let mut inbox = self.inbox.lock();
            inbox.extend(runnables);
            self.mail.store(1, Ordering::SeqCst);
        }
    }

    fn send(&self, runnable: Runnable) {
        let mut inbox = self.inbox.lock();
        inbox.push_back(runnable);
        self.mail.store(1, Ordering::SeqCst);
        drop(inbox);
        self.wake_host();
    }

    /// Has the thread look into its inbox and into that of its place.
    pub(crate) fn ring(&self) {
        self.mail.store(1, Ordering::SeqCst);
        self.wake_host();
    }

    fn wake_host(&self) {
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

    fn release(&self, task: Listed<'_>) -> Option<Task> {
        self.0.tasks.remove(task)
    }

    fn panicked(&self, error: &dyn std::fmt::Display) {
        context::task_panicked(error);
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
        shared.add_pinned(&pinned);
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
