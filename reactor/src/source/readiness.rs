//! The readiness of one direction, as one word.
//!
//! | bits | name | meaning |
//! | --- | --- | --- |
//! | 0 | [`READY`] | an operation may succeed: an event said so, or none was tried yet |
//! | 1 | [`UNUSUAL`] | the peer has closed, or there is an error: sticky |
//! | 2 | [`URGENT`] | urgent data are pending |
//! | 3 to 63 | generation | counts the events; at one a nanosecond it wraps after 73 years |
//!
//! 1. An event adds 1 to the generation and sets bits, in one step.
//! 2. An operation that said `WouldBlock` clears `READY` and `URGENT`, but only if the word is the
//!    one that was seen before the operation: a newer event is never swallowed.
//! 3. The two directions have words of their own, so that events of one don't keep the other from
//!    being cleared.
//! 4. An operation that took all there was may clear `READY` as if it had said `WouldBlock`, but
//!    only if neither of the other bits was seen: then more may follow without another event.
//!
//! All steps are relaxed. The word publishes no data; a stale look at it costs at most one vain
//! operation, and whoever is about to wait looks again under the source's lock, under which events
//! are noted, too. The models in this crate's `loom` tests show that no event is swallowed.

use crate::poller::Event;
use crate::sync::{AtomicU64, Ordering};

const READY: u64 = 1;
const UNUSUAL: u64 = 2;
const URGENT: u64 = 4;
const ONE_EVENT: u64 = 8;

/// The readiness of one direction; see the module.
#[derive(Debug)]
pub(crate) struct Readiness(AtomicU64);

/// What the word was before an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen(u64);

impl Seen {
    /// Says whether an operation may succeed.
    pub(crate) fn is_ready(self) -> bool {
        self.0 & READY != 0
    }
}

impl Default for Readiness {
    /// Ready: whether an operation would block is found out by trying.
    fn default() -> Self {
        Self(AtomicU64::new(READY))
    }
}

impl Readiness {
    /// Returns the word as it is before an operation.
    #[inline]
    pub(crate) fn seen(&self) -> Seen {
        Seen(self.0.load(Ordering::Relaxed))
    }

    /// Rule 1: an event for this direction.
    pub(crate) fn note(&self) {
        self.add(READY);
    }

    /// Rule 1, for the read direction, of which events tell more.
    pub(crate) fn note_read(&self, event: &Event) {
        let unusual = event.is_read_closed() || event.is_error();
        self.add(
            (READY * u64::from(event.is_readable()))
                | (UNUSUAL * u64::from(unusual))
                | (URGENT * u64::from(event.is_priority())),
        );
    }

    fn add(&self, bits: u64) {
        let mut now = self.0.load(Ordering::Relaxed);
        loop {
            let next = now.wrapping_add(ONE_EVENT) | bits;
            match self
                .0
                .compare_exchange_weak(now, next, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(changed) => now = changed,
            }
        }
    }

    /// Rule 2: the operation that followed `seen` said `WouldBlock`.
    pub(crate) fn clear(&self, seen: Seen) {
        let cleared = seen.0 & !(READY | URGENT);
        // A failure is a newer event, which stays.
        let _ = self
            .0
            .compare_exchange(seen.0, cleared, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Rule 4: the operation that followed `seen` took all there was.
    #[inline]
    pub(crate) fn clear_drained(&self, seen: Seen) {
        if seen.0 & (UNUSUAL | URGENT) == 0 {
            self.clear(seen);
        }
    }
}
