//! Moments: what deadlines are compared as.

use crate::sys::clock::monotonic_nanoseconds;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A point on the monotonic clock, in nanoseconds from the system's own start of it.
///
/// Half the size of an [`Instant`], and compared by one instruction. Reckoning with it saturates:
/// what is too far away is [`Moment::NEVER`], a clock can't get there in 584 years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Moment(u64);

impl Moment {
    /// Before everything.
    pub(crate) const START: Moment = Moment(0);
    /// After everything.
    pub(crate) const NEVER: Moment = Moment(u64::MAX);

    /// Returns it as a number, which compares as it does.
    pub(crate) const fn to_bits(self) -> u64 {
        self.0
    }

    /// Makes it from such a number.
    pub(crate) const fn from_bits(bits: u64) -> Moment {
        Moment(bits)
    }

    /// Reads the clock.
    pub(crate) fn now() -> Moment {
        Moment(monotonic_nanoseconds())
    }

    /// Returns the moment that is `duration` later.
    pub(crate) fn saturating_add(self, duration: Duration) -> Moment {
        let nanoseconds = duration.as_secs().saturating_mul(1_000_000_000);
        let nanoseconds = nanoseconds.saturating_add(u64::from(duration.subsec_nanos()));
        Moment(self.0.saturating_add(nanoseconds))
    }

    /// Returns the time from `earlier` to this moment; nothing if it is not earlier.
    pub(crate) fn saturating_since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Converts from an [`Instant`]; one in the far future is [`Moment::NEVER`].
    pub(crate) fn from_instant(instant: Instant) -> Moment {
        let (known, moment) = *anchor();
        match instant.checked_duration_since(known) {
            Some(later) => moment.saturating_add(later),
            None => Moment(moment.0.saturating_sub(
                u64::try_from(known.duration_since(instant).as_nanos()).unwrap_or(u64::MAX),
            )),
        }
    }

    /// Converts to an [`Instant`]; `None` for [`Moment::NEVER`].
    pub(crate) fn to_instant(self) -> Option<Instant> {
        if self == Moment::NEVER {
            return None;
        }
        let (known, moment) = *anchor();
        match self.0.checked_sub(moment.0) {
            Some(later) => known.checked_add(Duration::from_nanos(later)),
            None => known.checked_sub(Duration::from_nanos(moment.0 - self.0)),
        }
    }
}

/// One point of time read in both ways, to convert by. The two clocks are the same, so that the
/// time between the two reads is the only error; the order makes deadlines later, never earlier.
fn anchor() -> &'static (Instant, Moment) {
    static ANCHOR: OnceLock<(Instant, Moment)> = OnceLock::new();
    ANCHOR.get_or_init(|| {
        let instant = Instant::now();
        (instant, Moment::now())
    })
}
