//! Which tokens were removed while a wait was under way.
//!
//! A kernel that keeps the set itself may have handed an event to the waiting thread just before
//! another thread removes its descriptor. These are the rules by which no batch handed out after a
//! removal returned has its token:
//!
//! 1. The waiter opens the list before it enters the kernel, and closes it when it is back.
//! 2. A remover first takes the descriptor out of the kernel's set, then looks whether the list is
//!    open, and if so puts the token in before it returns. If the list is closed, the waiter either
//!    had not gone in, and the kernel can't give it the event, or has handed out its batch.
//! 3. Opening and looking are sequentially consistent, and the system calls between them are
//!    ordered by the kernel's own lock of the set.
//! 4. A token that is registered again is taken off the list: an event of it is at worst spurious,
//!    and an edge must not be lost.

use super::{Events, Token};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Default)]
pub(super) struct Departures {
    open: AtomicBool,
    /// Whether the list has entries, so that a wait without any takes no lock.
    any: AtomicBool,
    list: Mutex<Vec<Token>>,
}

impl Departures {
    /// Rule 1: a wait begins.
    pub(super) fn open(&self) {
        self.open.store(true, Ordering::SeqCst);
    }

    /// Rule 1: a wait is over; drops the events of what has been removed meanwhile.
    pub(super) fn close(&self, events: &mut Events) {
        self.open.store(false, Ordering::SeqCst);
        if self.any.load(Ordering::SeqCst) {
            self.filter(events);
        }
    }

    #[cold]
    fn filter(&self, events: &mut Events) {
        let mut list = self.list.lock();
        self.any.store(false, Ordering::SeqCst);
        events.retain(|token| !list.contains(&token));
        list.clear();
    }

    /// Rule 2: `token` has left the kernel's set.
    pub(super) fn record(&self, token: Token) {
        if self.open.load(Ordering::SeqCst) {
            let mut list = self.list.lock();
            list.push(token);
            self.any.store(true, Ordering::SeqCst);
        }
    }

    /// Rule 4: `token` is in the set (again).
    pub(super) fn forget(&self, token: Token) {
        if self.any.load(Ordering::SeqCst) {
            self.list.lock().retain(|departed| *departed != token);
        }
    }
}
