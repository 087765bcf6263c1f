//! What a listener does when the process or the system is out of descriptors or memory.
//!
//! The connection stays queued then, and the listener ready: whoever tries again at once spins. So
//! a shortage is told once, and until a connection is accepted again each attempt waits, longer and
//! longer. All who accept from one listener wait together.

use parking_lot::Mutex;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use windlass_reactor::time::{Sleep, sleep_until};

const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
/// Long enough to cost nothing, short enough that nobody minds once there are descriptors again.
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a listener waits between attempts while descriptors or memory are short: at first a
/// short pause, then twice as long each time, up to the longest. See
/// [`set_accept_backoff`](crate::TcpListener::set_accept_backoff).
///
/// ```
/// # futures::executor::block_on(async {
/// use std::time::Duration;
/// use windlass_net::{AcceptBackoff, TcpListener};
///
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// listener.set_accept_backoff(AcceptBackoff::new().longest(Duration::from_secs(1)));
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptBackoff {
    shortest: Duration,
    longest: Duration,
}

impl AcceptBackoff {
    /// Begins with 10 ms, and goes up to 250 ms.
    pub const fn new() -> Self {
        Self {
            shortest: SHORTEST_PAUSE,
            longest: LONGEST_PAUSE,
        }
    }

    /// Begins with `pause`; less than a millisecond counts as one, lest it spin.
    pub fn shortest(mut self, pause: Duration) -> Self {
        self.shortest = pause.max(Duration::from_millis(1));
        self
    }

    /// Goes up to `pause`; less than the shortest counts as that.
    pub fn longest(mut self, pause: Duration) -> Self {
        self.longest = pause;
        self
    }

    fn after(self, length: Duration) -> Duration {
        length
            .saturating_mul(2)
            .min(self.longest)
            .max(self.shortest)
    }
}

impl Default for AcceptBackoff {
    fn default() -> Self {
        Self::new()
    }
}

/// The shortage of one listener, if it has one.
#[derive(Debug, Default)]
pub(super) struct Shortage {
    pause: Mutex<Option<Pause>>,
    backoff: Mutex<AcceptBackoff>,
    /// How many attempts have failed; relaxed, as nothing hangs on it.
    failed: AtomicU64,
}

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
        self.failed.fetch_add(1, Ordering::Relaxed);
        let backoff = *self.backoff.lock();
        let mut pause = self.pause.lock();
        let is_first = pause.is_none();
        let length = pause.map_or(backoff.shortest, |last| {
            // Of several whose attempts fail together, one makes the pause longer.
            if last.until <= now {
                backoff.after(last.length)
            } else {
                last.length
            }
        });
        // Beyond the end of time, a day will do.
        let until = now.checked_add(length).unwrap_or(now + A_DAY);
        *pause = Some(Pause { length, until });
        is_first
    }

    /// Takes in that an attempt has succeeded.
    pub(super) fn end(&self) {
        *self.pause.lock() = None;
    }

    pub(super) fn set_backoff(&self, backoff: AcceptBackoff) {
        *self.backoff.lock() = backoff;
    }

    pub(super) fn count(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    fn until(&self) -> Option<Instant> {
        self.pause.lock().map(|pause| pause.until)
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
    use super::{AcceptBackoff, LONGEST_PAUSE, SHORTEST_PAUSE, Shortage};
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
    fn waits_as_long_as_it_was_told() {
        let shortage = Shortage::default();
        let backoff = AcceptBackoff::new()
            .shortest(Duration::ZERO)
            .longest(Duration::from_millis(3));
        shortage.set_backoff(backoff);
        let mut now = Instant::now();
        for pause in [1, 2, 3, 3] {
            shortage.begin_or_go_on(now);
            now += Duration::from_millis(pause);
            assert_eq!(shortage.until(), Some(now));
        }
        assert_eq!(shortage.count(), 4);
        shortage.set_backoff(AcceptBackoff::new().shortest(Duration::MAX));
        shortage.begin_or_go_on(now);
        assert!(shortage.until() > Some(now + Duration::from_secs(3600)));
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
