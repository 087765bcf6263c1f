//! The portable event queue: descriptors go in, events come out.
//!
//! [`Poller`] is the whole of it. What every back end promises is written once, above the
//! (private) trait in `mechanism.rs`; each has a file of its own name.

mod arming;
mod backend;
mod devpoll;
mod error;
mod event;
mod interest;
mod mechanism;
mod poll;

// For epoll, whose kernel takes no notice of our table when it hands out events.
#[cfg_attr(
    not(any(target_os = "linux", target_os = "android")),
    allow(dead_code, reason = "there is no epoll")
)]
mod departures;

// The one table that names platforms: which mechanisms a system can have, absent where it has not.
// Whether one works is found out at run time, by opening it.
#[cfg_attr(
    not(any(target_os = "linux", target_os = "android")),
    path = "absent.rs"
)]
mod epoll;
#[cfg_attr(
    not(any(
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "netbsd",
        target_os = "openbsd",
        target_os = "dragonfly",
        all(target_os = "linux", windlass_kqueue)
    )),
    path = "absent.rs"
)]
mod kqueue;

use devpoll::DevPoll;
use epoll::Epoll;
use kqueue::Kqueue;
use poll::Poll;

pub(crate) use backend::notifier_unavailable;
pub use backend::{Backend, NotifierKind, UnknownName};
pub use error::{Refusal, RegisterError};
pub use event::{Event, Events, Token};
pub use interest::{Interest, Mode};
pub(crate) use kqueue::Trigger;
pub use mechanism::Features;
pub(crate) use mechanism::Mechanism;

use crate::claim::Claim;
use crate::clock::Moment;
use crate::notifier::Notifier;
pub(crate) use event::Flags;
use mechanism::{Effect, Registration};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

/// A set of descriptors and a wait for any of them, on a mechanism chosen at run time.
///
/// All methods take `&self`, and any thread may call them at any time, also while another thread
/// waits: a change takes effect at once. One thread at a time waits.
///
/// ```
/// use std::os::fd::AsFd;
/// use std::os::unix::net::UnixStream;
/// use std::io::Write;
/// use windlass_reactor::{Events, Interest, Mode, Poller, Token};
///
/// let (ours, mut theirs) = UnixStream::pair()?;
/// let poller = Poller::new()?;
/// poller.add(ours.as_fd(), Token(7), Interest::READABLE, Mode::Level)?;
/// theirs.write_all(b"x")?;
///
/// let mut events = Events::new();
/// poller.wait(&mut events, None)?;
/// let event = events.iter().next().unwrap();
/// assert_eq!(event.token(), Token(7));
/// assert!(event.is_readable());
///
/// poller.remove(ours.as_fd())?; // before `ours` is closed
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Poller {
    mechanism: Mechanism,
    notifier: Notifier,
    /// Held by the thread that waits.
    claim: Claim,
}

impl Poller {
    /// Opens the first mechanism that works of epoll, kqueue, /dev/poll and poll, or the one that
    /// the environment variable `WINDLASS_BACKEND` names.
    ///
    /// Likewise the notifier is the cheapest that works, or the one named by `WINDLASS_NOTIFIER`.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if a variable holds an unknown name: the text lists the known ones. The
    /// system's error if what was named doesn't work here, or if nothing does.
    pub fn new() -> io::Result<Self> {
        match backend::from_environment("WINDLASS_BACKEND")? {
            Some(backend) => Self::with_backend(backend),
            None => Self::with_mechanism(Self::open_first()?),
        }
    }

    /// Opens `backend`, whatever the environment says.
    ///
    /// # Errors
    ///
    /// The system's error if it doesn't work here; the text lists those that do. `InvalidInput` if
    /// `WINDLASS_NOTIFIER` holds an unknown name.
    pub fn with_backend(backend: Backend) -> io::Result<Self> {
        let mechanism =
            Mechanism::open(backend).map_err(|error| backend::unavailable(backend, &error))?;
        Self::with_mechanism(mechanism)
    }

