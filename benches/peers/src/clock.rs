//! Reading the clock, and spending time on it.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Does something `count` times and says how long that took.
pub fn timed<T>(count: u64, mut body: impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    for _ in 0..count {
        black_box(body());
    }
    start.elapsed()
}

/// Keeps the processor busy for so long.
pub fn spin(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        std::hint::spin_loop();
    }
}

/// Returns the time since a moment that is the same for the whole process, in nanoseconds; never 0.
///
/// A moment as one word, to be handed to another thread through an atomic, or in a message.
pub fn stamp() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

/// Returns the microseconds from an earlier stamp until now.
pub fn micros_since(earlier: u64) -> f64 {
    stamp().saturating_sub(earlier) as f64 / 1e3
}
