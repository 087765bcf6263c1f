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

#[cfg(all(test, windlass_loom))]
mod loom_models {
    use super::*;
    use crate::poller::Flags;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicBool;
    use loom::thread;

    const TOKEN: Token = Token(1);

    /// One edge-triggered descriptor in a kernel's set, which has its own lock.
    #[derive(Default)]
    struct Model {
        departures: Departures,
        /// Whether it is in our table.
        table: Mutex<bool>,
        /// Whether it is in the kernel's set, with an edge to report.
        kernel: Mutex<bool>,
        has_returned: AtomicBool,
    }

    impl Model {
        fn add(&self) {
            let mut table = self.table.lock();
            *self.kernel.lock() = true;
            *table = true;
        }

        fn remove(&self) {
            {
                let mut table = self.table.lock();
                *table = false;
                *self.kernel.lock() = false;
                self.departures.record(TOKEN);
            }
            self.has_returned.store(true, Ordering::SeqCst);
        }

        /// Waits once; returns the number of events, and whether the removal had returned before
        /// the batch was handed out.
        fn wait(&self) -> (usize, bool) {
            let mut events = Events::new();
            self.departures.open();
            if std::mem::take(&mut *self.kernel.lock()) {
                events.push(TOKEN, Flags::READABLE);
            }
            let was_gone = self.has_returned.load(Ordering::SeqCst);
            self.departures.close(&mut events, |_| *self.table.lock());
            (events.len(), was_gone)
        }
    }

    #[test]
    fn no_batch_has_what_was_removed_before() {
        loom::model(|| {
            let model = Arc::new(Model::default());
            model.add();
            let remover = {
                let model = model.clone();
                thread::spawn(move || model.remove())
            };
            for _ in 0..2 {
                let (count, was_gone) = model.wait();
                assert!(!was_gone || count == 0, "it came after its removal");
            }
            remover.join().unwrap();
        });
    }

    #[test]
    fn an_edge_of_what_is_added_again_is_not_lost() {
        loom::model(|| {
            let model = Arc::new(Model::default());
            model.add();
            let (before, _) = model.wait();
            assert_eq!(before, 1);
            let owner = {
                let model = model.clone();
                thread::spawn(move || {
                    model.remove();
                    model.add();
                })
            };
            let (during, _) = model.wait();
            owner.join().unwrap();
            let (after, _) = model.wait();
            assert!(during + after >= 1, "the edge was lost");
        });
    }

    // Another thread may add a token again before the removal of the first has returned.
    #[test]
    fn an_edge_of_what_another_thread_adds_is_not_lost() {
        loom::model(|| {
            let model = Arc::new(Model::default());
            let (one, other) = (model.clone(), model.clone());
            let remover = thread::spawn(move || one.remove());
            let adder = thread::spawn(move || other.add());
            let (during, _) = model.wait();
            remover.join().unwrap();
            adder.join().unwrap();
            let (after, _) = model.wait();
            let is_in = *model.table.lock();
            assert!(!is_in || during + after >= 1, "the edge was lost");
        });
    }
}
