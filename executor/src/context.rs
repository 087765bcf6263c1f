//! What the thread that runs tasks keeps at hand: whose tasks it runs, and the queues that only it
//! touches.

use crate::pinned::Pinned;
use crate::queue::{Line, Own, Put};
use crate::runtime::{Scheduler, Shared};
use crate::seed::Lots;
use crate::task::{JoinHandle, Keeping, Runnable};
use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;
use windlass_reactor::late;

/// Whoever enters a context takes it out again, so that there is nothing to drop when the thread
/// ends; a thread-local that need not be dropped is reached without a look whether it has been.
type Place = RefCell<ManuallyDrop<Option<Context>>>;

thread_local! {
    static CONTEXT: Place = const { RefCell::new(ManuallyDrop::new(None)) };
}

/// The context of a thread while it runs tasks or blocks on one.
pub(crate) struct Context {
    pub(crate) shared: Arc<Shared>,
    /// The queues, if this thread is a worker. A guest only spawns.
    pub(crate) queues: Option<Queues>,
}

/// The queues of one worker, to which no other thread adds.
pub(crate) struct Queues {
    /// Tasks of the runtime that were woken or spawned here.
    pub(crate) ready: Own<Runnable>,
    /// Tasks of this thread that were woken here.
    pub(crate) pinned_ready: Line<Runnable>,
    /// The tasks of this thread.
    pub(crate) pinned: Arc<Pinned>,
    /// Whose turn it is when both have tasks.
    pub(crate) pinned_is_next: bool,
    /// While it has queues, a thread keeps the memory of tasks that are over for new ones.
    _keeping: Keeping,
}

impl Queues {
    pub(crate) fn new(ready: Own<Runnable>, pinned: Arc<Pinned>) -> Self {
        Self {
            ready,
            pinned_ready: Line::default(),
            pinned,
            pinned_is_next: false,
            _keeping: Keeping::begin(),
        }
    }

    /// Takes the next task, from the two queues in turn.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Runnable> {
        if self.pinned_ready.is_empty() {
            return self.ready.pop();
        }
        self.pinned_is_next = !self.pinned_is_next || self.ready.is_empty();
        if self.pinned_is_next {
            self.pinned_ready.pop()
        } else {
            self.ready.pop()
        }
    }

    /// Has the next task be one drawn by lot. For the only worker.
    pub(crate) fn draw(&mut self, lots: &Lots) {
        let count = self.len();
        if count < 2 {
            return;
        }
        let drawn = lots.below(count);
        match drawn.checked_sub(self.ready.len()) {
            None => self.ready.bring_forward(drawn),
            Some(pinned) => self.pinned_ready.bring_forward(pinned),
        }
        // Whose turn it is changes with each that is taken.
        self.pinned_is_next = drawn < self.ready.len();
    }

    /// Returns how many tasks are ready here.
    pub(crate) fn len(&self) -> usize {
        self.ready.len() + self.pinned_ready.len()
    }

    /// Says whether no task is ready here.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.pinned_ready.is_empty() && self.ready.is_empty()
    }

    /// Puts a task that yielded behind the others.
    #[inline(always)]
    pub(crate) fn push_back(&mut self, yielded: Runnable) {
        if yielded.is_bound() {
            self.pinned_ready.push(yielded);
        } else {
            self.ready.push_back(yielded);
        }
    }

    /// Puts a task that yielded behind the others and takes the next, which is the same one if
    /// there are no others.
    #[inline(always)]
    pub(crate) fn exchange(&mut self, yielded: Runnable) -> Option<Runnable> {
        if self.pinned_ready.is_empty() && !yielded.is_bound() {
            return self.ready.exchange(yielded);
        }
        self.push_back(yielded);
        self.pop()
    }
}

/// Runs `body` with `context` as that of the thread; gives it back.
pub(crate) fn enter<R>(context: Context, body: impl FnOnce() -> R) -> (R, Context) {
    let previous = replace(Some(context));
    let result = catch_unwind(AssertUnwindSafe(body));
    let entered = replace(previous);
    match result {
        Ok(result) => (
            result,
            entered.expect("what is entered is left in the reverse order"),
        ),
        Err(panic) => resume_unwind(panic),
    }
}

/// Makes `context` that of the thread, or leaves it without; returns the one before.
pub(crate) fn replace(context: Option<Context>) -> Option<Context> {
    let replaced = CONTEXT.with(|place| place.replace(ManuallyDrop::new(context)));
    ManuallyDrop::into_inner(replaced)
}

/// Looks at the context of this thread, and has it entered first if `block_on` has put that off.
///
/// `None` if it has none, or where the caller is called from within another look.
pub(crate) fn with<R>(look: impl FnOnce(&mut Context) -> R) -> Option<R> {
    late::enter_if_put_off();
    with_entered(look)
}

/// As [`with`], but for what can do without a context as well: nothing is entered for it.
#[inline]
pub(crate) fn with_entered<R>(look: impl FnOnce(&mut Context) -> R) -> Option<R> {
    CONTEXT.with(|place| match place.try_borrow_mut() {
        Ok(mut context) => context.as_mut().map(look),
        Err(_) => None,
    })
}

