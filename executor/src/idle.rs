//! Who sleeps, who searches, and whom to wake.
//!
//! A worker with nothing to do lists itself as a *sleeper*, looks once more for work, and sleeps in
//! its reactor. Whoever brings work wakes one sleeper at the most, which then *searches*; and wakes
//! none while somebody searches, for the searcher will find it. One word counts both, so that
//! bringing work to busy workers costs one load:
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0 to 31 | how many workers sleep |
//! | 32 to 63 | how many have been woken and have not found work yet |
//!
//! 1. The word and the list change together, under the lock of the list. It is read without.
//! 2. Work is made visible first, then the word is read: a fence stands between. A sleeper changes
//!    the word first, then looks for work: a fence stands between. So of a push and a falling
//!    asleep one sees the other.
//! 3. Only who takes a sleeper off the list may wake it; a sleeper that finds itself gone from the
//!    list has been woken, and counts as searching until it finds work or sleeps again.
//! 4. A searcher that finds work, and sees that more is left, wakes the next sleeper: the pushes
//!    that were made while it searched have woken nobody.
//! 5. A searcher that finds none goes to sleep by rule 2, and so looks once more after it stopped
//!    counting as searching.

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering, fence};

const ONE_SLEEPER: u64 = 1;
const ONE_SEARCHER: u64 = 1 << 32;

/// The workers of a runtime that have nothing to do; see the module.
#[derive(Debug)]
pub(crate) struct Idle {
    word: AtomicU64,
    sleepers: Mutex<Vec<usize>>,
}

/// What a sleeper learns when it is awake again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WokenBy {
    /// Its own reactor, or nothing at all.
    Itself,
    /// Somebody who took it off the list: it counts as searching.
    Another,
}

impl Idle {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            word: AtomicU64::new(0),
            sleepers: Mutex::new(Vec::with_capacity(workers)),
        }
    }

    /// Lists `worker` as a sleeper. After this it has to look for work once more (rule 2).
    pub(crate) fn begin_sleep(&self, worker: usize) {
        let mut sleepers = self.sleepers.lock();
        sleepers.push(worker);
        self.word.fetch_add(ONE_SLEEPER, Ordering::SeqCst);
        drop(sleepers);
        fence(Ordering::SeqCst);
    }

    /// Takes `worker` off the list, if nobody has.
    pub(crate) fn end_sleep(&self, worker: usize) -> WokenBy {
        let mut sleepers = self.sleepers.lock();
        match sleepers.iter().rposition(|sleeper| *sleeper == worker) {
            Some(index) => {
                sleepers.swap_remove(index);
                self.word.fetch_sub(ONE_SLEEPER, Ordering::SeqCst);
                WokenBy::Itself
            }
            None => WokenBy::Another,
        }
    }

    /// Chooses a sleeper to be woken for work that was just made visible; `None` if nobody sleeps,
    /// or if somebody searches who will find it.
    pub(crate) fn choose(&self) -> Option<usize> {
        fence(Ordering::SeqCst);
        if !Self::wants_a_searcher(self.word.load(Ordering::SeqCst)) {
            return None;
        }
        let mut sleepers = self.sleepers.lock();
        if !Self::wants_a_searcher(self.word.load(Ordering::SeqCst)) {
            return None;
        }
        let chosen = sleepers.pop()?;
        self.word
            .fetch_add(ONE_SEARCHER - ONE_SLEEPER, Ordering::SeqCst);
        Some(chosen)
    }

    /// Takes this very worker off the list, for work that is only its own; returns whether it
    /// slept, so that the caller has to wake it.
    pub(crate) fn claim(&self, worker: usize) -> bool {
        fence(Ordering::SeqCst);
        if self.word.load(Ordering::SeqCst) as u32 == 0 {
            return false;
        }
        let mut sleepers = self.sleepers.lock();
        let Some(index) = sleepers.iter().position(|sleeper| *sleeper == worker) else {
            return false;
        };
        sleepers.swap_remove(index);
        self.word
            .fetch_add(ONE_SEARCHER - ONE_SLEEPER, Ordering::SeqCst);
        true
    }

    /// Ends a search.
    pub(crate) fn end_search(&self) {
        self.word.fetch_sub(ONE_SEARCHER, Ordering::SeqCst);
    }

    fn wants_a_searcher(word: u64) -> bool {
        word as u32 != 0 && word < ONE_SEARCHER
    }
}
