//! When a busy worker looks at I/O: after some time, and with few looks at the clock.

use std::time::Instant;

/// How long tasks run before I/O is looked at, in nanoseconds.
const INTERVAL: u64 = 20_000;
/// How many tasks are run between two looks at the clock, at the most.
const LONGEST_STRIDE: u32 = 64;

/// Says when I/O is due. The clock is read once in a stride of polls, which is made to fit their
/// length.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Where the clock of this begins.
    start: Instant,
    /// When I/O was looked at, or the first look at the clock after that.
    since: Option<Now>,
    /// The last look at the clock.
    looked: Option<Now>,
    /// How many polls were granted then.
    granted: u32,
    /// How many polls fit between two looks at the clock.
    stride: u32,
}

/// A look at the clock: nanoseconds since a start, which take less to reckon with than an
/// [`Instant`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Now(u64);

impl Now {
    fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            since: None,
            looked: None,
            granted: 1,
            stride: 1,
        }
    }

    /// Looks at the clock.
    pub(crate) fn now(&self) -> Now {
        // As much as fits in: five hundred years.
        Now(self.start.elapsed().as_nanos() as u64)
    }

    /// Says whether I/O is due, when all the polls that were granted are over. The caller looks at
    /// it then, and reports that with the same time.
    pub(crate) fn is_due(&mut self, now: Now) -> bool {
        now.since(*self.since.get_or_insert(now)) >= INTERVAL
    }

    /// Grants some polls before the clock is looked at again: a pass over the `ready` tasks that were
    /// ready together, at least, for what comes in meanwhile would wait behind them anyway.
    pub(crate) fn grant(&mut self, now: Now, ready: usize) -> u32 {
        if let Some(looked) = self.looked.replace(now) {
            let mut took = now.since(looked);
            if self.granted > self.stride {
                took /= u64::from(self.granted / self.stride);
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
    pub(crate) fn restart_at(&mut self, now: Now) {
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
    fn time_until_due(pace: &mut Pace, now: &mut u64, poll: u64) -> u64 {
        let start = *now;
        loop {
            *now += poll * u64::from(pace.grant(Now(*now), 1));
            if pace.is_due(Now(*now)) {
                pace.restart_at(Now(*now));
                return *now - start;
            }
        }
    }

    #[test]
    fn io_is_due_after_an_interval_whatever_the_length_of_polls() {
        for poll in [20, 200, 2_000, 10_000, 20_000, 200_000] {
            let (mut pace, mut now) = (Pace::new(), 0);
            for _ in 0..100 {
                time_until_due(&mut pace, &mut now, poll);
            }
            let settled = time_until_due(&mut pace, &mut now, poll);
            let allowed = INTERVAL..=INTERVAL + poll.max(INTERVAL / 2);
            assert!(
                allowed.contains(&settled),
                "{poll} ns: I/O is looked at after {settled} ns"
            );
        }
    }

    #[test]
    fn polls_that_grow_long_are_noticed_after_a_stride() {
        let (mut pace, mut now) = (Pace::new(), 0);
        for _ in 0..100 {
            time_until_due(&mut pace, &mut now, 20);
        }
        let long = 10_000;
        let mut looks = (0..8).map(|_| time_until_due(&mut pace, &mut now, long));
        assert!(looks.all(|look| look <= long * u64::from(LONGEST_STRIDE) + INTERVAL));
        let settled = time_until_due(&mut pace, &mut now, long);
        assert!(settled <= INTERVAL + long, "{settled} ns");
    }

    #[test]
    fn tasks_that_are_ready_together_are_one_pass() {
        let (mut pace, mut now) = (Pace::new(), 0);
        let mut pass = |ready: usize| {
            let passes = (0..20).map(|_| {
                let granted = pace.grant(Now(now), ready);
                now += 30_000 * u64::from(granted);
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
