//! A future that must stay on its thread, in a task that need not.
//!
//! The runnable of a task, its wakers and its references may go to any thread; that is what
//! they are for. A future that isn't `Send` may not. So it is wrapped, and the wrapper touches it
//! on the thread where it was made and nowhere else, whatever the executor does.

use std::cell::Cell;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};

/// A future bound to the thread that made it.
pub(super) struct AtHome<F> {
    /// The thread.
    home: Home,
    /// The future; dropped at home only.
    future: ManuallyDrop<F>,
}

/// A thread. No two threads of a process are given the same number, also not one after the other.
#[derive(Clone, Copy, PartialEq)]
struct Home(usize);

impl<F> AtHome<F> {
    /// Binds the future to this thread.
    pub(super) fn new(future: F) -> Self {
        Self {
            home: Home::here(),
            future: ManuallyDrop::new(future),
        }
    }
}

impl<F: Future> Future for AtHome<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        assert!(
            self.home == Home::here(),
            "a task bound to one thread was run by another"
        );
        // SAFETY: The future is pinned with the wrapper: it is never moved out, and `drop` below
        // drops it in place.
        let future = unsafe { self.map_unchecked_mut(|this| &mut *this.future) };
        future.poll(context)
    }
}

impl<F> Drop for AtHome<F> {
    /// Drops the future, or leaks it if this is not its thread: the executor has failed to do its
    /// duty, and leaking is all that is safe.
    fn drop(&mut self) {
        if self.home == Home::here() {
            // SAFETY: The future is not used again.
            unsafe { ManuallyDrop::drop(&mut self.future) }
        }
    }
}

impl Home {
    /// Finds out which thread this is.
    ///
    /// A thread-local without a destructor is there for as long as the thread runs, so that tasks
    /// may be dropped by the destructors of others.
    #[inline]
    fn here() -> Self {
        thread_local! {
            /// The number of this thread; zero if it has none yet.
            static HERE: Cell<usize> = const { Cell::new(0) };
        }
        HERE.with(|here| {
            if here.get() == 0 {
                here.set(Self::next());
            }
            Self(here.get())
        })
    }

    /// Takes a number for this thread.
    #[cold]
    fn next() -> usize {
        static LAST: AtomicUsize = AtomicUsize::new(0);
        let next = LAST.fetch_add(1, Relaxed).wrapping_add(1);
        // Only where pointers are short could a program start that many threads, in a long life.
        assert!(next < usize::MAX / 2, "out of numbers for threads");
        next
    }
}
