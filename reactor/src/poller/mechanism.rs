//! The contract that each back end keeps, and the enum that dispatches to one.

#[cfg(doc)]
use super::Event;
use super::{Backend, DevPoll, Epoll, Events, Interest, Kqueue, Mode, Poll, Token, Trigger};
use crate::sys;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::time::Duration;

/// What a back end is able to tell beyond the contract that all keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Features {
    /// The kernel itself reports an edge for each change, so that [`Poller::rearm`] does nothing.
    ///
    /// [`Poller::rearm`]: crate::Poller::rearm
    pub native_edges: bool,
    /// Urgent data are reported: [`Event::is_priority`].
    pub priority: bool,
    /// A peer that will send no more is reported: [`Event::is_read_closed`]. Without it a read
    /// that gives 0 tells.
    pub read_closed: bool,
    /// An error that ends nothing, as that of a datagram which was refused, is told from readiness:
    /// [`Event::is_error`]. Without it the directions that are registered become ready, and what is
    /// tried next returns the error.
    pub passing_errors: bool,
}

/// What one registration wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registration {
    pub(crate) token: Token,
    pub(crate) interest: Interest,
    pub(crate) mode: Mode,
}

/// Whether a change of the set has reached a wait that is under way.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It has, or there is no wait.
    Immediate,
    /// Not until the wait under way is ended; the caller sees to that.
    NextWait,
    /// The kernel still has the entry of what was removed. The caller ends the wait under way, then
    /// calls [`settle`](Contract::settle).
    Owed,
}

/// One readiness mechanism: a set of descriptors, and a wait for any of them.
///
/// All methods but [`wait`](Contract::wait) may be called from any thread at any time; one thread
/// at a time waits. What holds on every back end:
///
/// - `add` of what is in the set is `AlreadyExists`; `modify`, `rearm` and `remove` of what isn't
///   are `NotFound`; regular files and directories are `Unsupported`. An error changes nothing.
/// - Once `remove` has returned, no batch that is handed out has the token.
/// - Errors and hang-ups are reported whatever the interest; they concern both directions. An error
///   that ends nothing is told from readiness where [`Features::passing_errors`] says so. A peer
///   that only stops sending closes the read half and leaves the write half alone; where
///   [`Features::read_closed`] says so, who asked for urgent data only is told as well.
/// - A pipe that nobody reads from any more has an error to report to its writing end; where pipes
///   are streams it is a hang-up.
/// - More that is ready than the batch has room for comes with later waits, in turn.
/// - A descriptor that was closed without removal gives no event under another token, no busy loop
///   and no panic.
pub(crate) trait Contract: Sized {
    const FEATURES: Features;

    /// Waits with a timeout end later than asked by the slack of the thread: see
    /// [`sys::clock::slack`]. Not to be said of one that rounds timeouts up, by more than that.
    const HAS_SLACK: bool = false;

    /// Makes an empty set, or says why this mechanism does not work here.
    fn open() -> io::Result<Self>;

    fn add(&self, fd: RawFd, wanted: Registration) -> io::Result<Effect>;

    fn modify(&self, fd: RawFd, wanted: Registration) -> io::Result<Effect>;

    /// Asks for one more event in those directions of `interest` that are registered, from a
    /// [`Mode::Edge`] registration; changes nothing in the other modes.
    fn rearm(&self, fd: RawFd, interest: Interest) -> io::Result<Effect>;

    /// Takes `fd` out; only if it goes by the token `expected`, where one is given.
    fn remove(&self, fd: RawFd, expected: Option<Token>) -> io::Result<Effect>;

    /// Completes a removal of `fd` that was [`Effect::Owed`].
    fn settle(&self, _fd: RawFd) -> io::Result<()> {
        Ok(())
    }

    /// Waits once, at most `timeout`, and adds what is ready to `events`; may be interrupted, and
    /// may end early with nothing.
    fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()>;

    /// The kernel's own descriptor of the set, ready when an event is; `None` if there is none.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// How many times the interest of a registered descriptor was changed where the kernel sees it.
    fn interest_changes(&self) -> u64;

    /// Makes what ends a wait without a descriptor of its own, where the mechanism has that.
    fn trigger(&self) -> io::Result<Trigger> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "it has no events of the program's own",
        ))
    }
}

/// The mechanism in use: one match instead of a trait object.
#[derive(Debug)]
pub(crate) enum Mechanism {
    Epoll(Epoll),
    Kqueue(Kqueue),
    DevPoll(DevPoll),
    Poll(Poll),
}

macro_rules! dispatch {
    ($mechanism:expr, $one:ident => $call:expr) => {
        match $mechanism {
            Mechanism::Epoll($one) => $call,
            Mechanism::Kqueue($one) => $call,
            Mechanism::DevPoll($one) => $call,
            Mechanism::Poll($one) => $call,
        }
    };
}

impl Mechanism {
    pub(crate) fn open(backend: Backend) -> io::Result<Self> {
        match backend {
            Backend::Epoll => Epoll::open().map(Mechanism::Epoll),
            Backend::Kqueue => Kqueue::open().map(Mechanism::Kqueue),
            Backend::DevPoll => DevPoll::open().map(Mechanism::DevPoll),
            Backend::Poll => Poll::open().map(Mechanism::Poll),
        }
    }

    pub(crate) fn backend(&self) -> Backend {
        match self {
            Mechanism::Epoll(_) => Backend::Epoll,
            Mechanism::Kqueue(_) => Backend::Kqueue,
            Mechanism::DevPoll(_) => Backend::DevPoll,
            Mechanism::Poll(_) => Backend::Poll,
        }
    }

    pub(crate) fn features(&self) -> Features {
        fn of<M: Contract>(_: &M) -> Features {
            M::FEATURES
        }
        dispatch!(self, one => of(one))
    }

    /// Returns by how much a wait may end later than `timeout` from now, as it mostly does.
    pub(crate) fn slack(&self, timeout: Duration) -> Duration {
        fn has_slack<M: Contract>(_: &M) -> bool {
            M::HAS_SLACK
        }
        if dispatch!(self, one => has_slack(one)) {
            sys::clock::slack(timeout)
        } else {
            Duration::ZERO
        }
    }

    pub(crate) fn add(&self, fd: RawFd, wanted: Registration) -> io::Result<Effect> {
        dispatch!(self, one => one.add(fd, wanted))
    }

    pub(crate) fn modify(&self, fd: RawFd, wanted: Registration) -> io::Result<Effect> {
        dispatch!(self, one => one.modify(fd, wanted))
    }

    pub(crate) fn rearm(&self, fd: RawFd, interest: Interest) -> io::Result<Effect> {
        dispatch!(self, one => one.rearm(fd, interest))
    }

    pub(crate) fn remove(&self, fd: RawFd, expected: Option<Token>) -> io::Result<Effect> {
        dispatch!(self, one => one.remove(fd, expected))
    }

    pub(crate) fn settle(&self, fd: RawFd) -> io::Result<()> {
        dispatch!(self, one => one.settle(fd))
    }

    #[inline(always)]
    pub(crate) fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        dispatch!(self, one => one.wait(events, timeout))
    }

    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        dispatch!(self, one => one.descriptor())
    }

    pub(crate) fn interest_changes(&self) -> u64 {
        dispatch!(self, one => one.interest_changes())
    }

    pub(crate) fn trigger(&self) -> io::Result<Trigger> {
        dispatch!(self, one => one.trigger())
    }
}
