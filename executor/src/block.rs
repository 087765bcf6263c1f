//! Runs a future on the thread that asks for it: as a worker, or as a guest.
//!
//! The first thread in `block_on` takes the *seat* of worker 0 and runs tasks as well. Whoever
//! comes while the seat is taken is a guest: it runs its own future, and sleeps by itself; its
//! sockets and timers are served by the process's own reactor.

use crate::context::{self, Context, Queues};
use crate::pinned::{self, Pinned};
use crate::queue::Own;
use crate::runtime::{Runtime, Shared};
use crate::task::Runnable;
use crate::wait::wait;
use crate::watch::Tenant;
use crate::worker::{Goal, Worker};
use std::cell::RefCell;
use std::future::Future;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{self, Poll, Wake, Waker};
use std::thread;
use windlass_reactor::{Handle as ReactorHandle, Reactor};

/// The index of the worker that is whoever calls `block_on`.
const SEAT: usize = 0;

/// What the worker in the seat has of its own, while nobody sits there.
pub(crate) struct Seat {
    pub(crate) reactor: Reactor,
    /// The own queue, which is empty.
    ready: Own<Runnable>,
    /// The waker of the last root future, to be used again once nobody else has it.
    root: Arc<Root>,
}

impl Seat {
    pub(crate) fn new(reactor: Reactor, ready: Own<Runnable>) -> Self {
        Self {
            reactor,
            ready,
            root: Arc::new(Root::new(Weak::new())),
        }
    }
}

/// Runs `future` on this thread until it is done, and the tasks that are spawned meanwhile.
///
/// It uses a runtime of one worker that each thread has for this. Tasks that are not done when it
/// returns go on with the next call on the same thread; they are dropped when the thread ends.
///
/// Inside a task, or inside another `block_on`, it works as well, but holds the thread up: the
/// tasks of the outer call wait until it returns, and what it spawns is dropped then. What waits
/// on the reactor of this thread waits elsewhere meanwhile; the `block_on` of another crate can't
/// see to that, so that a timer inside of it would wait for the thread that waits for the timer.
///
/// A child process that was forked on this thread makes a runtime of its own for it.
///
/// In the destructors of thread-locals, too, what it spawns is dropped when it returns.
///
/// # Examples
///
/// ```
/// assert_eq!(windlass_executor::block_on(async { 1 + 1 }), 2);
/// ```
///
/// # Panics
///
/// If `future` does; and if an environment variable asks for a back end that is unknown, or that
/// this system doesn't have. [`Runtime::builder`] returns that as an error.
pub fn block_on<F: Future>(future: F) -> F::Output {
    thread_local! {
        /// The runtime of this thread, while it isn't in use.
        static OWN: RefCell<Option<Runtime>> = const { RefCell::new(None) };
    }
    if context::is_entered() {
        return step_aside(|| run_in(new_runtime(), future).0);
    }
    let own = OWN.try_with(RefCell::take).ok().flatten();
    // Dropped, that of the parent is left alone.
    let own = own.filter(|own| !own.handle().shared.is_inherited());
    let own = own.or_else(new_runtime);
    let (result, own) = run_in(own, future);
    // Where thread-locals are being destroyed, it ends here.
    let _ = OWN.try_with(|place| place.replace(own));
    result
}

/// Makes a runtime for one call, or for all of one thread; `None` if the system can't, as when the
/// process is out of descriptors.
///
/// # Panics
///
/// If the environment asks for what there is not. That will not pass, and it is better said here
/// than by the first spawn.
fn new_runtime() -> Option<Runtime> {
    match Runtime::builder().workers(1).build() {
        Ok(runtime) => Some(runtime),
        Err(error) => match error.kind() {
            ErrorKind::InvalidInput | ErrorKind::Unsupported => {
                panic!("block_on can't make a reactor: {error}")
            }
            _ => None,
        },
    }
}

/// Runs `future` in `runtime`; or by itself, and without any spawn, if there is none.
fn run_in<F: Future>(runtime: Option<Runtime>, future: F) -> (F::Output, Option<Runtime>) {
    let result = match &runtime {
        Some(runtime) => sit_or_visit(&runtime.handle().shared, future),
        None => wait(future),
    };
    (result, runtime)
}

/// Runs `future` on this thread until it is done; see [`Runtime::block_on`].
#[track_caller]
pub(crate) fn block_on_runtime<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    shared.refuse_if_inherited();
    if context::is_entered() {
        step_aside(|| visit(shared, future))
    } else {
        sit_or_visit(shared, future)
    }
}

fn sit_or_visit<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    let seat = shared.seat.lock().take();
    match seat {
        Some(seat) => sit(shared, seat, future),
        None => visit(shared, future),
    }
}

/// Blocks a thread that turns a reactor: what waits on it goes elsewhere meanwhile.
pub(crate) fn step_aside<R>(body: impl FnOnce() -> R) -> R {
    match ReactorHandle::current() {
        Some(reactor) => reactor.step_aside(body),
        None => body(),
    }
}

