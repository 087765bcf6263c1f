//! Ends a wait from any thread: an eventfd or a pipe, chosen independently of the mechanism, or an
//! event that the mechanism has for that.
//!
//! Most notifications make no system call, since one word says whether the waiting thread is in
//! the kernel and whether it has been told already:
//!
//! | bit | set by | meaning |
//! | --- | --- | --- |
//! | [`WAITING`] | the waiter, just before it may block | a write is needed to end the wait |
//! | [`OUTSIDE`] | [`Notifier::wait_outside`], for good | somebody may wait for the set elsewhere |
//! | [`NOTIFIED`] | [`Notifier::notify`] | this wait, or the next, ends |
//! | [`INTERRUPTED`] | [`Notifier::interrupt`] | this wait, or the next, looks at the set again |
//!
//! 1. Whoever sets the first of the lower two bits, and finds one of the upper two, writes;
//!    everybody else finds the waiter awake or another's write on its way. So at most one write is
//!    made a wait.
//! 2. The waiter does not block if one of the lower two bits was set before it sets `WAITING`.
//! 3. When it is back, it first drains the descriptor, then takes all bits but `OUTSIDE` in one
//!    step. A write that comes later than its bit was taken makes one wait end early, and no harm.
//! 4. What was published before `notify` is seen by the thread whose wait it ends: all steps on the
//!    word are sequentially consistent read-modify-writes, so that of notifying and going to sleep
//!    one comes first for everybody.
//! 5. A thread that looks at the set in the waiter's place takes no bits, so that rule 2 holds for the
//!    waiter. If the descriptor is reported to it, it drains it, and writes once more if somebody may
//!    wait for the set elsewhere and the bits say that he is to be told.

use crate::poller::{Backend, Mechanism, Mode, NotifierKind, Trigger, notifier_unavailable};
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::sys;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const WAITING: u32 = 1;
const NOTIFIED: u32 = 2;
const INTERRUPTED: u32 = 4;
const OUTSIDE: u32 = 8;

/// How often a write that fails is tried.
const MOST_WRITES: usize = 8;

/// Either says that the wait is to end.
const TOLD: u32 = NOTIFIED | INTERRUPTED;

/// The word described above, by itself, so that it can be checked without descriptors.
#[derive(Debug)]
pub(crate) struct WaitWord(AtomicU32);

impl WaitWord {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Rule 1: returns whether the caller has to write.
    pub(crate) fn notify(&self) -> bool {
        self.tell(NOTIFIED)
    }

    /// Rule 1, for changes of the set.
    pub(crate) fn interrupt(&self) -> bool {
        self.tell(INTERRUPTED)
    }

    fn tell(&self, bit: u32) -> bool {
        let before = self.0.fetch_or(bit, Ordering::SeqCst);
        before & TOLD == 0 && before != 0
    }

    /// Rule 1, for somebody who waits without `WAITING`: returns whether what he was told before
    /// has to be written.
    pub(crate) fn wait_outside(&self) -> bool {
        let before = self.0.fetch_or(OUTSIDE, Ordering::SeqCst);
        before & TOLD != 0 && before & (WAITING | OUTSIDE) == 0
    }

    /// Rule 5: returns whether a report that reached somebody else has to be written again.
    pub(crate) fn is_told_outside(&self) -> bool {
        let word = self.0.load(Ordering::SeqCst);
        word & OUTSIDE != 0 && word & TOLD != 0
    }

    /// Rule 2: returns whether the waiter may block.
    pub(crate) fn begin_wait(&self) -> bool {
        // Mostly there is nothing: one step does where it is so.
        let (order, otherwise) = (Ordering::SeqCst, Ordering::Relaxed);
        self.0
            .compare_exchange(0, WAITING, order, otherwise)
            .is_ok()
            || self.0.fetch_or(WAITING, Ordering::SeqCst) & TOLD == 0
    }

    /// Rule 3: returns whether there was a notification.
    pub(crate) fn end_wait(&self) -> bool {
        let (order, otherwise) = (Ordering::SeqCst, Ordering::Relaxed);
        self.0
            .compare_exchange(WAITING, 0, order, otherwise)
            .is_err()
            && self.0.fetch_and(OUTSIDE, Ordering::SeqCst) & NOTIFIED != 0
    }
}

/// Ends waits; see the module.
#[derive(Debug)]
pub(crate) struct Notifier {
    word: WaitWord,
    channel: Channel,
    /// How often somebody was told, and how often that was written.
    told: AtomicU64,
    written: AtomicU64,
}

#[derive(Debug)]
enum Channel {
    Eventfd {
        counter: OwnedFd,
        drained: bool,
    },
    User(Trigger),
    Pipe {
        read_end: OwnedFd,
        write_end: OwnedFd,
    },
}

impl Notifier {
    /// Opens a notifier of the given kind for `mechanism`.
    ///
    /// The error says which kinds work with it.
    pub(crate) fn open(kind: NotifierKind, mechanism: &Mechanism) -> io::Result<Self> {
        Self::try_open(kind, mechanism).map_err(|error| {
            let mut works = NotifierKind::ALL.to_vec();
            works.retain(|other| *other != kind && Self::try_open(*other, mechanism).is_ok());
            notifier_unavailable(kind, mechanism.backend(), &works, &error)
        })
    }

