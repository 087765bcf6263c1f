//! Who sleeps, who searches, and whom to wake.
//!
//! A worker with nothing to do says that it is *asleep*, looks once more for work, and sleeps in
//! its reactor. Whoever brings work that any worker may do chooses one sleeper at the most, which
//! then *searches*; and chooses none while somebody searches, for the searcher will find it. Work
//! for one worker only claims that worker. One word counts sleepers and searchers, so that bringing
//! work to busy workers costs one load:
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0 to 15 | how many workers sleep; for a moment more than do, never fewer |
//! | 16 to 31 | how many were chosen and have not found work yet, or are choosing |
//! | 32 to 63 | how often a worker has gone to sleep, to notice that one did |
//!
//! 1. Work is made visible first, then the word is read; a sleeper counts itself first, then looks
//!    for work. A fence stands between the two steps of each, so that of a push and a falling
//!    asleep one sees the other.
//! 2. Only who takes `ASLEEP` away may wake the sleeper: by making it `CHOSEN` or `CLAIMED`. The
//!    sleeper takes it away itself when its own reactor has woken it.
//! 3. Whoever chooses counts as searching before it looks for a sleeper, and hands that on to the
//!    one that it finds. If it finds none, it stops counting, and begins again if anybody has gone
//!    to sleep meanwhile: others may have relied on it. It never waits for anybody.
//! 4. A searcher that finds work stops counting, and then, behind a fence, looks whether more is
//!    left anywhere; if so it has the next sleeper chosen: pushes that were made while it searched
//!    have woken nobody.
//! 5. A searcher that finds none stops counting before it goes to sleep by rule 1, and so looks
//!    once more after that, at the queues of all workers. If it sees work then, it counts again:
//!    there may be more, left to it by whoever pushed while it searched. Who goes to sleep while
//!    another searches may leave the look at those queues to it.
//! 6. A worker that runs out of work may search of its own accord, by counting itself, while that
//!    makes at most half of the workers searchers.
//! 7. A worker that adds to its own queue need not choose: it is awake itself, and looks at the
//!    word before each task that it runs while more are left. It makes the fence of rule 1 only if
//!    the queue was empty, as it is when a task blocks its thread after the one push that others
//!    wait for. What it adds behind others may be overlooked, if at the same moment somebody takes
//!    those and goes to sleep: until its next task, or until it is found to be stuck.
//! 8. A worker that came to help with very short tasks, and has run out of them, *naps*: it doesn't
//!    count as a sleeper, so that nobody is chosen for each few that are added, and looks again a
//!    moment later, when there is a part to take that is worth it. It may be claimed meanwhile as a
//!    sleeper may. Whoever naps doesn't search, and has looked for work after it said so.

use crate::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};
use std::sync::Arc;

const ONE_SLEEPER: u64 = 1;
const ONE_SEARCHER: u64 = 1 << 16;
const ONE_SLEEP: u64 = 1 << 32;

const AWAKE: u8 = 0;
const ASLEEP: u8 = 1;
const CHOSEN: u8 = 2;
const CLAIMED: u8 = 3;
const NAPPING: u8 = 4;

/// The workers of a runtime that have nothing to do; see the module.
#[derive(Debug)]
pub(crate) struct Idle {
    word: AtomicU64,
    workers: Box<[Sleep]>,
}

/// Whether one worker sleeps; it has this at hand, others find it by the worker's number.
#[derive(Clone, Debug)]
pub(crate) struct Sleep(Arc<AtomicU8>);

/// What a worker is to do when it is awake again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// Go on.
    Plainly,
    /// Search for work, and say so when the search is over.
    ToSearch,
}

