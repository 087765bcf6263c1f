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
//! 4. A token on the list that is registered all the same stays in the batch: it was registered
//!    again, or is shared by another descriptor. An event of it is at worst spurious, and an edge
//!    must not be lost.

use super::{Events, Token};
use crate::sync::{AtomicBool, Mutex, Ordering};

#[derive(Debug, Default)]
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

    /// Rule 1: a wait is over; drops the events of what has been removed meanwhile, unless
    /// `is_registered` says that the token is in the set (rule 4).
    pub(super) fn close(&self, events: &mut Events, is_registered: impl Fn(Token) -> bool) {
        self.open.store(false, Ordering::SeqCst);
        if self.any.load(Ordering::SeqCst) {
            self.filter(events, is_registered);
        }
    }

    #[cold]
    fn filter(&self, events: &mut Events, is_registered: impl Fn(Token) -> bool) {
        let departed = {
            let mut list = self.list.lock();
            self.any.store(false, Ordering::SeqCst);
            std::mem::take(&mut *list)
        };
        events.retain(|token| !departed.contains(&token) || is_registered(token));
    }

    /// Rule 2: `token` has left the kernel's set.
    pub(super) fn record(&self, token: Token) {
        if self.open.load(Ordering::SeqCst) {
            let mut list = self.list.lock();
            list.push(token);
            self.any.store(true, Ordering::SeqCst);
        }
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use crate::poller::Flags;

    fn batch(tokens: &[u64]) -> Events {
        let mut events = Events::new();
        for token in tokens {
            events.push(Token(*token), Flags::READABLE);
        }
        events
    }

    fn tokens(events: &Events) -> Vec<u64> {
        events.iter().map(|event| event.token().0).collect()
    }

    #[test]
    fn drops_what_was_removed_during_the_wait() {
        let departures = Departures::default();
        departures.open();
        departures.record(Token(2));
        let mut events = batch(&[1, 2, 3]);
        departures.close(&mut events, |_| false);
        assert_eq!(tokens(&events), [1, 3]);
    }

    #[test]
    fn keeps_a_token_that_another_descriptor_shares() {
        let departures = Departures::default();
        departures.open();
        departures.record(Token(2));
        let mut events = batch(&[2]);
        departures.close(&mut events, |token| token == Token(2));
        assert_eq!(tokens(&events), [2]);
    }

    #[test]
    fn forgets_a_removal_with_the_wait_that_it_concerned() {
        let departures = Departures::default();
        departures.open();
        departures.record(Token(2));
        departures.close(&mut Events::new(), |_| false);
        departures.record(Token(3));
        departures.open();
        let mut events = batch(&[2, 3]);
        departures.close(&mut events, |_| false);
        assert_eq!(tokens(&events), [2, 3]);
    }
}
