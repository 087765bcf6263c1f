//! Latencies gathered over a run, and the line that sums them up.

use std::fmt;
use std::time::Duration;

/// The latencies of a run.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// let mut latencies = windlass_benches::Latencies::default();
/// latencies.record(Duration::from_micros(40));
/// assert_eq!(latencies.to_string(), "1 round trips, median 40.0 us, p99 40.0 us");
/// ```
#[derive(Debug, Default)]
pub struct Latencies {
    /// One entry a round trip, in the order in which they ended.
    all: Vec<Duration>,
}

impl Latencies {
    /// Adds one round trip.
    pub fn record(&mut self, latency: Duration) {
        self.all.push(latency);
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted = self.all.clone();
        sorted.sort_unstable();
        let at = |percent: usize| {
            let last = sorted.len().saturating_sub(1);
            let latency = sorted.get((sorted.len() * percent / 100).min(last));
            latency.map_or(0.0, |latency| latency.as_secs_f64() * 1e6)
        };
        let (count, median, tail) = (sorted.len(), at(50), at(99));
        write!(
            formatter,
            "{count} round trips, median {median:.1} us, p99 {tail:.1} us"
        )
    }
}
