//! The free `block_on`: by a runtime that each thread has of its own.
//!
//! Many futures that are blocked on are ready at once. So the first poll comes before everything
//! else: the thread becomes a worker, with a context and a reactor, when something in that poll asks
//! for it ([`late`]), or when the poll is over and the future is not. What the poll needs in any case
//! is the waker, which the thread keeps from call to call.

use crate::block::{Root, Seated, sit_or_visit, step_aside};
use crate::context;
use crate::queue::Lane;
use crate::runtime::{Runtime, Shared};
use crate::task::{Runnable, contain};
use crate::wait::wait;
use std::cell::RefCell;
use std::future::Future;
use std::io::ErrorKind;
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;
use windlass_reactor::late;

thread_local! {
    static OWN: Own = const {
        Own {
            runtime: RefCell::new(None),
            kit: RefCell::new(None),
            seated: RefCell::new(None),
        }
    };
}

/// What a thread has for its calls of `block_on`.
struct Own {
    /// The runtime, while it isn't in use by a call that has begun as a worker.
    runtime: RefCell<Option<Runtime>>,
    /// What the first poll needs, once there is a runtime.
    kit: RefCell<Option<Kit>>,
    /// What a call has become that was to enter nothing at first.
    seated: RefCell<Option<Seated>>,
}

impl Own {
    /// Says whether a call may begin with the first poll.
    #[inline(always)]
    fn is_fit(&self) -> bool {
        self.kit.borrow().as_ref().is_some_and(Kit::is_fit)
    }
}

/// What the first poll needs, of a runtime in whose seat nobody is.
struct Kit {
    shared: Arc<Shared>,
    /// Where polls are counted.
    lane: Arc<Lane<Runnable>>,
    root: Arc<Root>,
    waker: Waker,
}

impl Kit {
    /// How many have the waker of a future that is not there: the seat, and a kit in two ways.
    const KEEPERS: usize = 3;

    fn of(runtime: &Runtime) -> Option<Self> {
        let shared = &runtime.handle().shared;
        let root = shared.seat.lock().as_ref()?.root.clone();
        Some(Self {
            lane: shared.lanes[0].clone(),
            shared: shared.clone(),
            waker: Waker::from(root.clone()),
            root,
        })
    }

    /// Says whether the runtime is not a parent's, and nobody has kept the waker.
    #[inline(always)]
    fn is_fit(&self) -> bool {
        Arc::strong_count(&self.root) == Self::KEEPERS && !self.shared.is_inherited()
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
    if context::is_entered() {
        return enter_inside(future);
    }
    if !OWN.try_with(Own::is_fit).unwrap_or(false) {
        return enter_first(future);
    }
    match OWN.with(|own| poll_first(own, future)) {
        Ok(output) => output,
        Err(panic) => resume_unwind(panic),
    }
}

/// Runs `future`, and enters nothing before something asks for it.
#[inline(always)]
fn poll_first<F: Future>(own: &Own, future: F) -> thread::Result<F::Output> {
    let kit = own.kit.borrow();
    let kit = kit.as_ref().expect("this was looked at");
    let stay = Stay::put_off(own);
    // Dropped before the stay ends.
    let mut future = pin!(future);
    kit.lane.count_polls(1);
    kit.root.begin_first_poll();
    let mut context = Context::from_waker(&kit.waker);
    let budget = kit.shared.budget;
    let polled = budget.scope(|| contain(|| future.as_mut().poll(&mut context)));
    match polled {
        Ok(Poll::Ready(output)) => Ok(output),
        Ok(Poll::Pending) => stay.go_on(future),
        Err(panic) => Err(panic),
    }
}

/// A call that has entered nothing yet, or what has become of it.
struct Stay<'a>(&'a Own);

impl<'a> Stay<'a> {
    #[inline(always)]
    fn put_off(own: &'a Own) -> Self {
        late::put_off(sit_down);
        Self(own)
    }

    /// Runs a future that was not ready at once.
    #[cold]
    #[inline(never)]
    fn go_on<F: Future>(&self, future: Pin<&mut F>) -> thread::Result<F::Output> {
        late::enter_if_put_off();
        let seated = self.0.seated.take();
        let mut seated = seated.expect("there is a seat that nobody else can take");
        let result = seated.go_on(future);
        // Until the future is dropped.
        self.0.seated.replace(Some(seated));
        result
    }

    #[cold]
    #[inline(never)]
    fn stand_up(&self) {
        if let Some(seated) = self.0.seated.take() {
            seated.stand_up();
        }
    }
}

impl Drop for Stay<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if !late::take_back() {
            self.stand_up();
        }
    }
}

/// Makes this thread, whose `block_on` has put that off, a worker.
fn sit_down() {
    OWN.with(|own| {
        let kit = own.kit.borrow();
        let shared = kit.as_ref().map(|kit| &kit.shared);
        let shared = shared.expect("who puts something off has a kit");
        let seat = shared.seat.lock().take();
        let seat = seat.expect("there is a seat that nobody else can take");
        own.seated.replace(Some(Seated::sit_down(shared, seat)));
    });
}

/// Runs `future` on a thread that runs something already.
#[cold]
#[inline(never)]
fn enter_inside<F: Future>(future: F) -> F::Output {
    step_aside(|| run_in(new_runtime(), future).0)
}

/// Runs `future` as a worker from the beginning.
#[cold]
#[inline(never)]
fn enter_first<F: Future>(future: F) -> F::Output {
    let own = OWN.try_with(|own| {
        let _unfit = own.kit.take();
        own.runtime.take()
    });
    // Dropped, that of the parent is left alone.
    let own = own.ok().flatten();
    let own = own.filter(|own| !own.handle().shared.is_inherited());
    let own = own.or_else(new_runtime);
    let (result, own) = run_in(own, future);
    // Where thread-locals are being destroyed, it ends here.
    let _ = OWN.try_with(|place| {
        place.kit.replace(own.as_ref().and_then(Kit::of));
        place.runtime.replace(own)
    });
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
