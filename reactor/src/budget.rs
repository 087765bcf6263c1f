//! How much a task may do in one poll, so that one whose sockets are always ready gives way to the
//! others.
//!
//! An executor grants each poll a [`Budget`]: a number of operations. Every operation that is done
//! at once takes one of them: a read, a write, a connection accepted, a timer that was due, the
//! result of a task; one that moves many bytes takes more. When none is left, the next operation is
//! not tried: its future wakes the task and is pending, so that the task goes behind all others
//! that are ready, and finds everything as it was when it is polled again. Operations that would
//! have to wait take nothing.
//!
//! The runtime of `windlass-executor` does this. Under an executor that grants nothing, there is no
//! end to what a poll may do, and nothing here changes anything.
//!
//! # Taking part
//!
//! A future of another crate that can be ready over and over, as that of a channel, takes part by
//! [`poll_proceed`]:
//!
//! ```
//! use std::collections::VecDeque;
//! use std::sync::Mutex;
//! use std::task::{Context, Poll, Waker, ready};
//! use windlass_reactor::budget;
//!
//! #[derive(Default)]
//! struct Channel<T>(Mutex<(VecDeque<T>, Option<Waker>)>);
//!
//! impl<T> Channel<T> {
//!     fn poll_receive(&self, context: &mut Context<'_>) -> Poll<T> {
//!         // First of all: while it is pending, the message stays where it is.
//!         let permit = ready!(budget::poll_proceed(context));
//!         let mut inside = self.0.lock().unwrap();
//!         match inside.0.pop_front() {
//!             Some(message) => {
//!                 permit.spend();
//!                 Poll::Ready(message)
//!             }
//!             None => {
//!                 inside.1 = Some(context.waker().clone());
//!                 Poll::Pending // and the permit goes back unused
//!             }
//!         }
//!     }
//! }
//! # let channel = Channel::default();
//! # channel.0.lock().unwrap().0.push_back(5);
//! # let mut context = Context::from_waker(Waker::noop());
//! # assert_eq!(channel.poll_receive(&mut context), Poll::Ready(5));
//! # assert!(channel.poll_receive(&mut context).is_pending());
//! ```

use crate::current;
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

/// How often operations are refused in one poll before another budget is granted.
///
/// Whoever is refused is expected to return to the executor. One who polls again instead may be the
/// `block_on` of another crate, inside of the task, and would do so for ever: the executor, who
/// grants the next budget, waits for it. Futures that poll many others are refused once for each,
/// so this is more than most of them have.
const PATIENCE: i32 = 512;

/// How many bytes an operation may move to count as one: about as many as take as long to move as
/// the system call takes anyway.
const BYTES_OF_AN_OPERATION: usize = 4096;

thread_local! {
    /// How many operations are left of this poll; below zero, how often one was refused.
    static LEFT: Cell<i32> = const { Cell::new(i32::MAX) };
    /// What was granted to each poll.
    static GRANTED: Cell<Budget> = const { Cell::new(Budget::UNLIMITED) };
}

/// How many operations a task may do in one poll; see the [module](self).
///
/// For executors:
///
/// ```
/// use windlass_reactor::budget::Budget;
///
/// # let tasks: Vec<fn()> = vec![|| {}];
/// let budget = Budget::default();
/// budget.scope(|| {
///     for poll_task in tasks {
///         budget.begin_poll();
///         poll_task();
///     }
/// });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(i32);

impl Budget {
    /// No end.
    pub const UNLIMITED: Budget = Budget(i32::MAX);

    /// Grants so many operations; at least one, for a task that may do nothing would be polled for
    /// ever.
    pub const fn of(operations: u32) -> Self {
        if operations == 0 {
            Self(1)
        } else if operations > i32::MAX as u32 {
            Self::UNLIMITED
        } else {
            Self(operations as i32)
        }
    }

    /// Says that a poll begins on this thread, which is inside of [`scope`](Budget::scope).
    #[inline(always)]
    pub fn begin_poll(self) {
        LEFT.set(self.0);
    }

    /// Runs `body`, in which polls have this budget; what the thread had before is as it was
    /// afterwards.
    pub fn scope<R>(self, body: impl FnOnce() -> R) -> R {
        struct Restore(i32, Budget);
        impl Drop for Restore {
            fn drop(&mut self) {
                LEFT.set(self.0);
                GRANTED.set(self.1);
            }
        }
        let _restore = Restore(LEFT.replace(self.0), GRANTED.replace(self));
        body()
    }
}

impl Default for Budget {
    /// Some 100 microseconds of system calls for small messages.
    fn default() -> Self {
        Self(64)
    }
}

/// The right to do one operation; goes back when it is dropped unspent.
#[must_use = "what was done has to be taken from the budget by `spend`"]
#[derive(Debug)]
pub struct Permit {
    /// It is of the thread.
    _here: PhantomData<*const ()>,
}

impl Permit {
    /// Says that something was done.
    #[inline(always)]
    pub fn spend(self) {
        mem::forget(self);
    }
}

impl Drop for Permit {
    #[inline]
    fn drop(&mut self) {
        // One that was kept beyond its poll must not overflow; `is_refused` gets over the rest.
        LEFT.set(LEFT.get().wrapping_add(1));
    }
}

