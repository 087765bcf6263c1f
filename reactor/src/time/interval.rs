//! Ticks at a fixed distance.

use super::Sleep;
use crate::clock::Moment;
use crate::current;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Ticks every `period`, at once the first time.
///
/// ```no_run
/// # async fn example() {
/// use std::time::Duration;
/// let mut ticks = windlass_reactor::time::interval(Duration::from_secs(1));
/// loop {
///     ticks.tick().await;
///     println!("tick");
/// #   break;
/// }
/// # }
/// ```
///
/// # Panics
///
/// If `period` is zero.
pub fn interval(period: Duration) -> Interval {
    Interval::new(current::now(), period)
}

/// Ticks every `period`, at `start` the first time.
///
/// # Panics
///
/// If `period` is zero.
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    Interval::new(Moment::from_instant(start), period)
}

/// What an [`Interval`] does when it was not asked in time for a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedTicks {
    /// Makes up for them, one after the other without waiting, until it is on schedule again.
    #[default]
    Burst,
    /// Counts the next period from the late tick on.
    Delay,
    /// Leaves them out: the next tick is the first one of the schedule that is yet to come.
    Skip,
}

/// Ticks at a fixed distance; see [`interval`].
#[derive(Debug)]
pub struct Interval {
    sleep: Sleep,
    period: Duration,
    missed: MissedTicks,
}

impl Interval {
    fn new(start: Moment, period: Duration) -> Self {
        assert!(
            !period.is_zero(),
            "the period of an interval is zero; it must be longer"
        );
        Self {
            sleep: Sleep::new(start),
            period,
            missed: MissedTicks::default(),
        }
    }

    /// Chooses what is done about missed ticks: [`MissedTicks::Burst`] unless told otherwise.
    #[must_use]
    pub fn missed_ticks(mut self, policy: MissedTicks) -> Self {
        self.missed = policy;
        self
    }

    /// Returns the time from tick to tick.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Waits for the next tick and returns when it was due.
    ///
    /// # Cancel safety
    ///
    /// A tick that was not returned comes again.
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|context| self.poll_tick(context)).await
    }

    /// As [`tick`](Interval::tick), for those who write futures by hand.
    pub fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<Instant> {
        std::task::ready!(Future::poll(Pin::new(&mut self.sleep), context));
        let due = self.sleep.deadline;
        let now = current::now();
        let next = self.next_after(due, now);
        self.sleep.move_seen_at(now, next);
        // A deadline that is never is never reached.
        Poll::Ready(due.to_instant().unwrap_or_else(super::now))
    }

    /// When the tick after `due` is, which is being returned at `now`.
    fn next_after(&self, due: Moment, now: Moment) -> Moment {
        let next = due.saturating_add(self.period);
        match self.missed {
            MissedTicks::Burst => next,
            MissedTicks::Delay => {
                // A tick is a little late always; only one that was missed moves the schedule.
                if next <= now {
                    now.saturating_add(self.period)
                } else {
                    next
                }
            }
            MissedTicks::Skip => {
                let behind = now.saturating_since(due).as_nanos();
                let whole = behind / self.period.as_nanos();
                let skipped = self.period.as_nanos().saturating_mul(whole);
                let skipped = Duration::from_nanos(u64::try_from(skipped).unwrap_or(u64::MAX));
                next.saturating_add(skipped)
            }
        }
    }
}
