//! What a listener does when the process or the system is out of descriptors or memory.
//!
//! The connection stays queued then, and the listener ready: whoever tries again at once spins. So
//! a shortage is told once, and until a connection is accepted again each attempt waits, longer and
//! longer. All who accept from one listener wait together.

use parking_lot::Mutex;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use windlass_reactor::time::{Sleep, sleep_until};

const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
/// Long enough to cost nothing, short enough that nobody minds once there are descriptors again.
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// The shortage of one listener, if it has one.
#[derive(Debug, Default)]
pub(super) struct Shortage(Mutex<Option<Pause>>);

#[derive(Clone, Copy, Debug)]
struct Pause {
    length: Duration,
    /// When the next attempt is due; kept here, so that whoever gives up and comes back doesn't
    /// wait anew.
    until: Instant,
}

impl Shortage {
    /// Takes in that an attempt at `now` failed; says whether it is the first of this shortage.
    pub(super) fn begin_or_go_on(&self, now: Instant) -> bool {
        let mut pause = self.0.lock();
        let is_first = pause.is_none();
        let length = pause.map_or(SHORTEST_PAUSE, |last| {
            // Of several whose attempts fail together, one makes the pause longer.
            if last.until <= now {
                (last.length * 2).min(LONGEST_PAUSE)
            } else {
                last.length
            }
        });
        let until = now + length;
        *pause = Some(Pause { length, until });
        is_first
    }

    /// Takes in that an attempt has succeeded.
    pub(super) fn end(&self) {
        *self.0.lock() = None;
    }

    fn until(&self) -> Option<Instant> {
        self.0.lock().map(|pause| pause.until)
    }

    /// Waits until an attempt is due. `sleep` is the caller's, and keeps its place in between.
    pub(super) fn poll_due(
        &self,
        context: &mut Context<'_>,
        sleep: &mut Option<Sleep>,
    ) -> Poll<()> {
        if sleep.is_none() {
            let Some(until) = self.until() else {
                return Poll::Ready(());
            };
            *sleep = Some(sleep_until(until));
        }
        let due = sleep
            .as_mut()
            .map_or(Poll::Ready(()), |sleep| Pin::new(sleep).poll(context));
        if due.is_ready() {
            *sleep = None;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_PAUSE, SHORTEST_PAUSE, Shortage};
    use std::time::{Duration, Instant};

    #[test]
    fn is_told_once_and_waits_longer_and_longer() {
        let shortage = Shortage::default();
        let mut now = Instant::now();
        assert!(shortage.begin_or_go_on(now));
        assert_eq!(shortage.until(), Some(now + SHORTEST_PAUSE));
        for _ in 0..10 {
            now = shortage.until().unwrap();
            assert!(!shortage.begin_or_go_on(now));
        }
        assert_eq!(shortage.until(), Some(now + LONGEST_PAUSE));
        shortage.end();
        assert_eq!(shortage.until(), None);
        assert!(shortage.begin_or_go_on(now));
    }

    #[test]
    fn failing_together_makes_it_longer_once() {
        let shortage = Shortage::default();
        let now = Instant::now();
        shortage.begin_or_go_on(now);
        for after in 1..5 {
            shortage.begin_or_go_on(now + Duration::from_millis(after));
        }
        assert_eq!(
            shortage.until(),
            Some(now + Duration::from_millis(4) + SHORTEST_PAUSE)
        );
    }
}