    fn try_open(kind: NotifierKind, mechanism: &Mechanism) -> io::Result<Self> {
        let channel = match kind {
            NotifierKind::Eventfd => Channel::Eventfd {
                counter: sys::eventfd::create()?,
                drained: true,
            },
            NotifierKind::User => Channel::User(mechanism.trigger()?),
            NotifierKind::Pipe => {
                let (read_end, write_end) = sys::pipe::create()?;
                Channel::Pipe {
                    read_end,
                    write_end,
                }
            }
        };
        Ok(Self {
            word: WaitWord::new(),
            channel,
            told: AtomicU64::new(0),
            written: AtomicU64::new(0),
        })
    }

    /// Opens the cheapest that works here; a sandbox may refuse eventfd, and old systems have no
    /// event to trigger.
    pub(crate) fn open_first(mechanism: &Mechanism) -> io::Result<Self> {
        let cheapest = match mechanism.backend() {
            Backend::Kqueue => NotifierKind::User,
            _ => NotifierKind::Eventfd,
        };
        Self::try_open(cheapest, mechanism)
            .or_else(|_| Self::try_open(NotifierKind::Pipe, mechanism))
    }

    pub(crate) fn kind(&self) -> NotifierKind {
        match self.channel {
            Channel::Eventfd { .. } => NotifierKind::Eventfd,
            Channel::User(_) => NotifierKind::User,
            Channel::Pipe { .. } => NotifierKind::Pipe,
        }
    }

    /// The descriptor that becomes readable, if it takes one.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.channel {
            Channel::Eventfd { counter, .. } => Some(counter.as_fd()),
            Channel::User(_) => None,
            Channel::Pipe { read_end, .. } => Some(read_end.as_fd()),
        }
    }

    /// How the descriptor is to be registered.
    ///
    /// Each write to an eventfd is an edge for Linux's epoll whether or not the counter was read,
    /// so that there it need not be. Everything else is drained; it is level-triggered, but on
    /// kqueue, where a level is ready in the eyes of an outside loop until the next wait has looked.
    pub(crate) fn mode(&mut self, backend: Backend) -> Mode {
        match &mut self.channel {
            Channel::Eventfd { drained, .. } if backend == Backend::Epoll => {
                *drained = false;
                Mode::Edge
            }
            _ if backend == Backend::Kqueue => Mode::Edge,
            _ => Mode::Level,
        }
    }

    /// Ends the wait in progress or the next one.
    pub(crate) fn notify(&self) -> io::Result<()> {
        self.told.fetch_add(1, Ordering::Relaxed);
        if self.word.notify() {
            self.written.fetch_add(1, Ordering::Relaxed);
            self.write()
        } else {
            Ok(())
        }
    }

    /// Returns how often somebody was told, and how often that was written.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let told = self.told.load(Ordering::Relaxed);
        (told, self.written.load(Ordering::Relaxed))
    }

    /// Has the wait in progress look at the set again.
    pub(crate) fn interrupt(&self) -> io::Result<()> {
        if self.word.interrupt() {
            self.write()
        } else {
            Ok(())
        }
    }

    /// From now on each notification shows in the descriptor, whether or not a thread waits here.
    pub(crate) fn wait_outside(&self) {
        if self.word.wait_outside() {
            // Nothing but a want of memory can keep a write from succeeding; the next is tried again.
            let _ = self.write();
        }
    }

    /// Rule 5: the descriptor was reported to a thread that looks in the waiter's place.
    #[cold]
    pub(crate) fn pass_on(&self) {
        self.drain();
        if self.word.is_told_outside() {
            // As in `wait_outside`.
            let _ = self.write();
        }
    }

    pub(crate) fn begin_wait(&self) -> bool {
        self.word.begin_wait()
    }

    pub(crate) fn end_wait(&self) -> bool {
        self.word.end_wait()
    }

    /// Rule 3: makes the descriptor silent again after it was reported.
    pub(crate) fn drain(&self) {
        // Errors can only be that there is nothing to read.
        let _ = match &self.channel {
            Channel::Eventfd { drained: false, .. } => Ok(()),
            Channel::Eventfd { counter, .. } => sys::eventfd::take(counter.as_fd()),
            // Its report takes the trigger back.
            Channel::User(_) => Ok(()),
            Channel::Pipe { read_end, .. } => {
                sys::file::read(read_end.as_fd(), &mut [0; 64]).map(drop)
            }
        };
    }

    /// Writes, and again if that fails: what is not written now, nobody writes, as others believe that
    /// it is on its way.
    #[cold]
    fn write(&self) -> io::Result<()> {
        let mut written = self.try_write();
        for _ in 1..MOST_WRITES {
            if written.is_ok() {
                break;
            }
            written = self.try_write();
        }
        written
    }

    fn try_write(&self) -> io::Result<()> {
        match &self.channel {
            Channel::Eventfd { counter, .. } => sys::eventfd::add(counter.as_fd()),
            Channel::User(trigger) => trigger.fire(),
            Channel::Pipe { write_end, .. } => match sys::file::write(write_end.as_fd(), &[1]) {
                // A full pipe ends the wait as well.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
                written => written.map(drop),
            },
        }
    }
}

