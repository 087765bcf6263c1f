//! Gives way to the other tasks once.

use crate::task::yield_if_running;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Lets the other tasks run before the calling task goes on.
///
/// The task goes to the back of its queue, so everything that was ready before it has its turn.
///
/// # Cancel safety
///
/// Nothing is lost if the future is dropped.
///
/// # Examples
///
/// ```
/// # async fn work_in_pieces(pieces: &mut Vec<fn()>) {
/// while let Some(piece) = pieces.pop() {
///     piece();
///     windlass_executor::yield_now().await;
/// }
/// # }
/// ```
#[must_use = "futures do nothing unless awaited"]
pub fn yield_now() -> YieldNow {
    YieldNow { yielded: false }
}

/// The future of [`yield_now`].
#[derive(Debug)]
pub struct YieldNow {
    /// Whether the first poll, the one that gives way, is past.
    yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        if !yield_if_running(context.waker()) {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
