//! When a busy worker looks at I/O: after some time, and with few looks at the clock.

use std::time::{Duration, Instant};

/// How long tasks run before I/O is looked at.
const INTERVAL: Duration = Duration::from_micros(20);
/// How many tasks are run between two looks at the clock, at the most.
const LONGEST_STRIDE: u32 = 64;

/// Says when I/O is due. The clock is read once in a stride of polls, which is made to fit their
/// length.
#[derive(Debug)]
pub(crate) struct Pace {
    /// When I/O was looked at, or the first look at the clock after that.
    since: Option<Instant>,
    /// The last look at the clock.
    looked: Option<Instant>,
    /// How many polls were granted then.
    granted: u32,
    /// How many polls fit between two looks at the clock.
    stride: u32,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self {
            since: None,
            looked: None,
            granted: 1,
            stride: 1,
        }
    }

    /// Says whether I/O is due, when all the polls that were granted are over. The caller looks at
    /// it then, and reports that with the same time.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        now.duration_since(*self.since.get_or_insert(now)) >= INTERVAL
    }

    /// Grants some polls before the clock is looked at again: a pass over the `ready` tasks that were
    /// ready together, at least, for what comes in meanwhile would wait behind them anyway.
    pub(crate) fn grant(&mut self, now: Instant, ready: usize) -> u32 {
        if let Some(looked) = self.looked.replace(now) {
            let mut took = now.duration_since(looked);
            if self.granted > self.stride {
                took /= self.granted / self.stride;
            }
            if took < INTERVAL / 4 {
                self.stride = (self.stride * 2).min(LONGEST_STRIDE);
            } else if took > INTERVAL / 2 {
                self.stride = (self.stride / 2).max(1);
            }
        }
        // A stride takes half of the interval at the most, if polls stay what they are.
        let pass = u32::try_from(ready).unwrap_or(u32::MAX);
        self.granted = self.stride.max(pass).min(LONGEST_STRIDE);
        self.granted
    }

    /// Notes that I/O was looked at.
    pub(crate) fn restart_at(&mut self, now: Instant) {
        self.since = Some(now);
    }

    /// Notes that I/O was waited for, for whatever time.
    #[inline]
    pub(crate) fn restart(&mut self) {
        self.since = None;
        self.looked = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polls tasks that take `poll` each until I/O is due; returns how much time that took.
    fn time_until_due(pace: &mut Pace, now: &mut Instant, poll: Duration) -> Duration {
        let start = *now;
        loop {
            *now += poll * pace.grant(*now, 1);
            if pace.is_due(*now) {
                pace.restart_at(*now);
                return *now - start;
            }
        }
    }

    #[test]
    fn io_is_due_after_an_interval_whatever_the_length_of_polls() {
        for nanoseconds in [20, 200, 2_000, 10_000, 20_000, 200_000] {
            let poll = Duration::from_nanos(nanoseconds);
            let (mut pace, mut now) = (Pace::new(), Instant::now());
            for _ in 0..100 {
                time_until_due(&mut pace, &mut now, poll);
            }
            let settled = time_until_due(&mut pace, &mut now, poll);
            let allowed = INTERVAL..=INTERVAL + poll.max(INTERVAL / 2);
            assert!(
                allowed.contains(&settled),
                "{poll:?}: I/O is looked at after {settled:?}"
            );
        }
    }

    #[test]
    fn polls_that_grow_long_are_noticed_after_a_stride() {
        let (mut pace, mut now) = (Pace::new(), Instant::now());
        for _ in 0..100 {
            time_until_due(&mut pace, &mut now, Duration::from_nanos(20));
        }
        let long = Duration::from_micros(10);
        let mut looks = (0..8).map(|_| time_until_due(&mut pace, &mut now, long));
        assert!(looks.all(|look| look <= long * LONGEST_STRIDE + INTERVAL));
        let settled = time_until_due(&mut pace, &mut now, long);
        assert!(settled <= INTERVAL + long, "{settled:?}");
    }

    #[test]
    fn tasks_that_are_ready_together_are_one_pass() {
        let (mut pace, mut now) = (Pace::new(), Instant::now());
        let mut pass = |ready: usize| {
            let passes = (0..20).map(|_| {
                let granted = pace.grant(now, ready);
                now += Duration::from_micros(30) * granted;
                granted
            });
            passes.last()
        };
        assert_eq!(pass(50), Some(50));
        assert_eq!(
            pass(1),
            Some(1),
            "the long pass has not made the stride longer"
        );
    }
}