#[cfg(all(test, windlass_loom))]
mod loom_models {
    use super::WaitWord;
    use loom::sync::atomic::{AtomicUsize, Ordering};
    use loom::sync::{Arc, Condvar, Mutex};
    use loom::thread;

    /// The word with a counter in place of the descriptor, which is waited for without a timeout:
    /// a wake that is lost is a deadlock, which the model checker reports.
    struct Model {
        word: WaitWord,
        counter: Mutex<u32>,
        is_written: Condvar,
        writes: AtomicUsize,
        /// What is published before a notification.
        items: AtomicUsize,
    }

    /// Three threads have too many orders to try them all; few faults need more than three
    /// preemptions.
    fn check(model: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(model);
    }

    impl Model {
        fn new() -> Arc<Self> {
            Arc::new(Self {
                word: WaitWord::new(),
                counter: Mutex::new(0),
                is_written: Condvar::new(),
                writes: AtomicUsize::new(0),
                items: AtomicUsize::new(0),
            })
        }

        fn write_if(&self, must: bool) {
            if must {
                *self.counter.lock().unwrap() += 1;
                self.writes.fetch_add(1, Ordering::Relaxed);
                self.is_written.notify_one();
            }
        }

        fn publish(&self) {
            self.items.fetch_add(1, Ordering::Relaxed);
            self.write_if(self.word.notify());
        }

        /// Sleeps until the counter is written, and drains it.
        fn sleep(&self) {
            let mut counter = self.counter.lock().unwrap();
            while *counter == 0 {
                counter = self.is_written.wait(counter).unwrap();
            }
            *counter = 0;
        }

        /// One visit to the kernel; returns whether there was a notification.
        fn visit(&self) -> bool {
            if self.word.begin_wait() {
                self.sleep();
            }
            self.word.end_wait()
        }
    }

    #[test]
    fn no_notification_is_lost_and_each_visit_costs_one_write() {
        check(|| {
            let model = Model::new();
            let notifiers = [0, 1].map(|_| {
                let model = model.clone();
                thread::spawn(move || model.publish())
            });
            let mut visits = 0;
            while model.items.load(Ordering::Relaxed) < 2 {
                model.visit();
                visits += 1;
            }
            for notifier in notifiers {
                notifier.join().unwrap();
            }
            assert!(model.writes.load(Ordering::Relaxed) <= visits);
        });
    }

    #[test]
    fn what_was_published_is_seen_by_whoever_is_notified() {
        loom::model(|| {
            let model = Model::new();
            let notifier = {
                let model = model.clone();
                thread::spawn(move || model.publish())
            };
            while !model.visit() {}
            assert_eq!(model.items.load(Ordering::Relaxed), 1);
            notifier.join().unwrap();
        });
    }

    #[test]
    fn an_interruption_neither_swallows_a_notification_nor_is_one() {
        check(|| {
            let model = Model::new();
            let interrupter = {
                let model = model.clone();
                thread::spawn(move || model.write_if(model.word.interrupt()))
            };
            let notifier = {
                let model = model.clone();
                thread::spawn(move || model.publish())
            };
            while !model.visit() {}
            assert_eq!(model.items.load(Ordering::Relaxed), 1);
            notifier.join().unwrap();
            interrupter.join().unwrap();
            assert!(!model.word.end_wait());
        });
    }

    #[test]
    fn a_report_to_another_thread_is_passed_on_to_somebody_outside() {
        check(|| {
            let model = Model::new();
            model.write_if(model.word.wait_outside());
            let helper = {
                let model = model.clone();
                thread::spawn(move || {
                    let reported = std::mem::take(&mut *model.counter.lock().unwrap()) > 0;
                    model.write_if(reported && model.word.is_told_outside());
                })
            };
            let notifier = {
                let model = model.clone();
                thread::spawn(move || model.publish())
            };
            model.sleep();
            assert!(model.word.end_wait());
            assert_eq!(model.items.load(Ordering::Relaxed), 1);
            notifier.join().unwrap();
            helper.join().unwrap();
        });
    }

    #[test]
    fn somebody_who_waits_outside_is_told_whenever_he_comes() {
        loom::model(|| {
            let model = Model::new();
            let notifier = {
                let model = model.clone();
                thread::spawn(move || model.publish())
            };
            model.write_if(model.word.wait_outside());
            model.sleep();
            assert!(model.word.end_wait());
            notifier.join().unwrap();
            let again = {
                let model = model.clone();
                thread::spawn(move || model.publish())
            };
            model.sleep();
            assert!(model.word.end_wait());
            again.join().unwrap();
            assert_eq!(model.writes.load(Ordering::Relaxed), 2);
        });
    }
}