impl Idle {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            word: AtomicU64::new(0),
            workers: (0..workers)
                .map(|_| Sleep(Arc::new(AtomicU8::new(AWAKE))))
                .collect(),
        }
    }

    /// Returns what `worker` needs to sleep.
    pub(crate) fn sleep_of(&self, worker: usize) -> Sleep {
        self.workers[worker].clone()
    }

    /// Says that a worker is asleep. After this it has to look for work once more (rule 1).
    #[inline]
    pub(crate) fn begin_sleep(&self, own: &Sleep) {
        own.0.store(ASLEEP, Ordering::Relaxed);
        self.word
            .fetch_add(ONE_SLEEPER + ONE_SLEEP, Ordering::AcqRel);
        fence(Ordering::SeqCst);
    }

    /// Says that a worker is awake again.
    #[inline]
    pub(crate) fn end_sleep(&self, own: &Sleep) -> Woken {
        match own.0.swap(AWAKE, Ordering::AcqRel) {
            ASLEEP => {
                self.word.fetch_sub(ONE_SLEEPER, Ordering::AcqRel);
                Woken::Plainly
            }
            CHOSEN => Woken::ToSearch,
            _ => Woken::Plainly,
        }
    }

    /// Says that a worker naps (rule 8). After this it has to look for work once more.
    pub(crate) fn begin_nap(&self, own: &Sleep) {
        own.0.store(NAPPING, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Says that a worker has napped.
    pub(crate) fn end_nap(&self, own: &Sleep) {
        own.0.swap(AWAKE, Ordering::AcqRel);
    }

    /// Chooses a sleeper to be woken for work that was just made visible; `None` if nobody sleeps,
    /// or if somebody searches who will find it.
    #[inline]
    pub(crate) fn choose(&self) -> Option<usize> {
        fence(Ordering::SeqCst);
        let word = self.word.load(Ordering::Relaxed);
        if Self::wants_a_searcher(word) {
            self.choose_sleeper()
        } else {
            None
        }
    }

    #[cold]
    fn choose_sleeper(&self) -> Option<usize> {
        loop {
            let word = self.word.load(Ordering::Relaxed);
            if !Self::wants_a_searcher(word) {
                return None;
            }
            let search = word + ONE_SEARCHER;
            let taken =
                self.word
                    .compare_exchange(word, search, Ordering::AcqRel, Ordering::Relaxed);
            if taken.is_err() {
                continue;
            }
            let chosen = (0..self.workers.len()).find(|worker| self.take(*worker, CHOSEN));
            if chosen.is_some() {
                return chosen;
            }
            let ended = self.word.fetch_sub(ONE_SEARCHER, Ordering::AcqRel);
            if ended / ONE_SLEEP == word / ONE_SLEEP {
                return None;
            }
        }
    }

    /// As [`choose`](Idle::choose), for work of the caller's own that is left (rule 7).
    #[inline]
    pub(crate) fn choose_for_own(&self) -> Option<usize> {
        if Self::wants_a_searcher(self.word.load(Ordering::Relaxed)) {
            self.choose_sleeper()
        } else {
            None
        }
    }

    /// Counts the caller, who is awake, as a searcher, unless enough search already (rule 6).
    /// Returns whether it does.
    pub(crate) fn begin_search(&self) -> bool {
        let most = (self.workers.len() / 2) as u64;
        let add = |word: u64| (Self::searchers(word) < most).then_some(word + ONE_SEARCHER);
        self.word
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, add)
            .is_ok()
    }

    /// Counts the caller, who is awake, as a searcher again (rule 5).
    pub(crate) fn resume_search(&self) {
        self.word.fetch_add(ONE_SEARCHER, Ordering::AcqRel);
    }

    /// Says whether somebody searches. For who has begun to sleep, see rule 5.
    pub(crate) fn is_searched(&self) -> bool {
        Self::searchers(self.word.load(Ordering::Relaxed)) != 0
    }

    /// Claims this very worker for work that is only its own; returns whether it slept, so that
    /// the caller has to wake it.
    #[inline]
    pub(crate) fn claim(&self, worker: usize) -> bool {
        fence(Ordering::SeqCst);
        self.take(worker, CLAIMED) || self.become_this(worker, NAPPING, CLAIMED)
    }

    /// Ends a search, found or not. What is looked at after this is not older than the end.
    pub(crate) fn end_search(&self) {
        self.word.fetch_sub(ONE_SEARCHER, Ordering::AcqRel);
        fence(Ordering::SeqCst);
    }

    /// Rule 2: makes a sleeper what it is to wake up as.
    fn take(&self, worker: usize, become_this: u8) -> bool {
        let taken = self.become_this(worker, ASLEEP, become_this);
        if taken {
            self.word.fetch_sub(ONE_SLEEPER, Ordering::AcqRel);
        }
        taken
    }

    fn become_this(&self, worker: usize, before: u8, after: u8) -> bool {
        let state = &self.workers[worker].0;
        state.load(Ordering::Relaxed) == before
            && state
                .compare_exchange(before, after, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    }

    fn wants_a_searcher(word: u64) -> bool {
        word as u16 != 0 && Self::searchers(word) == 0
    }

    fn searchers(word: u64) -> u64 {
        u64::from((word >> 16) as u16)
    }
}

#[cfg(all(test, windlass_loom))]
mod loom_models {
    use super::*;
    use crate::sync::atomic::{AtomicBool, AtomicUsize};
    use loom::sync::{Arc, Notify};
    use loom::thread;

    /// A runtime reduced to what the rules speak of: work is a number, a reactor is loom's own means
    /// to wait.
    struct Model {
        idle: Idle,
        /// What is in the shared queue.
        work: AtomicUsize,
        /// What is in the own queue of each worker.
        own: Vec<AtomicUsize>,
        mail: AtomicBool,
        reactors: Vec<Notify>,
    }

    impl Model {
        fn new(workers: usize) -> Arc<Self> {
            Arc::new(Self {
                idle: Idle::new(workers),
                work: AtomicUsize::new(0),
                own: (0..workers).map(|_| AtomicUsize::new(0)).collect(),
                mail: AtomicBool::new(false),
                reactors: (0..workers).map(|_| Notify::new()).collect(),
            })
        }

        fn push(&self) {
            self.work.fetch_add(1, Ordering::Relaxed);
            self.wake_one();
        }

        fn wake_one(&self) {
            if let Some(worker) = self.idle.choose() {
                self.reactors[worker].notify();
            }
        }

        /// As a worker does while it runs a task (rule 7).
        fn push_own(&self, worker: usize) {
            let before = self.own[worker].fetch_add(1, Ordering::Relaxed);
            let chosen = if before == 0 {
                self.idle.choose()
            } else {
                self.idle.choose_for_own()
            };
            if let Some(worker) = chosen {
                self.reactors[worker].notify();
            }
        }

        fn take(from: &AtomicUsize) -> bool {
            let take = |work: usize| work.checked_sub(1);
            from.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .is_ok()
        }

        fn find(&self, worker: usize, is_searching: &mut bool) -> bool {
            if Self::take(&self.work) || Self::take(&self.own[worker]) {
                return true;
            }
            if !*is_searching {
                *is_searching = self.idle.begin_search();
            }
            *is_searching && (self.own.iter().any(Self::take) || Self::take(&self.work))
        }

        fn has_own_work(&self) -> bool {
            let has_work = |own: &AtomicUsize| own.load(Ordering::Relaxed) > 0;
            self.own.iter().any(has_work)
        }

        fn is_work_left(&self) -> bool {
            self.work.load(Ordering::Relaxed) > 0 || self.has_own_work()
        }

        /// Works until `enough` says so; blocks for ever, which the checker reports, if it sleeps
        /// and nobody wakes it.
        fn run(&self, worker: usize, mut enough: impl FnMut() -> bool) {
            let own = self.idle.sleep_of(worker);
            let mut is_searching = false;
            loop {
                let found = self.find(worker, &mut is_searching);
                if std::mem::take(&mut is_searching) {
                    self.idle.end_search();
                    if found && self.is_work_left() {
                        self.wake_one();
                    }
                }
                if found {
                    if enough() {
                        return;
                    }
                    continue;
                }
                self.idle.begin_sleep(&own);
                let is_needed = self.work.load(Ordering::Relaxed) > 0
                    || (!self.idle.is_searched() && self.has_own_work());
                if !is_needed {
                    self.reactors[worker].wait();
                }
                is_searching = self.idle.end_sleep(&own) == Woken::ToSearch;
                if is_needed && !is_searching {
                    self.idle.resume_search();
                    is_searching = true;
                }
            }
        }
    }

    /// Three threads have more interleavings than there is time for: those with up to two
    /// preemptions are tried, for ten seconds at the most.
    fn bounded() -> loom::model::Builder {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.max_duration = Some(std::time::Duration::from_secs(10));
        builder
    }

    #[test]
    fn loom_a_push_wakes_the_only_worker() {
        loom::model(|| {
            let model = Model::new(1);
            let worker = {
                let model = model.clone();
                thread::spawn(move || model.run(0, || true))
            };
            model.push();
            worker.join().unwrap();
        });
    }

    #[test]
    fn loom_two_producers_leave_no_work_behind() {
        bounded().check(|| {
            let model = Model::new(1);
            let producer = {
                let model = model.clone();
                thread::spawn(move || model.push())
            };
            let worker = {
                let model = model.clone();
                let mut done = 0;
                thread::spawn(move || {
                    model.run(0, || {
                        done += 1;
                        done == 2
                    })
                })
            };
            model.push();
            producer.join().unwrap();
            worker.join().unwrap();
        });
    }

    /// Each of two workers stays with the first work that it finds: so both must be woken.
    #[test]
    fn loom_a_second_worker_comes_for_what_the_first_leaves() {
        bounded().check(|| {
            let model = Model::new(2);
            let workers: Vec<_> = (0..2)
                .map(|worker| {
                    let model = model.clone();
                    thread::spawn(move || model.run(worker, || true))
                })
                .collect();
            model.push();
            model.push();
            for worker in workers {
                worker.join().unwrap();
            }
        });
    }

    /// A worker adds to its own queue and goes on in the same poll for ever: another must come.
    #[test]
    fn loom_what_a_worker_leaves_is_found_by_one_that_falls_asleep() {
        bounded().check(|| {
            let model = Model::new(2);
            let other = {
                let model = model.clone();
                thread::spawn(move || model.run(1, || true))
            };
            model.push_own(0);
            other.join().unwrap();
        });
    }

    /// Two that fall asleep leave the last look to each other, and both are needed.
    #[test]
    fn loom_what_a_worker_leaves_is_found_by_one_of_two_that_fall_asleep() {
        bounded().check(|| {
            let model = Model::new(3);
            let others: Vec<_> = [1, 2]
                .map(|worker| {
                    let model = model.clone();
                    thread::spawn(move || model.run(worker, || true))
                })
                .into();
            model.push_own(0);
            model.push();
            for other in others {
                other.join().unwrap();
            }
        });
    }

    /// A nap ends by itself in time; here it would last for ever.
    #[test]
    fn loom_a_claim_reaches_a_worker_that_naps() {
        loom::model(|| {
            let model = Model::new(1);
            let worker = {
                let model = model.clone();
                thread::spawn(move || {
                    let own = model.idle.sleep_of(0);
                    while !model.mail.load(Ordering::Relaxed) {
                        model.idle.begin_nap(&own);
                        if !model.mail.load(Ordering::Relaxed) {
                            model.reactors[0].wait();
                        }
                        model.idle.end_nap(&own);
                    }
                    let word = model.idle.word.load(Ordering::Relaxed);
                    assert_eq!(word, 0, "it has counted as nothing");
                })
            };
            model.mail.store(true, Ordering::Relaxed);
            if model.idle.claim(0) {
                model.reactors[0].notify();
            }
            worker.join().unwrap();
        });
    }

    #[test]
    fn loom_a_claim_reaches_the_worker() {
        loom::model(|| {
            let model = Model::new(1);
            let worker = {
                let model = model.clone();
                thread::spawn(move || {
                    let own = model.idle.sleep_of(0);
                    while !model.mail.load(Ordering::Relaxed) {
                        model.idle.begin_sleep(&own);
                        if !model.mail.load(Ordering::Relaxed) {
                            model.reactors[0].wait();
                        }
                        assert_eq!(model.idle.end_sleep(&own), Woken::Plainly);
                    }
                })
            };
            model.mail.store(true, Ordering::Relaxed);
            if model.idle.claim(0) {
                model.reactors[0].notify();
            }
            worker.join().unwrap();
        });
    }
}
