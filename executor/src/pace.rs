//! When a busy worker looks at I/O: after a pass over what is ready, if time has elapsed; with few
//! looks at the clock.

use std::time::{Duration, Instant};

/// How long tasks run before I/O is looked at.
const INTERVAL: Duration = Duration::from_micros(50);
/// How many passes are made between two looks at the clock, at the most.
const LONGEST_STRIDE: u32 = 32;

/// Says when I/O is due. The clock is read once in a stride of passes, which is lengthened while
/// passes are short and shortened when they are not.
#[derive(Debug)]
pub(crate) struct Pace {
    /// When I/O was looked at, or the first look at the clock after that.
    since: Option<Instant>,
    stride: u32,
    /// How many passes of the stride are left.
    left: u32,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self {
            since: None,
            stride: 1,
            left: 1,
        }
    }

    /// Notes that all that was ready has had its turn; says whether I/O is due.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        self.left -= 1;
        self.left == 0 && self.is_due_at(Instant::now())
    }

    #[inline(never)]
    fn is_due_at(&mut self, now: Instant) -> bool {
        let is_due = now.duration_since(*self.since.get_or_insert(now)) >= INTERVAL;
        self.stride = if is_due {
            (self.stride / 2).max(1)
        } else {
            (self.stride * 2).min(LONGEST_STRIDE)
        };
        self.left = self.stride;
        is_due
    }

    /// Notes that I/O was looked at.
    #[inline]
    pub(crate) fn restart(&mut self) {
        self.since = None;
        self.left = self.stride;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polls tasks that take `poll` each until I/O is due; returns how much time that took.
    fn time_until_due(pace: &mut Pace, now: &mut Instant, poll: Duration) -> Duration {
        let start = *now;
        loop {
            *now += poll;
            pace.left -= 1;
            if pace.left == 0 && pace.is_due_at(*now) {
                pace.restart();
                return *now - start;
            }
        }
    }

    #[test]
    fn io_is_due_within_a_few_intervals_whatever_the_length_of_polls() {
        for nanoseconds in [20, 200, 2_000, 20_000, 200_000] {
            let poll = Duration::from_nanos(nanoseconds);
            let (mut pace, mut now) = (Pace::new(), Instant::now());
            for _ in 0..100 {
                time_until_due(&mut pace, &mut now, poll);
            }
            let settled = time_until_due(&mut pace, &mut now, poll);
            assert!(
                settled >= INTERVAL,
                "{poll:?}: I/O is looked at after {settled:?}"
            );
            // The first look at the clock starts the count, the last may come a stride late.
            let latest = INTERVAL * 4 + poll * 4;
            assert!(
                settled <= latest,
                "{poll:?}: I/O is looked at after {settled:?}"
            );
        }
    }
}
