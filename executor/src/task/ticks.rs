//! A clock for what is read once in each turn and is not worth a call: when a task was polled last.

use std::time::{Duration, Instant};

/// How many of the lowest bits a [`Tick`] has lost.
const LOST: u32 = 22;

/// A moment, rounded to some milliseconds; it wraps around after some weeks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tick(pub(super) u32);

/// Finds out how fast the counter goes, by the time since it was made.
#[derive(Debug)]
pub(crate) struct Ticks {
    counter: u64,
    instant: Instant,
}

impl Tick {
    /// Reads the clock.
    #[inline(always)]
    pub(crate) fn now() -> Self {
        Self((counter() >> LOST) as u32)
    }
}

impl Ticks {
    pub(crate) fn new() -> Self {
        Self {
            counter: counter(),
            instant: Instant::now(),
        }
    }

    /// Returns how long ago `tick` was, if it was after this was made.
    pub(crate) fn since(&self, tick: Tick) -> Duration {
        let now = counter();
        let elapsed = self.instant.elapsed();
        let counted = now.wrapping_sub(self.counter).max(1);
        let ticks = ((now >> LOST) as u32).wrapping_sub(tick.0);
        // The counters of two processors may differ by a little.
        if ticks > u32::MAX / 2 {
            return Duration::ZERO;
        }
        let part = (u64::from(ticks) << LOST) as f64 / counted as f64;
        elapsed.mul_f64(part.min(1.0))
    }
}

/// Reads what counts evenly while the machine runs.
#[inline(always)]
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn counter() -> u64 {
    // SAFETY: Every processor of this architecture has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Reads what counts evenly while the machine runs.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn counter() -> u64 {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
