//! Who waits for a standard stream.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;
use windlass_reactor::contain::contain;

/// A waker for each handle that waits. Nothing in here wakes or drops one: it is taken out under
/// the lock, for the caller to do so when the lock is released.
#[derive(Debug)]
pub(super) struct Waiters(BTreeMap<u64, Waker>);

impl Waiters {
    pub(super) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Has the handle `id` woken; returns the waker that it has replaced.
    #[must_use]
    pub(super) fn put(&mut self, id: u64, waker: Waker) -> Option<Waker> {
        self.0.insert(id, waker)
    }

    #[must_use]
    pub(super) fn take(&mut self, id: u64) -> Option<Waker> {
        self.0.remove(&id)
    }

    #[must_use]
    pub(super) fn take_all(&mut self) -> Taken {
        Taken(std::mem::take(&mut self.0))
    }
}

/// Those who are to be woken.
#[derive(Debug)]
pub(super) struct Taken(BTreeMap<u64, Waker>);

impl Taken {
    pub(super) fn wake(self) {
        for waker in self.0.into_values() {
            // Waking runs somebody else's code, whose panics are not ours.
            contain(move || waker.wake());
        }
    }
}

/// Returns a number that no other handle has.
pub(super) fn new_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
