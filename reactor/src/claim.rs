//! Whose turn it is: one thread at a time waits for events and hands them out.
//!
//! Mostly that is the owner of a reactor. While it is held up, another thread may take in what is
//! ready and due in its place.
//!
//! 1. A wait, and all that follows from its events and from timers that are due, happens under the
//!    claim; so nobody hands out a batch while another one is being handed out.
//! 2. The owner takes the claim, and keeps it while it waits. Others try once, and never wait while
//!    they have it: so the owner is held up by them no longer than a look at the kernel lasts.
//! 3. Wakers are woken after the claim is given up. They are somebody's code, which may block, or
//!    turn a reactor itself.
//! 4. Others leave notifications to the owner (see `notifier`): they are meant for the thread that
//!    turns as a matter of course, and end its next wait before it blocks. A waker that another
//!    thread woke notifies the owner itself, after it was taken off the list. So of what others take,
//!    nothing is left for the owner to wait for.

use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// The right to wait; see the module.
///
/// Nobody ever waits for an owner, so that giving up is a plain store for it. An owner that finds
/// the right taken by another thread waits for the lock that such threads hold meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Claim {
    is_taken: AtomicBool,
    /// Held by whoever has the right without being the owner.
    helpers: Mutex<()>,
}

/// The right of another thread than the owner; given up when it is dropped.
#[derive(Debug)]
pub(crate) struct Borrowed<'a> {
    claim: &'a Claim,
    _lock: MutexGuard<'a, ()>,
}

impl Claim {
    /// Takes the right for the owner, of whom there is one at a time; waits for whoever else has it.
    ///
    /// It is to be [given up](Claim::give_up). An owner that fails or panics instead still has it when
    /// it comes again, and keeps others away until then.
    // There is no guard to drop, for the sake of the instructions that it would take.
    #[inline(always)]
    pub(crate) fn take(&self) {
        if !self.take_free() {
            self.take_from_helper();
        }
    }

    /// Gives up the right of the owner.
    #[inline(always)]
    pub(crate) fn give_up(&self) {
        self.is_taken.store(false, Ordering::Release);
    }

    #[cold]
    fn take_from_helper(&self) {
        let _no_helper = self.helpers.lock();
        // If that fails, it has been the owner's all the time.
        let _ = self.take_free();
    }

    /// Takes the right for another thread than the owner, unless somebody has it.
    pub(crate) fn try_take(&self) -> Option<Borrowed<'_>> {
        // Most who try in vain do because of the owner.
        if self.is_taken.load(Ordering::Relaxed) {
            return None;
        }
        let lock = self.helpers.try_lock()?;
        self.take_free().then(|| Borrowed {
            claim: self,
            _lock: lock,
        })
    }

    /// Takes the right if nobody has it. Acquires what whoever had it last has left.
    #[inline(always)]
    fn take_free(&self) -> bool {
        let (order, otherwise) = (Ordering::Acquire, Ordering::Relaxed);
        self.is_taken
            .compare_exchange(false, true, order, otherwise)
            .is_ok()
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        // Before the lock, for which an owner may wait.
        self.claim.give_up();
    }
}

#[cfg(all(test, windlass_loom))]
mod loom_models {
    use super::Claim;
    use crate::notifier::WaitWord;
    use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use loom::sync::{Arc, Condvar, Mutex};
    use loom::thread;

    /// What the kernel keeps: events that nobody has taken, and the counter of the notifier.
    #[derive(Default)]
    struct Kernel {
        events: usize,
        counter: usize,
    }

    /// A reactor and an executor of one thread, reduced to what the rules speak of: each event wakes
    /// the task once.
    struct Model {
        claim: Claim,
        word: WaitWord,
        kernel: Mutex<Kernel>,
        is_ready: Condvar,
        /// How many threads are between a wait and the end of its dispatch.
        turning: AtomicUsize,
        /// How often the task was woken and has not run.
        woken: AtomicUsize,
        /// What is told by a notification alone.
        mail: AtomicBool,
    }

