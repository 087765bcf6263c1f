//! The readiness of one direction, as one word.
//!
//! | bits | name | meaning |
//! | --- | --- | --- |
//! | 0 | [`READY`] | an operation may succeed: an event said so, or none was tried yet |
//! | 2 | [`URGENT`] | urgent data may be pending |
//! | 3, 5 | [`UNUSUAL`] | the peer has closed, or there is an error: sticky |
//! | 6 to 63 | generation | counts the events; at one a nanosecond it wraps after 9 years |
//!
//! The bits are where an event has them, so that those of an event are taken over as they are.
//!
//! 1. An event adds 1 to the generation and sets bits, in one step.
//! 2. An operation that said `WouldBlock` clears `READY` and `URGENT`, but only if the word is the
//!    one that was seen before the operation: a newer event is never swallowed.
//! 3. The two directions have words of their own, so that events of one don't keep the other from
//!    being cleared.
//! 4. An operation that took all there was may clear `READY` as if it had said `WouldBlock`, but
//!    only if neither of the other bits was seen: then more may follow without another event.
//!
//! A look acquires what an event releases: whoever has seen an event finds what it was about, so
//! that a `WouldBlock` after it is never older than it, which rule 2 relies on. (The kernel's own
//! locks order the two as well; but that is nothing to build on.) Clearing publishes nothing and is
//! relaxed. A stale look costs at most one vain operation, and whoever is about to wait looks again
//! under the source's lock, under which events are noted, too. The models in this crate's `loom`
//! tests show that no event is swallowed.

use crate::poller::Event;
use crate::sync::{AtomicU64, Ordering};

