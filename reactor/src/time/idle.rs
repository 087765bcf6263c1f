//! A time limit for doing nothing.

use super::{Sleep, Timer};
use crate::clock::Moment;
use crate::current;
use std::task::{Context, Poll};
use std::time::Duration;

/// Watches that something happens: for this project's other crates, and no part of what is kept
/// stable.
///
/// What happens costs one look at the clock, and doesn't touch the timers: the timer is set anew only
/// when it ends.
#[derive(Debug)]
pub struct Idle {
    limit: Duration,
    /// When something happened last, or when this was made.
    since: Moment,
    sleep: Sleep,
}

impl Idle {
    /// Begins now.
    pub fn new(limit: Duration) -> Self {
        let now = current::now();
        Self {
            limit,
            since: now,
            sleep: Sleep::seen_at(now, now.saturating_add(limit)),
        }
    }

    /// Returns how long nothing may happen.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Takes note of whether something has happened since the last poll, and is ready once nothing
    /// has for the whole limit.
    #[inline]
    pub fn poll(&mut self, context: &mut Context<'_>, has_happened: bool) -> Poll<()> {
        let now = self.sleep.now();
        if has_happened {
            self.since = now;
        }
        if self.sleep.deadline <= now {
            let until = self.since.saturating_add(self.limit);
            if until <= now {
                return Poll::Ready(());
            }
            self.sleep.move_to(until, Timer::Out);
        }
        self.sleep.wait(context.waker());
        Poll::Pending
    }
}
