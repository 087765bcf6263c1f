//! The futures of those who wait for a descriptor, or for an operation on it to be done.

use super::{Async, Registered, Taken};
use crate::source::{Direction, Key};
use std::fmt;
use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// One task's wait, which leaves nothing behind when it is dropped.
pub(super) struct Wait<'a, T> {
    of: &'a Async<T>,
    direction: Direction,
    /// Set while the source may hold a waker of ours.
    key: Option<Key>,
}

impl<'a, T> Wait<'a, T> {
    pub(super) fn new(of: &'a Async<T>, direction: Direction) -> Self {
        Self {
            of,
            direction,
            key: None,
        }
    }
}

impl<T> Drop for Wait<'_, T> {
    fn drop(&mut self) {
        if let (Some(key), Some(Registered(source))) = (self.key, self.of.registered.get()) {
            source.cancel(self.direction, key);
        }
    }
}

/// Waits until a direction may be ready.
pub(super) struct Ready<'a, T>(Wait<'a, T>);

impl<'a, T> Ready<'a, T> {
    pub(super) fn new(of: &'a Async<T>, direction: Direction) -> Self {
        Self(Wait::new(of, direction))
    }
}

impl<T> Unpin for Ready<'_, T> {}

impl<T: AsFd> Future for Ready<'_, T> {
    type Output = io::Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wait = &mut self.get_mut().0;
        let ready = ready!(
            wait.of
                .poll_ready_in_turn(context, wait.direction, &mut wait.key)
        );
        // Whoever is woken has been taken off the list.
        wait.key = None;
        Poll::Ready(ready)
    }
}

/// The future of [`Async::io_with`]. Once it is done, it may be polled again, to run the operation
/// anew; so those who do the same over and over need to make it once.
///
/// # Cancel safety
///
/// As for [`Async::read_with`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Operation<'a, T, O> {
    pub(super) wait: Wait<'a, T>,
    pub(super) operation: O,
}

impl<T, O> Unpin for Operation<'_, T, O> {}

impl<T, O, R> Future for Operation<'_, T, O>
where
    T: AsFd,
    O: FnMut(&T) -> io::Result<Taken<R>>,
{
    type Output = io::Result<R>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<R>> {
        let Self { wait, operation } = self.get_mut();
        let done =
            ready!(
                wait.of
                    .poll_operation(context, wait.direction, &mut wait.key, operation)
            );
        wait.key = None;
        Poll::Ready(done)
    }
}

impl<T, O> fmt::Debug for Operation<'_, T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation")
            .field("direction", &self.wait.direction)
            .finish_non_exhaustive()
    }
}