const READY: u64 = 1;
const URGENT: u64 = 4;
const UNUSUAL: u64 = 8 | 32;
const ONE_EVENT: u64 = 64;

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
        Seen(self.0.load(Ordering::Acquire))
    }

    /// Rule 1: an event for this direction.
    pub(crate) fn note(&self) {
        self.add(READY);
    }

    /// Rule 1, for the read direction, of which events tell more; `urgent` says that there may be
    /// urgent data that the event does not tell of.
    #[inline]
    pub(crate) fn note_read(&self, event: &Event, urgent: bool) {
        let told = u64::from(event.bits()) & (READY | URGENT | UNUSUAL);
        self.add(told | (URGENT * u64::from(urgent)));
    }

    #[inline]
    fn add(&self, bits: u64) {
        let mut now = self.0.load(Ordering::Relaxed);
        loop {
            let next = now.wrapping_add(ONE_EVENT) | bits;
            match self
                .0
                .compare_exchange_weak(now, next, Ordering::Release, Ordering::Relaxed)
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

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use crate::poller::{Events, Flags, Token};

    fn event(flags: Flags) -> Event {
        let mut events = Events::new();
        events.push(Token(0), flags);
        events.iter().copied().next().expect("one was pushed")
    }

    #[test]
    fn a_late_clear_does_not_swallow_a_newer_event() {
        let readiness = Readiness::default();
        let seen = readiness.seen();
        readiness.note();
        readiness.clear(seen);
        assert!(readiness.seen().is_ready());
        readiness.clear(readiness.seen());
        assert!(!readiness.seen().is_ready());
    }

    #[test]
    fn no_number_of_events_makes_an_old_look_current_again() {
        let readiness = Readiness::default();
        let seen = readiness.seen();
        for count in 1..=1 << 17 {
            readiness.note();
            readiness.clear(seen);
            assert!(readiness.seen().is_ready(), "after {count} events");
        }
    }

    #[test]
    fn drained_is_not_believed_once_more_may_follow_without_an_event() {
        for (flags, is_believed) in [
            (Flags::READABLE, true),
            (Flags::READ_CLOSED, false),
            (Flags::HANG_UP, false),
            (Flags::ERROR, false),
            (Flags::READABLE.and(Flags::PRIORITY), false),
        ] {
            let readiness = Readiness::default();
            readiness.note_read(&event(flags), false);
            readiness.clear_drained(readiness.seen());
            assert_eq!(readiness.seen().is_ready(), !is_believed, "{flags:?}");
            readiness.clear(readiness.seen());
            assert!(!readiness.seen().is_ready(), "WouldBlock is believed");
        }
    }

    #[test]
    fn drained_is_not_believed_where_urgent_data_may_hide() {
        let readiness = Readiness::default();
        readiness.note_read(&event(Flags::READABLE), true);
        readiness.clear_drained(readiness.seen());
        assert!(readiness.seen().is_ready());
        readiness.clear(readiness.seen());
        assert!(!readiness.seen().is_ready(), "WouldBlock is believed");
    }

    #[test]
    fn what_is_over_stays_over_and_what_is_urgent_does_not() {
        let readiness = Readiness::default();
        readiness.note_read(&event(Flags::READ_CLOSED.and(Flags::PRIORITY)), false);
        readiness.clear(readiness.seen());
        let seen = readiness.seen();
        assert!(seen.0 & UNUSUAL != 0 && seen.0 & URGENT == 0, "{seen:?}");
    }

    #[test]
    fn urgent_data_alone_are_no_readiness_to_read() {
        let readiness = Readiness::default();
        readiness.clear(readiness.seen());
        readiness.note_read(&event(Flags::PRIORITY), false);
        assert!(!readiness.seen().is_ready());
    }
}

#[cfg(all(test, windlass_loom))]
mod loom_models {
    use super::Readiness;
    use loom::sync::atomic::{AtomicUsize, Ordering};
    use loom::sync::{Arc, Condvar, Mutex};
    use loom::thread;

    /// A source with one reader, over a kernel that counts the bytes that are there.
    struct Model {
        readiness: Readiness,
        /// The source's lock: whether the reader waits.
        waits: Mutex<bool>,
        is_woken: Condvar,
        bytes: AtomicUsize,
    }

    impl Model {
        fn new() -> Arc<Self> {
            Arc::new(Self {
                readiness: Readiness::default(),
                waits: Mutex::new(false),
                is_woken: Condvar::new(),
                bytes: AtomicUsize::new(0),
            })
        }

        /// A byte arrives, and the turning thread takes in the event.
        fn arrive(&self) {
            self.bytes.fetch_add(1, Ordering::SeqCst);
            let mut waits = self.waits.lock().unwrap();
            self.readiness.note();
            *waits = false;
            self.is_woken.notify_one();
        }

        /// Waits as a task does: looks, and looks again under the lock.
        fn wait(&self) {
            if self.readiness.seen().is_ready() {
                return;
            }
            let mut waits = self.waits.lock().unwrap();
            if self.readiness.seen().is_ready() {
                return;
            }
            *waits = true;
            while *waits {
                waits = self.is_woken.wait(waits).unwrap();
            }
        }

        /// Reads until `wanted` bytes have come; a lost event is a deadlock.
        fn read(&self, wanted: usize, believes_drained: bool) {
            let mut taken = 0;
            while taken < wanted {
                self.wait();
                let seen = self.readiness.seen();
                if !seen.is_ready() {
                    continue;
                }
                match self.bytes.swap(0, Ordering::SeqCst) {
                    0 => self.readiness.clear(seen),
                    some if believes_drained => {
                        taken += some;
                        self.readiness.clear_drained(seen);
                    }
                    some => taken += some,
                }
            }
        }
    }

    fn check(believes_drained: bool) {
        loom::model(move || {
            let model = Model::new();
            let arrivals = {
                let model = model.clone();
                thread::spawn(move || {
                    model.arrive();
                    model.arrive();
                })
            };
            model.read(2, believes_drained);
            arrivals.join().unwrap();
        });
    }

    #[test]
    fn no_event_is_swallowed_by_would_block() {
        check(false);
    }

    #[test]
    fn no_event_is_swallowed_by_a_read_that_took_all() {
        check(true);
    }

    // With two who read: the clear of one is no clear of what the other has not seen.
    #[test]
    fn a_clear_by_another_reader_swallows_nothing() {
        // Bounded, since three threads have too many orders to try them all.
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let model = Model::new();
            let meddler = {
                let model = model.clone();
                thread::spawn(move || {
                    let seen = model.readiness.seen();
                    // It would block as long as there is nothing.
                    if model.bytes.load(Ordering::SeqCst) == 0 {
                        model.readiness.clear(seen);
                    }
                })
            };
            let arrival = {
                let model = model.clone();
                thread::spawn(move || model.arrive())
            };
            model.read(1, false);
            meddler.join().unwrap();
            arrival.join().unwrap();
        });
    }
}