    /// Opens `backend` with a notifier of the given kind, whatever the environment says.
    ///
    /// # Errors
    ///
    /// The system's error if one of them doesn't work here; the text lists those that do.
    pub fn with_notifier(backend: Backend, notifier: NotifierKind) -> io::Result<Self> {
        let mechanism =
            Mechanism::open(backend).map_err(|error| backend::unavailable(backend, &error))?;
        let notifier = Notifier::open(notifier, &mechanism)?;
        Self::assemble(mechanism, notifier)
    }

    fn open_first() -> io::Result<Mechanism> {
        let mut refused = None;
        for backend in Backend::ALL {
            match Mechanism::open(*backend) {
                Ok(mechanism) => return Ok(mechanism),
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.unwrap_or_else(|| io::ErrorKind::Unsupported.into()))
    }

    fn with_mechanism(mechanism: Mechanism) -> io::Result<Self> {
        let notifier = match backend::from_environment("WINDLASS_NOTIFIER")? {
            Some(kind) => Notifier::open(kind, &mechanism)?,
            None => Notifier::open_first(&mechanism)?,
        };
        Self::assemble(mechanism, notifier)
    }

    fn assemble(mechanism: Mechanism, mut notifier: Notifier) -> io::Result<Self> {
        let wanted = Registration {
            token: Token::RESERVED,
            interest: Interest::READABLE,
            mode: notifier.mode(mechanism.backend()),
        };
        let refused =
            |error: &_| backend::notifier_refused(mechanism.backend(), notifier.kind(), error);
        if let Some(descriptor) = notifier.descriptor() {
            let effect = mechanism
                .add(descriptor.as_raw_fd(), wanted)
                .map_err(|error| refused(&error))?;
            debug_assert_eq!(effect, Effect::Immediate, "nobody waits yet");
        }
        Ok(Self {
            mechanism,
            notifier,
            claim: Claim::default(),
        })
    }

    /// Returns the mechanism in use.
    pub fn backend(&self) -> Backend {
        self.mechanism.backend()
    }

    /// Returns what ends a wait here.
    pub fn notifier(&self) -> NotifierKind {
        self.notifier.kind()
    }

    /// Returns what the mechanism in use can tell.
    pub fn features(&self) -> Features {
        self.mechanism.features()
    }

    /// Puts `fd` into the set. What is ready already is reported by the next wait.
    ///
    /// Remove it again before it is closed. Tokens need not be distinct.
    ///
    /// # Errors
    ///
    /// A [`RegisterError`] of kind `AlreadyExists` if it is in the set, `Unsupported` for regular
    /// files, directories and other descriptors that cannot be waited for, `InvalidInput` if it
    /// isn't open or `token` is reserved; an error of the system's kind that names the descriptor if
    /// there is no room.
    pub fn add(
        &self,
        fd: BorrowedFd<'_>,
        token: Token,
        interest: Interest,
        mode: Mode,
    ) -> io::Result<()> {
        let fd = fd.as_raw_fd();
        self.refuse_reserved(fd, token)?;
        let effect = self.mechanism.add(
            fd,
            Registration {
                token,
                interest,
                mode,
            },
        )?;
        self.complete(fd, effect)
    }

    /// Replaces what `fd` was registered with; what is ready is reported (again) by the next wait.
    ///
    /// # Errors
    ///
    /// A [`RegisterError`] of kind `NotFound` if it is not in the set, and as for
    /// [`add`](Poller::add).
    pub fn modify(
        &self,
        fd: BorrowedFd<'_>,
        token: Token,
        interest: Interest,
        mode: Mode,
    ) -> io::Result<()> {
        let fd = fd.as_raw_fd();
        self.refuse_reserved(fd, token)?;
        let effect = self.mechanism.modify(
            fd,
            Registration {
                token,
                interest,
                mode,
            },
        )?;
        self.complete(fd, effect)
    }

    /// Asks for one more event, in those directions of `interest` that are registered, from a
    /// [`Mode::Edge`] registration; to be called after an operation said `WouldBlock`.
    ///
    /// Where edges are the kernel's own, and in the other modes, it changes nothing; else it makes
    /// no system call unless another thread is waiting and the kernel must be asked for more.
    ///
    /// # Errors
    ///
    /// A [`RegisterError`] of kind `NotFound` if it is not in the set.
    pub fn rearm(&self, fd: BorrowedFd<'_>, interest: Interest) -> io::Result<()> {
        let fd = fd.as_raw_fd();
        let effect = self.mechanism.rearm(fd, interest)?;
        self.complete(fd, effect)
    }

    /// Takes `fd` out of the set: no batch handed out after this returned has its token.
    ///
    /// # Errors
    ///
    /// A [`RegisterError`] of kind `NotFound` if it is not in the set.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let fd = fd.as_raw_fd();
        let effect = self.mechanism.remove(fd, None)?;
        self.complete(fd, effect)
    }

