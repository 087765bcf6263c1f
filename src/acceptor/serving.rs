//! One connection: its handler, its time limits, its place.

use super::Shared;
use super::counts::End;
use pin_project_lite::pin_project;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use windlass_reactor::time::{Sleep, now, sleep};

pin_project! {
    /// The future of a connection's task.
    pub(super) struct Serving<F> {
        // Dropped first, so that its descriptors are closed when its place is given back.
        #[pin]
        handler: F,
        // Most servers have none here.
        limits: Option<Box<Limits>>,
        ticket: Ticket,
    }
}

impl<F> Serving<F> {
    pub(super) fn new(handler: F, limits: Option<Box<Limits>>, ticket: Ticket) -> Self {
        Self {
            handler,
            limits,
            ticket,
        }
    }
}

impl<F: Future<Output = Result<(), E>>, E> Future for Serving<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let handler = this.handler;
        let polled = catch_unwind(AssertUnwindSafe(|| {
            handler.poll(context).map(|ended| ended.is_ok())
        }));
        let end = match polled {
            Ok(Poll::Ready(true)) => End::Finished,
            Ok(Poll::Ready(false)) => End::Failed,
            Ok(Poll::Pending) => {
                let limits = this.limits.as_mut();
                let over = limits.map_or(Poll::Pending, |limits| limits.poll_over(context));
                ready!(over);
                End::TimedOut
            }
            Err(panic) => {
                this.ticket.end = End::Panicked;
                // The runtime contains it, and may have been told what to do about it.
                resume_unwind(panic);
            }
        };
        this.ticket.end = end;
        Poll::Ready(())
    }
}

/// The place of a connection; when dropped, it is given back, and the end is counted.
pub(super) struct Ticket {
    shared: Arc<Shared>,
    pub(super) end: End,
}

impl Ticket {
    /// Of a place that was taken.
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        shared.counters.accepted();
        let end = End::Aborted;
        Self { shared, end }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.shared.counters.ended(self.end);
        self.shared.limit.give_back();
    }
}

/// How long a connection may take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) whole: Option<Duration>,
    pub(super) idle: Option<Duration>,
}

impl Times {
    pub(super) fn start(self) -> Option<Box<Limits>> {
        let limits = Limits {
            whole: self.whole.map(sleep),
            idle: self.idle.map(Idle::new),
        };
        (self.whole.is_some() || self.idle.is_some()).then(|| Box::new(limits))
    }
}

/// The time limits of a connection that has begun.
pub(super) struct Limits {
    whole: Option<Sleep>,
    idle: Option<Idle>,
}

impl Limits {
    fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let whole = self.whole.as_mut();
        if whole.is_some_and(|sleep| Pin::new(sleep).poll(context).is_ready()) {
            return Poll::Ready(());
        }
        let idle = self.idle.as_mut();
        idle.map_or(Poll::Pending, |idle| idle.poll(context))
    }
}

/// Watches that the handler is woken.
struct Idle {
    limit: Duration,
    /// Set anew only when it ends, so that what happens doesn't touch the timers.
    sleep: Sleep,
    /// When the handler was polled since the timer was set.
    polled_at: Option<Instant>,
}

impl Idle {
    fn new(limit: Duration) -> Self {
        Self {
            limit,
            sleep: sleep(limit),
            polled_at: None,
        }
    }

    /// Has been polled: by the timer if that is over, else because something came.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if Pin::new(&mut self.sleep).poll(context).is_pending() {
            self.polled_at = Some(now());
            return Poll::Pending;
        }
        let polled_at = self.polled_at.take();
        match polled_at.and_then(|polled_at| polled_at.checked_add(self.limit)) {
            Some(until) => {
                self.sleep.reset(until);
                Pin::new(&mut self.sleep).poll(context)
            }
            None => Poll::Ready(()),
        }
    }
}
