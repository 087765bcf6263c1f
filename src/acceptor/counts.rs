//! What has become of the connections.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many connections an [`Acceptor`](super::Acceptor) has had, and how they have ended.
///
/// All that were accepted are active, or have ended in one of five ways.
///
/// ```
/// let counts = windlass::net::AcceptorCounts::default();
/// assert_eq!(counts.to_string(), "0 accepted, 0 active, 0 refused, 0 finished, 0 failed, \
///                                 0 timed out, 0 panicked, 0 aborted");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcceptorCounts {
    /// Were given to a handler.
    pub accepted: u64,
    /// Are open.
    pub active: u64,
    /// Were closed at once, as too many were open.
    pub refused: u64,
    /// Have ended with `Ok`.
    pub finished: u64,
    /// Have ended with an error.
    pub failed: u64,
    /// Have reached a time limit.
    pub timed_out: u64,
    /// Whose handler has panicked.
    pub panicked: u64,
    /// Were cut off by the end of a drain, or of the runtime.
    pub aborted: u64,
}

impl fmt::Display for AcceptorCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} accepted, {} active, {} refused, {} finished, {} failed, {} timed out, \
             {} panicked, {} aborted",
            self.accepted,
            self.active,
            self.refused,
            self.finished,
            self.failed,
            self.timed_out,
            self.panicked,
            self.aborted,
        )
    }
}

/// How a connection has ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Finished,
    Failed,
    TimedOut,
    Panicked,
    /// Its future was dropped before it was done.
    Aborted,
}

/// The counters. All accesses are relaxed, for the numbers are only looked at, and order nothing.
#[derive(Debug, Default)]
pub(super) struct Counters {
    accepted: AtomicU64,
    refused: AtomicU64,
    /// By [`End`].
    ended: [AtomicU64; 5],
}

impl Counters {
    pub(super) fn accepted(&self) {
        self.accepted.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ended(&self, end: End) {
        self.ended[end as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> AcceptorCounts {
        // Those that have ended are read first, so that they are not more than were accepted.
        let ended = |end| self.ended[end as usize].load(Ordering::Relaxed);
        let mut counts = AcceptorCounts {
            finished: ended(End::Finished),
            failed: ended(End::Failed),
            timed_out: ended(End::TimedOut),
            panicked: ended(End::Panicked),
            aborted: ended(End::Aborted),
            refused: self.refused.load(Ordering::Relaxed),
            accepted: self.accepted.load(Ordering::Relaxed),
            active: 0,
        };
        let over =
            counts.finished + counts.failed + counts.timed_out + counts.panicked + counts.aborted;
        counts.active = counts.accepted.saturating_sub(over);
        counts
    }
}