/// Looks at the queues of this thread, which is a worker and not within another look.
#[inline(always)]
pub(crate) fn with_queues<R>(look: impl FnOnce(&mut Queues) -> R) -> R {
    CONTEXT.with_borrow_mut(|context| match &mut **context {
        Some(Context {
            queues: Some(queues),
            ..
        }) => look(queues),
        _ => unreachable!("only a worker, which has queues, looks for tasks"),
    })
}

/// Takes the next task of this worker.
///
/// Each kind of `Caller` has a copy of this of its own: then the compiler makes it a part of the
/// caller, which saves as much as the rest costs. For the same reason it must be a closure.
#[allow(
    clippy::extra_unused_type_parameters,
    clippy::redundant_closure,
    clippy::redundant_closure_for_method_calls,
    reason = "so that there is a copy for each caller"
)]
#[inline(always)]
pub(crate) fn pop<Caller>() -> Option<Runnable> {
    with_queues(|queues| queues.pop())
}

/// Puts a task that yielded behind the others of this worker and takes the next. As to `Caller`, see
/// [`pop`].
#[allow(clippy::extra_unused_type_parameters)]
#[inline(always)]
pub(crate) fn exchange<Caller>(yielded: Runnable) -> Option<Runnable> {
    with_queues(|queues| queues.exchange(yielded))
}

/// Returns the runtime of this thread.
pub(crate) fn runtime() -> Option<Arc<Shared>> {
    with(|context| context.shared.clone())
}

/// Tells the runtime of this thread that one of its tasks has panicked.
pub(crate) fn task_panicked(error: &dyn fmt::Display) {
    if let Some(shared) = runtime() {
        shared.task_panicked(error);
    }
}

/// Says whether `shared` is the runtime of this thread.
pub(crate) fn is_of(shared: &Arc<Shared>) -> bool {
    with_entered(|context| Arc::ptr_eq(&context.shared, shared)).unwrap_or(false)
}

/// Returns which of the workers of `of` this thread is, if it is one.
#[inline]
pub(crate) fn index_in(of: &Arc<Shared>) -> Option<usize> {
    let index = with_entered(|context| {
        let queues = context.queues.as_ref()?;
        Arc::ptr_eq(&context.shared, of).then(|| queues.ready.index())
    });
    index.flatten()
}

/// Says whether this thread runs tasks or blocks on one.
pub(crate) fn is_entered() -> bool {
    with(|_| ()).is_some()
}

/// Starts a task of the runtime of this thread; or has it started `elsewhere`, if there is none, or if
/// its tasks don't move.
///
/// Making the task runs no code of a user, so it can be done with the context in hand. A task that
/// is refused is dropped after that.
///
/// The future is not handed back, nor the handle as one of two things that this may return: both
/// would be moved in the pieces of either.
#[inline(always)]
pub(crate) fn spawn<F>(
    future: F,
    spawned_at: &'static Location<'static>,
    elsewhere: impl FnOnce(F) -> JoinHandle<F::Output>,
) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    CONTEXT.with(|place| {
        let Ok(mut context) = place.try_borrow_mut() else {
            return elsewhere(future);
        };
        let Some(Context { shared, queues }) = &mut **context else {
            drop(context);
            return elsewhere(future);
        };
        if !shared.is_stealing || shared.is_inherited() {
            drop(context);
            return elsewhere(future);
        }
        let list = match queues {
            Some(queues) => queues.ready.index(),
            None => shared.workers.len(),
        };
        let (handle, runnable) =
            shared.make_task(future, Scheduler(shared.clone()), list, spawned_at);
        let put = match (runnable, queues) {
            (Ok(runnable), Some(queues)) => queues.ready.push(runnable),
            (Ok(runnable), None) => {
                shared.inject(runnable);
                Put::Next
            }
            (Err(refused), _) => {
                drop(context);
                drop(refused);
                return handle;
            }
        };
        if put != Put::Next {
            shared.offer(put == Put::First);
        }
        handle
    })
}

/// Queues a task of the runtime `of` here, if this thread is one of its workers; else hands it back.
/// As to `Caller`, see [`pop`].
#[allow(
    clippy::extra_unused_type_parameters,
    reason = "so that there is a copy for each caller"
)]
#[inline(always)]
pub(crate) fn push<Caller>(of: &Arc<Shared>, runnable: Runnable) -> Option<Runnable> {
    CONTEXT.with(|place| {
        let Ok(mut context) = place.try_borrow_mut() else {
            return Some(runnable);
        };
        let queues = match &mut **context {
            Some(Context {
                shared,
                queues: Some(queues),
            }) if Arc::ptr_eq(shared, of) => queues,
            _ => return Some(runnable),
        };
        let put = queues.ready.push(runnable);
        drop(context);
        if put != Put::Next {
            of.offer(put == Put::First);
        }
        None
    })
}

/// Queues a pinned task here, if this is its thread; else hands it back.
#[inline]
pub(crate) fn push_pinned(of: &Arc<Pinned>, runnable: Runnable) -> Option<Runnable> {
    let mut left = Some(runnable);
    with_entered(|context| {
        if let Some(queues) = context
            .queues
            .as_mut()
            .filter(|own| Arc::ptr_eq(&own.pinned, of))
        {
            if let Some(runnable) = left.take() {
                queues.pinned_ready.push(runnable);
            }
        }
    });
    left
}