    impl Model {
        fn new() -> Arc<Self> {
            Arc::new(Self {
                claim: Claim::default(),
                word: WaitWord::new(),
                kernel: Mutex::default(),
                is_ready: Condvar::new(),
                turning: AtomicUsize::new(0),
                woken: AtomicUsize::new(0),
                mail: AtomicBool::new(false),
            })
        }

        fn arrive(&self) {
            self.kernel.lock().unwrap().events += 1;
            self.is_ready.notify_one();
        }

        fn notify(&self) {
            if self.word.notify() {
                self.kernel.lock().unwrap().counter += 1;
                self.is_ready.notify_one();
            }
        }

        /// Enters the kernel; an event and a write to the counter are edges, which are told once.
        fn enter_kernel(&self, may_block: bool) -> usize {
            let mut kernel = self.kernel.lock().unwrap();
            while may_block && kernel.events == 0 && kernel.counter == 0 {
                kernel = self.is_ready.wait(kernel).unwrap();
            }
            kernel.counter = 0;
            std::mem::take(&mut kernel.events)
        }

        /// Rule 1.
        fn dispatch(&self, look: impl FnOnce() -> usize) -> usize {
            assert_eq!(self.turning.fetch_add(1, Ordering::Relaxed), 0);
            let events = look();
            assert_eq!(self.turning.fetch_sub(1, Ordering::Relaxed), 1);
            events
        }

        /// What the executor's waker does.
        fn wake(&self, events: usize) {
            for _ in 0..events {
                self.woken.fetch_add(1, Ordering::Release);
                self.notify();
            }
        }

        /// A turn of the owner, which waits.
        fn turn(&self) {
            self.claim.take();
            let events = self.dispatch(|| {
                let may_block = self.word.begin_wait();
                let events = self.enter_kernel(may_block);
                self.word.end_wait();
                events
            });
            self.claim.give_up();
            self.wake(events);
        }

        /// Rules 2 and 4.
        fn try_turn(&self) {
            let Some(claimed) = self.claim.try_take() else {
                return;
            };
            let events = self.dispatch(|| self.enter_kernel(false));
            drop(claimed);
            self.wake(events);
        }

        /// Runs the task until it ran `times` times; a wait for what another thread has taken is a
        /// deadlock, which the checker reports.
        fn run(&self, times: usize) {
            let mut ran = 0;
            while ran < times {
                match self.woken.swap(0, Ordering::Acquire) {
                    0 => self.turn(),
                    woken => ran += woken,
                }
            }
        }
    }

    fn check(model: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(model);
    }

    #[test]
    fn what_another_thread_takes_reaches_the_task_of_an_owner_that_falls_asleep() {
        check(|| {
            let model = Model::new();
            let helper = {
                let model = model.clone();
                thread::spawn(move || model.try_turn())
            };
            let arrival = {
                let model = model.clone();
                thread::spawn(move || model.arrive())
            };
            model.run(1);
            helper.join().unwrap();
            arrival.join().unwrap();
        });
    }

    #[test]
    fn two_events_are_taken_once_each_whoever_turns() {
        check(|| {
            let model = Model::new();
            model.arrive();
            let helper = {
                let model = model.clone();
                thread::spawn(move || {
                    model.try_turn();
                    model.arrive();
                    model.try_turn();
                })
            };
            model.run(2);
            helper.join().unwrap();
            assert_eq!(model.woken.load(Ordering::Relaxed), 0);
        });
    }

    #[test]
    fn a_notification_is_left_for_the_owner() {
        check(|| {
            let model = Model::new();
            let helper = {
                let model = model.clone();
                thread::spawn(move || model.try_turn())
            };
            let notifier = {
                let model = model.clone();
                thread::spawn(move || {
                    model.mail.store(true, Ordering::Relaxed);
                    model.notify();
                })
            };
            while !model.mail.load(Ordering::Relaxed) {
                model.turn();
            }
            helper.join().unwrap();
            notifier.join().unwrap();
        });
    }
}
