//! Waiting for a cancellation, and cancelling by going away.

use super::CancellationToken;
use super::waiters::Place;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};
use windlass_reactor::budget::{self, Permit};

/// The future of [`CancellationToken::cancelled`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Cancelled<'a> {
    token: &'a CancellationToken,
    place: Place,
}

/// The future of [`CancellationToken::cancelled_owned`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct CancelledOwned {
    token: CancellationToken,
    place: Place,
}

impl<'a> Cancelled<'a> {
    pub(super) fn new(token: &'a CancellationToken) -> Self {
        Self {
            token,
            place: Place::default(),
        }
    }
}

impl CancelledOwned {
    pub(super) fn new(token: CancellationToken) -> Self {
        Self {
            token,
            place: Place::default(),
        }
    }
}

impl Future for Cancelled<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        poll(this.token, &mut this.place, context)
    }
}

impl Future for CancelledOwned {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        poll(&this.token, &mut this.place, context)
    }
}

fn poll(token: &CancellationToken, place: &mut Place, context: &mut Context<'_>) -> Poll<()> {
    if token.is_cancelled() {
        return finish(context);
    }
    token.waiters().come(place, context);
    // See `Node::is_cancelled`.
    if token.is_cancelled() {
        return finish(context);
    }
    Poll::Pending
}

/// Takes an operation from the budget: a loop that waits for what was cancelled long ago gives way.
fn finish(context: &mut Context<'_>) -> Poll<()> {
    budget::poll_proceed(context).map(Permit::spend)
}

impl Drop for Cancelled<'_> {
    fn drop(&mut self) {
        self.token.waiters().leave(&mut self.place);
    }
}

impl Drop for CancelledOwned {
    fn drop(&mut self) {
        self.token.waiters().leave(&mut self.place);
    }
}

/// Cancels a token when it is dropped; see [`CancellationToken::drop_guard`].
#[derive(Debug)]
#[must_use = "the token is cancelled at once if the guard is not kept"]
pub struct DropGuard(Option<CancellationToken>);

impl DropGuard {
    pub(super) fn new(token: CancellationToken) -> Self {
        Self(Some(token))
    }

    /// Gives the token back, uncancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// # use windlass_executor::CancellationToken;
    /// let guard = CancellationToken::new().drop_guard();
    /// assert!(!guard.disarm().is_cancelled());
    /// ```
    pub fn disarm(mut self) -> CancellationToken {
        // There is a token until here, and nobody sees the one that takes its place.
        mem::take(&mut self.0).unwrap_or_default()
    }
}

impl Drop for DropGuard {
    fn drop(&mut self) {
        if let Some(token) = &self.0 {
            token.cancel();
        }
    }
}
