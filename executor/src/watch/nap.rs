//! How the watch sleeps while no worker runs, and who wakes it.
//!
//! 1. A worker that leaves its own sleep first says that it runs, then looks whether the watch
//!    naps. The watch first says that it naps, then looks whether a worker runs. A fence stands
//!    between the two steps of each, so that of a worker that begins to run and a watch that goes to
//!    sleep one sees the other: nobody runs unwatched.
//! 2. Whoever takes the mark of the nap away signals, once; everybody else finds it gone. So a
//!    worker that leaves its sleep costs a system call only when it is the first in a while.
//! 3. A signal that comes before the wait is kept for it.

use crate::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The mark of rule 1.
#[derive(Debug)]
pub(super) struct Mark(AtomicBool);

impl Mark {
    pub(super) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Says that the watch naps. After this it has to look once more whether a worker runs.
    pub(super) fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Says that the watch is awake by itself.
    pub(super) fn end(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Looks whether the watch naps, for a worker that has said that it runs; returns whether it has
    /// to signal.
    #[inline]
    pub(super) fn take(&self) -> bool {
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed)
    }
}

/// What the watch waits for; see the module.
#[derive(Debug)]
pub(super) struct Nap {
    mark: Mark,
    is_signalled: Mutex<bool>,
    signal: Condvar,
}

impl Nap {
    pub(super) fn new() -> Self {
        Self {
            mark: Mark::new(),
            is_signalled: Mutex::new(false),
            signal: Condvar::new(),
        }
    }

    /// Ends the nap, if there is one, for a worker that has said that it runs.
    #[inline]
    pub(super) fn end_by_worker(&self) {
        if self.mark.take() {
            self.signal();
        }
    }

    /// Ends this wait or the next.
    #[cold]
    pub(super) fn signal(&self) {
        // Nothing panics while the lock is held, so it cannot be poisoned.
        *self
            .is_signalled
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
        self.signal.notify_one();
    }

    /// Waits until a worker runs, unless `does_any_run` says so, or for a signal.
    pub(super) fn sleep(&self, does_any_run: impl FnOnce() -> bool) {
        self.mark.begin();
        if does_any_run() {
            self.mark.end();
            return;
        }
        let signalled = self
            .is_signalled
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let waited = self.signal.wait_while(signalled, |signalled| !*signalled);
        *waited.unwrap_or_else(PoisonError::into_inner) = false;
        self.mark.end();
    }

    /// Waits for as long as `tick`, or for a signal.
    pub(super) fn rest(&self, tick: Duration) {
        let signalled = self
            .is_signalled
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .signal
            .wait_timeout_while(signalled, tick, |signalled| !*signalled);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

#[cfg(all(test, windlass_loom))]
mod loom_models {
    use super::Mark;
    use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use loom::sync::{Arc, Notify};
    use loom::thread;

    /// Some workers, and a watch that sleeps until one runs; the signal is loom's own.
    struct Model {
        mark: Mark,
        runs: Vec<AtomicBool>,
        signal: Notify,
        signals: AtomicUsize,
    }

    impl Model {
        fn new(workers: usize) -> Arc<Self> {
            Arc::new(Self {
                mark: Mark::new(),
                runs: (0..workers).map(|_| AtomicBool::new(false)).collect(),
                signal: Notify::new(),
                signals: AtomicUsize::new(0),
            })
        }

        fn run(&self, worker: usize) {
            self.runs[worker].store(true, Ordering::Relaxed);
            if self.mark.take() {
                self.signals.fetch_add(1, Ordering::Relaxed);
                self.signal.notify();
            }
        }

        fn does_any_run(&self) -> bool {
            self.runs.iter().any(|runs| runs.load(Ordering::Relaxed))
        }

        /// A worker that nobody sees is a deadlock, which the checker reports.
        fn watch(&self) -> usize {
            let mut naps = 0;
            while !self.does_any_run() {
                naps += 1;
                self.mark.begin();
                if !self.does_any_run() {
                    self.signal.wait();
                }
                self.mark.end();
            }
            naps
        }
    }

    #[test]
    fn loom_a_worker_that_leaves_its_sleep_is_watched() {
        loom::model(|| {
            let model = Model::new(1);
            let worker = {
                let model = model.clone();
                thread::spawn(move || model.run(0))
            };
            model.watch();
            worker.join().unwrap();
        });
    }

    #[test]
    fn loom_two_workers_signal_once_a_nap() {
        // Three threads have too many orders to try them all.
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(|| {
            let model = Model::new(2);
            let workers = [0, 1].map(|worker| {
                let model = model.clone();
                thread::spawn(move || model.run(worker))
            });
            let naps = model.watch();
            for worker in workers {
                worker.join().unwrap();
            }
            assert!(model.signals.load(Ordering::Relaxed) <= naps);
        });
    }
}
