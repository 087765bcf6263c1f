//! One knote: what is watched, how it reports, and what it remembers.

use std::os::fd::RawFd;

use crate::abi;
use crate::filter::kind::Kind;
use crate::sys::probe::Identity;

/// What a knote watches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Filter {
    /// A descriptor that can be read from.
    Read,
    /// A descriptor that can be written to.
    Write,
    /// A timer.
    Timer,
    /// A trigger by the client.
    User,
}

impl Filter {
    /// Finds the filter of a number.
    pub(crate) fn of(number: i16) -> Option<Self> {
        match number {
            abi::EVFILT_READ => Some(Self::Read),
            abi::EVFILT_WRITE => Some(Self::Write),
            abi::EVFILT_TIMER => Some(Self::Timer),
            abi::EVFILT_USER => Some(Self::User),
            _ => None,
        }
    }

    /// Gives the filter's number.
    pub(crate) fn number(self) -> i16 {
        match self {
            Self::Read => abi::EVFILT_READ,
            Self::Write => abi::EVFILT_WRITE,
            Self::Timer => abi::EVFILT_TIMER,
            Self::User => abi::EVFILT_USER,
        }
    }

    /// Tells whether ident is the number of a descriptor.
    pub(crate) fn watches_descriptor(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

/// The name of a knote within its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The descriptor or the client's number.
    pub(crate) ident: usize,
    /// The filter; each is a knote of its own.
    pub(crate) filter: Filter,
}

impl Key {
    /// Gives the descriptor of a key that watches one.
    pub(crate) fn descriptor(self) -> RawFd {
        // Only open numbers become knotes, and those fit.
        RawFd::try_from(self.ident).unwrap_or(-1)
    }
}

/// What a filter found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// The amount.
    pub(crate) data: isize,
    /// The error or the client's bits.
    pub(crate) fflags: u32,
    /// Whether the side is shut.
    pub(crate) eof: bool,
}

/// Where a knote's readiness comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A descriptor.
    Descriptor {
        /// What sort of file it is.
        kind: Kind,
        /// Which file it was when the knote was made.
        identity: Identity,
        /// Tells this knote's edges from those of an earlier one with the same number.
        serial: u32,
    },
    /// The client.
    User {
        /// Whether it has been triggered.
        triggered: bool,
    },
    /// The clock.
    Timer {
        /// When it is due next, in nanoseconds of the monotonic clock; `None` once it has fired
        /// for good.
        deadline: Option<u64>,
        /// The time between two firings.
        period: u64,
        /// How often it has fired since it was last reported.
        expirations: isize,
    },
}

/// A knote.
#[derive(Clone, Debug)]
pub(crate) struct Knote {
    /// The flags it was made with, less those that are about the making; later changes keep them.
    pub(crate) mode: u16,
    /// The client's value.
    pub(crate) udata: usize,
    /// The client's bits.
    pub(crate) fflags: u32,
    /// The client's amount.
    pub(crate) data: isize,
    /// Whether it may report.
    pub(crate) enabled: bool,
    /// Whether it is in the queue's list of pending knotes, exactly once.
    pub(crate) queued: bool,
    /// What a one-shot knote will report, fixed when it became pending.
    pub(crate) captured: Report,
    /// What it last reported, if edges that are not its own can be told by that.
    pub(crate) reported: Option<Seen>,
    /// Where its readiness comes from.
    pub(crate) source: Source,
}

/// A report, and how many bytes had passed before it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    progress: u64,
    fflags: u32,
    eof: bool,
}

impl Seen {
    /// Remembers a report; the bytes must have been counted before the filter was asked.
    pub(crate) fn new(progress: u64, report: Report) -> Self {
        Self {
            progress,
            fflags: report.fflags,
            eof: report.eof,
        }
    }
}

/// The flags of a change that stay with the knote.
pub(crate) const MODE: u16 = abi::EV_ONESHOT | abi::EV_CLEAR | abi::EV_DISPATCH | abi::EV_RECEIPT;

impl Knote {
    /// Makes an enabled knote out of the change that adds it.
    pub(crate) fn new(change: &abi::Kevent, source: Source) -> Self {
        Self {
            mode: change.flags & MODE,
            udata: change.udata,
            fflags: change.fflags,
            data: change.data,
            enabled: change.flags & abi::EV_DISABLE == 0,
            queued: false,
            captured: Report::default(),
            reported: None,
            source,
        }
    }

    /// Tells whether all of `flag` belongs to the mode.
    pub(crate) fn is(&self, flag: u16) -> bool {
        self.mode & flag == flag
    }

    /// Makes the entry that reports this knote.
    pub(crate) fn event(&self, key: Key, report: Report) -> abi::Kevent {
        abi::Kevent {
            ident: key.ident,
            filter: key.filter.number(),
            flags: self.mode | if report.eof { abi::EV_EOF } else { 0 },
            fflags: report.fflags,
            data: report.data,
            udata: self.udata,
        }
    }
}