/// Asks whether an operation may be done now, before anything else is done about it; if not, wakes
/// the task, and is pending.
#[inline(always)]
pub fn poll_proceed(context: &mut Context<'_>) -> Poll<Permit> {
    let left = LEFT.get().wrapping_sub(1);
    LEFT.set(left);
    if left < 0 && is_refused(context, left) {
        return Poll::Pending;
    }
    Poll::Ready(Permit { _here: PhantomData })
}

/// Nothing is left: says whether it stays at that, and wakes the task if so.
#[cold]
#[inline(never)]
fn is_refused(context: &Context<'_>, left: i32) -> bool {
    let granted = GRANTED.get();
    if granted != Budget::UNLIMITED && left > -PATIENCE {
        if left == -1 {
            current::note_budget_used_up();
        }
        context.waker().wake_by_ref();
        return true;
    }
    LEFT.set(granted.0 - 1);
    false
}

/// Takes from the budget what an operation has moved, beyond the one that it takes anyway.
#[inline(always)]
pub fn charge_bytes(count: usize) {
    if count >= BYTES_OF_AN_OPERATION {
        charge(count / BYTES_OF_AN_OPERATION);
    }
}

/// Takes so many operations from what is left, beyond the one that an operation takes anyway: for
/// one that does several things in one go.
#[inline(never)]
pub fn charge(operations: usize) {
    let operations = i32::try_from(operations).unwrap_or(i32::MAX);
    let left = LEFT.get();
    if left > 0 {
        LEFT.set((left - operations).max(0));
    }
}

/// Says whether the next operation will be refused.
#[inline]
pub(crate) fn is_used_up() -> bool {
    LEFT.get() <= 0 && GRANTED.get() != Budget::UNLIMITED
}

/// Polls `future` without a budget: it may do as much as it likes in one poll, at the expense of
/// the other tasks.
///
/// ```
/// use windlass_reactor::budget::unconstrained;
///
/// # async fn example(stream: windlass_reactor::Async<std::os::unix::net::UnixStream>) {
/// # use std::io::Read;
/// // The log is emptied in one go, whoever waits.
/// unconstrained(async {
///     let mut space = [0; 512];
///     while stream.read_with(|mut log| log.read(&mut space)).await.is_ok_and(|count| count > 0) {}
/// })
/// .await;
/// # }
/// ```
///
/// # Cancel safety
///
/// That of `future`.
pub fn unconstrained<F: Future>(future: F) -> Unconstrained<F> {
    Unconstrained { future }
}

pin_project! {
    /// The future of [`unconstrained`].
    #[derive(Debug)]
    #[must_use = "a future does nothing unless it is awaited"]
    pub struct Unconstrained<F> {
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        Budget::UNLIMITED.scope(|| self.project().future.poll(context))
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use std::task::Waker;

    /// Does operations until one is refused, at most `most`.
    fn operations(most: usize) -> usize {
        let mut context = Context::from_waker(Waker::noop());
        let done = |_: &usize| poll_proceed(&mut context).map(Permit::spend).is_ready();
        (0..most).take_while(done).count()
    }

    #[test]
    fn a_poll_does_what_was_granted() {
        let budget = Budget::of(5);
        budget.scope(|| {
            for _ in 0..3 {
                budget.begin_poll();
                assert_eq!(operations(100), 5);
                assert_eq!(operations(100), 0, "it is used up");
            }
        });
        assert_eq!(Budget::of(0).scope(|| operations(100)), 1);
    }

    #[test]
    fn there_is_no_end_without_a_grant() {
        assert_eq!(operations(10_000), 10_000);
        LEFT.set(3);
        assert_eq!(operations(10_000), 10_000, "what counts is the grant");
        assert!(!is_used_up());
        let most = Budget::of(u32::MAX);
        assert_eq!(most, Budget::UNLIMITED);
    }

    #[test]
    fn what_is_not_spent_goes_back() {
        let mut context = Context::from_waker(Waker::noop());
        Budget::of(2).scope(|| {
            for _ in 0..10 {
                assert!(poll_proceed(&mut context).is_ready(), "and dropped");
            }
            assert_eq!(operations(100), 2);
        });
        // One that outlives its poll.
        let kept = poll_proceed(&mut context);
        LEFT.set(i32::MAX);
        drop(kept);
        assert_eq!(operations(10), 10);
    }

    #[test]
    fn many_bytes_are_several_operations() {
        Budget::of(20).scope(|| {
            charge_bytes(4095);
            charge_bytes(10 * 4096);
            assert_eq!(operations(100), 10);
        });
        Budget::of(20).scope(|| {
            charge_bytes(usize::MAX);
            assert!(is_used_up());
            assert_eq!(operations(100), 0);
        });
    }

    #[test]
    fn budgets_nest() {
        Budget::of(4).scope(|| {
            assert_eq!(operations(2), 2);
            Budget::of(9).scope(|| assert_eq!(operations(100), 9));
            let mut all = std::pin::pin!(unconstrained(async { operations(1_000) }));
            let polled = all.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert_eq!(polled, Poll::Ready(1_000));
            assert_eq!(operations(100), 2);
        });
    }

    #[test]
    fn who_polls_again_and_again_is_let_through() {
        Budget::of(3).scope(|| {
            assert_eq!(operations(100), 3);
            let refused = (0..).take_while(|_| operations(1) == 0).count();
            assert!(refused < 2 * PATIENCE as usize, "{refused}");
            assert_eq!(operations(100), 2, "the first of a new budget is done");
        });
    }
}
