//! What a server counts, and when it has nothing left to do.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use windlass::time::sleep;
use windlass::{Drain, DrainGuard};

/// How long nothing must have been served for the drain to be over, and how often that is looked at.
const QUIET: Duration = Duration::from_millis(100);

/// The counts of a server, of which there is one, in a `static`: so they cost a connection nothing.
///
/// All accesses are relaxed, for the numbers are only looked at, and order nothing.
#[derive(Debug)]
pub struct Totals {
    /// What is served: "bytes" or "requests".
    unit: &'static str,
    served: AtomicU64,
    /// Whether the server was asked to stop, and what clients are owed.
    drain: LazyLock<Drain>,
}

impl Totals {
    /// Starts from nothing; `unit` is what is served.
    pub const fn new(unit: &'static str) -> Self {
        Self {
            unit,
            served: AtomicU64::new(0),
            drain: LazyLock::new(Drain::new),
        }
    }

    /// Counts what was served.
    pub fn served(&self, count: u64) {
        self.served.fetch_add(count, Ordering::Relaxed);
    }

    /// Notes that a client is owed something, until what is returned is dropped: a server that is
    /// asked to stop waits for that.
    pub fn owe(&self) -> DrainGuard {
        self.drain.guard()
    }

    /// Notes that the server was asked to stop.
    pub fn stop(&self) {
        self.drain.stop();
    }

    /// Says whether the server was asked to stop, so that answers should be the last.
    pub fn is_stopping(&self) -> bool {
        self.drain.is_stopping()
    }

    /// Returns what knows whether the server was asked to stop, and what clients are owed.
    pub fn owed(&self) -> Drain {
        self.drain.clone()
    }

    /// Waits until no client is owed anything and nothing has been served for a while, or until
    /// `limit` is over. Returns how many clients still are owed something.
    ///
    /// Whether something is served is looked at again and again, instead of being told, so that
    /// connections need not keep anything for the sake of a moment that comes once.
    pub async fn drain(&self, limit: Duration) -> usize {
        let end = Instant::now() + limit;
        loop {
            let before = self.served.load(Ordering::Relaxed);
            sleep(QUIET).await;
            let left = self
                .drain
                .wait(end.saturating_duration_since(Instant::now()))
                .await;
            let is_quiet = self.served.load(Ordering::Relaxed) == before;
            if is_quiet || Instant::now() >= end {
                return left;
            }
        }
    }
}

impl Totals {
    /// Says what was served, on how many connections, and how many of those have failed.
    pub fn in_words(&self, connections: u64, errors: u64) -> String {
        let served = self.served.load(Ordering::Relaxed);
        let unit = self.unit;
        format!("{connections} connections, {served} {unit}, {errors} errors")
    }
}