/// Runs `future` by itself; others run the tasks that it spawns.
fn visit<F: Future>(shared: &Arc<Shared>, future: F) -> F::Output {
    let context = Context {
        shared: shared.clone(),
        queues: None,
    };
    context::enter(context, || wait(future)).0
}

/// Runs `future`, and tasks, as the worker in the seat.
fn sit<F: Future>(shared: &Arc<Shared>, seat: Seat, future: F) -> F::Output {
    let pinned = pinned::of_this_thread(shared);
    pinned.arrive(shared, SEAT);
    let Seat {
        reactor,
        ready,
        root,
    } = seat;
    let root = if Arc::strong_count(&root) == 1 && root.shared.strong_count() > 0 {
        root
    } else {
        Arc::new(Root::new(Arc::downgrade(shared)))
    };
    root.is_woken.store(true, Ordering::Relaxed);
    if shared.watch.is_some() {
        shared.posts[SEAT].settle(Tenant {
            pinned: Arc::downgrade(&pinned),
            root: Arc::downgrade(&root),
        });
    }
    reactor.attach();
    let handle = reactor.handle().clone();
    let mut worker = Worker::new(shared.clone(), SEAT, pinned.clone(), reactor);
    let context = Context {
        shared: shared.clone(),
        queues: Some(Queues::new(ready, pinned.clone())),
    };
    let (result, context) = context::enter(context, || {
        handle.enter(|| contain(|| run_and_drop(&mut worker, future, &root)))
    });
    pinned.leave();
    if shared.watch.is_some() {
        shared.posts[SEAT].settle(Tenant::default());
    }
    let queues = context.queues.expect("a worker has queues");
    let ready = hand_over(shared, &pinned, queues);
    pinned::close_if_unlisted(&pinned);
    let mut reactor = worker.into_reactor();
    reactor.detach();
    *shared.seat.lock() = Some(Seat {
        reactor,
        ready,
        root,
    });
    // The seat is free for the next whatever the future did.
    match result {
        Ok(Ok(output)) => output,
        Ok(Err(panic)) | Err(panic) => resume_unwind(panic),
    }
}

/// Has `worker` run until `future` is done, and drops it. Its panics may come from either.
fn run_and_drop<F: Future>(
    worker: &mut Worker,
    future: F,
    root: &Arc<Root>,
) -> thread::Result<F::Output> {
    let future = pin!(future);
    let mut goal = RootFuture::new(future, root);
    contain(|| worker.run(&mut goal))
}

fn contain<R>(code: impl FnOnce() -> R) -> thread::Result<R> {
    catch_unwind(AssertUnwindSafe(code))
}

/// Leaves what is ready to others, or to the next who sits down; returns the empty queue.
fn hand_over(shared: &Shared, pinned: &Pinned, queues: Queues) -> Own<Runnable> {
    let Queues {
        mut ready,
        pinned_ready,
        ..
    } = queues;
    let (placed, own) = pinned_ready.into_iter().partition(Runnable::is_placed);
    pinned.keep(own);
    shared.places[SEAT].keep(placed);
    if !ready.is_empty() {
        shared.queue.push_all(ready.take_all());
        shared.wake_one();
    }
    ready
}

/// A future that a worker runs besides tasks, and for the sake of which it runs.
struct RootFuture<'a, F> {
    future: Pin<&'a mut F>,
    root: &'a Root,
    waker: Waker,
}

impl<'a, F: Future> RootFuture<'a, F> {
    fn new(future: Pin<&'a mut F>, root: &'a Arc<Root>) -> Self {
        Self {
            future,
            root,
            waker: Waker::from(root.clone()),
        }
    }
}

impl<F: Future> Goal for RootFuture<'_, F> {
    type Output = F::Output;

    fn check(&mut self) -> Option<F::Output> {
        if !self.is_due() || !self.root.is_woken.swap(false, Ordering::SeqCst) {
            return None;
        }
        match self
            .future
            .as_mut()
            .poll(&mut task::Context::from_waker(&self.waker))
        {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    fn is_due(&self) -> bool {
        self.root.is_due()
    }
}

/// Wakes a root future.
pub(crate) struct Root {
    is_woken: AtomicBool,
    shared: Weak<Shared>,
}

impl Root {
    fn new(shared: Weak<Shared>) -> Self {
        Self {
            is_woken: AtomicBool::new(false),
            shared,
        }
    }

    /// Says whether the future is to be polled.
    pub(crate) fn is_due(&self) -> bool {
        self.is_woken.load(Ordering::SeqCst)
    }
}

impl Wake for Root {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_woken.swap(true, Ordering::SeqCst) {
            if let Some(shared) = self.shared.upgrade() {
                shared.wake_worker(SEAT);
            }
        }
    }
}