    /// Takes out what was registered as `fd` with `token`. If the number goes by another token by
    /// now, it was closed and reused without removal, and is left alone.
    pub(crate) fn remove_registered(&self, fd: RawFd, token: Token) -> io::Result<()> {
        let effect = self.mechanism.remove(fd, Some(token))?;
        self.complete(fd, effect)
    }

    /// Waits until something is ready, [`notify`](Poller::notify) is called or `timeout` is over,
    /// and returns the number of events, which replace those that `events` held.
    ///
    /// Never ends early: the timeout is kept to the nanosecond where the system can, else rounded
    /// up (on /dev/poll to 10 ms at least), and signals don't shorten or lengthen it. But /dev/poll
    /// starts it anew after a handler that was installed with `SA_RESTART`. `None` and timeouts that are too long to
    /// reckon with wait for ever.
    ///
    /// # Errors
    ///
    /// `ResourceBusy` if another thread is waiting; else what the system says.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<usize> {
        let (now, deadline) = match timeout {
            None => (Moment::START, Moment::NEVER),
            Some(Duration::ZERO) => (Moment::START, Moment::START),
            Some(timeout) => {
                let now = Moment::now();
                (now, now.saturating_add(timeout))
            }
        };
        let Some(_claimed) = self.claim.try_take() else {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another thread is waiting on this poller; one at a time may",
            ));
        };
        self.wait_until(events, now, deadline)?;
        Ok(events.len())
    }

    /// Returns the right to wait: taken by the one thread that waits as a matter of course, or by
    /// another one that looks in its place.
    #[inline(always)]
    pub(crate) fn claim(&self) -> &Claim {
        &self.claim
    }

    /// Waits as [`wait`](Poller::wait) does, for a caller who has the claim, until `deadline`, which is not waited for at all if
    /// it is not after `now`. Returns whether a notification ended the wait.
    ///
    /// If `now` is [`Moment::NEVER`], it is not known yet, and the deadline is a timer's: it is hit
    /// more closely, at the price of a second visit to the kernel now and then.
    #[inline(always)]
    pub(crate) fn wait_until(
        &self,
        events: &mut Events,
        now: Moment,
        deadline: Moment,
    ) -> io::Result<bool> {
        if deadline == Moment::NEVER {
            self.wait_for_ever(events)
        } else {
            self.wait_for_a_time(events, now, deadline)
        }
    }

    #[inline(always)]
    fn wait_for_ever(&self, events: &mut Events) -> io::Result<bool> {
        loop {
            match self.visit(events, None)? {
                Ended::Notified => return Ok(true),
                Ended::InTime if !events.is_empty() => return Ok(false),
                // A signal came, or a change from another thread wants to be seen.
                Ended::InTime | Ended::Interrupted => {}
            }
        }
    }

    #[inline(never)]
    fn wait_for_a_time(
        &self,
        events: &mut Events,
        mut now: Moment,
        deadline: Moment,
    ) -> io::Result<bool> {
        let is_timer = now == Moment::NEVER;
        if is_timer {
            now = Moment::now();
        }
        loop {
            let timeout = deadline.saturating_since(now);
            let asked = if is_timer { self.aim(timeout) } else { timeout };
            let interrupted = match self.visit(events, Some(asked))? {
                Ended::Notified => return Ok(true),
                Ended::InTime => false,
                Ended::Interrupted => true,
            };
            if !events.is_empty() || timeout.is_zero() {
                return Ok(false);
            }
            // The time is over, the kernel's limit was shorter than our timeout, a signal came, or
            // a change from another thread wants to be seen.
            now = Moment::now();
            if deadline <= now && !interrupted {
                return Ok(false);
            }
        }
    }

    /// Takes in what is ready, for a caller who has the claim and is not the one whom notifications
    /// are meant for: they still end the next wait.
    pub(crate) fn look(&self, events: &mut Events) -> io::Result<()> {
        events.clear();
        let looked = self.mechanism.wait(events, Some(Duration::ZERO));
        if events.is_notified() {
            self.notifier.pass_on();
        }
        match looked {
            // What was ready is ready still.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            looked => looked,
        }
    }

    /// Returns what to ask the kernel for, to wait for `timeout`.
    ///
    /// The kernel ends a wait at any time between the one that was asked for and one that is later
    /// by the slack of the thread: mostly at the end of that, and earlier if it has something else
    /// to do then. So what is asked for is earlier by the slack.
    fn aim(&self, timeout: Duration) -> Duration {
        match timeout.checked_sub(self.mechanism.slack(timeout)) {
            Some(Duration::ZERO) | None => timeout,
            Some(aimed) => aimed,
        }
    }

    /// Enters the kernel once. Inlined, so that a wait for ever knows no timeouts.
    #[inline(always)]
    fn visit(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<Ended> {
        events.clear();
        let may_block = timeout != Some(Duration::ZERO) && self.notifier.begin_wait();
        let waited = if may_block {
            self.mechanism.wait(events, timeout)
        } else {
            self.mechanism.wait(events, Some(Duration::ZERO))
        };
        if events.is_notified() {
            self.notifier.drain();
        }
        // The notification is taken by this, so that it counts also if a signal came with it.
        let notified = self.notifier.end_wait();
        match waited {
            Ok(()) if notified => Ok(Ended::Notified),
            Ok(()) => Ok(Ended::InTime),
            Err(error) => Self::visit_failed(error, notified),
        }
    }

    #[cold]
    fn visit_failed(error: io::Error, notified: bool) -> io::Result<Ended> {
        match error.kind() {
            io::ErrorKind::Interrupted if notified => Ok(Ended::Notified),
            io::ErrorKind::Interrupted => Ok(Ended::Interrupted),
            _ => Err(error),
        }
    }

    /// Ends the wait in progress, or else the next one, from any thread.
    ///
    /// Several notifications before a wait ends count as one. It makes at most one system call a
    /// wait, and none unless a thread is waiting, here or for the [`descriptor`](Poller::descriptor).
    ///
    /// # Errors
    ///
    /// What the system says of the write that ends the wait.
    pub fn notify(&self) -> io::Result<()> {
        self.notifier.notify()
    }

    /// Returns how many notifications there were, and how many of them were written.
    pub(crate) fn notifications(&self) -> (u64, u64) {
        self.notifier.counts()
    }

    /// Returns the kernel's descriptor of the set, readable when an event is there or
    /// [`notify`](Poller::notify) was called; `None` where there is no such thing, as with poll(2), or it cannot be waited for, as with /dev/poll.
    ///
    /// Once it was asked for, notifications are written also while nobody waits here, one for each
    /// wait at the most.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        let descriptor = self.mechanism.descriptor()?;
        self.notifier.wait_outside();
        Some(descriptor)
    }

    /// Returns how many times the interest of a registered descriptor was changed where the kernel
    /// sees it. A loop of wait, read and [`rearm`](Poller::rearm) adds nothing.
    pub fn interest_changes(&self) -> u64 {
        self.mechanism.interest_changes()
    }

    /// Has a change of `fd` seen by a wait under way.
    fn complete(&self, fd: RawFd, effect: Effect) -> io::Result<()> {
        match effect {
            Effect::Immediate => Ok(()),
            Effect::NextWait => self.notifier.interrupt(),
            Effect::Owed => {
                self.notifier.interrupt()?;
                self.mechanism.settle(fd)
            }
        }
    }

    fn refuse_reserved(&self, fd: RawFd, token: Token) -> io::Result<()> {
        if token == Token::RESERVED {
            return Err(RegisterError::refuse(
                self.backend(),
                fd,
                Refusal::ReservedToken,
            ));
        }
        Ok(())
    }
}

/// How one visit to the kernel ended.
enum Ended {
    Notified,
    InTime,
    /// By a signal, before anything was ready.
    Interrupted,
}
