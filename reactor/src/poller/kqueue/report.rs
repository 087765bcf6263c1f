//! What the filters of one descriptor say together.
//!
//! 1. The end in the read filter closes the read half only, and that in the write filter the write
//!    half only: our own shutdown shows there while data still arrive.
//! 2. It is a hang-up if both say so, or if it comes with an error, which concerns both directions;
//!    and at either end of a pipe, for which some systems use the wrong filter.
//! 3. A filter that is not watched says nothing. So where a socket is at one of its ends, poll(2) is
//!    asked whether it is at the other: asked for writing it tells of a hang-up only if there is one,
//!    also where it is built on these same filters.
//! 4. Errors that end nothing, as of a datagram that was refused, look like readiness.

use super::slot::Slot;
use crate::poller::{Flags, Interest};
use crate::sys::file::Sort;
use crate::sys::kqueue::{self as sys, Entry, Filter};
use crate::sys::poll::{self, POLLHUP, POLLOUT, pollfd};
use std::os::fd::RawFd;
use std::time::Duration;

/// What has been said of one descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) readable: bool,
    pub(super) writable: bool,
    pub(super) urgent: bool,
    pub(super) read_ended: bool,
    pub(super) write_ended: bool,
    pub(super) failed: bool,
}

impl Said {
    /// Adds what an event says.
    pub(super) fn add(&mut self, event: &Entry) {
        let ended = event.has(sys::EV_EOF);
        match event.filter() {
            Some(Filter::Read) => {
                self.readable = true;
                self.read_ended |= ended;
            }
            Some(Filter::Write) => {
                self.writable = true;
                self.write_ended |= ended;
            }
            // The filter of urgent data may also tell of the end.
            Some(Filter::Except) if ended => self.read_ended = true,
            Some(Filter::Except) => self.urgent = true,
            Some(Filter::User) | None => {}
        }
        self.failed |= event.has(sys::EV_ERROR) || (ended && event.notes() != 0);
    }

    /// A pipe that nobody reads any more.
    pub(super) fn broken() -> Self {
        Self {
            writable: true,
            write_ended: true,
            ..Self::default()
        }
    }

    /// Adds what somebody else said.
    pub(super) fn merge(&mut self, other: Self) {
        self.readable |= other.readable;
        self.writable |= other.writable;
        self.urgent |= other.urgent;
        self.read_ended |= other.read_ended;
        self.write_ended |= other.write_ended;
        self.failed |= other.failed;
    }

    /// Puts it together to what is reported of `slot`; nothing if that is of no interest.
    pub(super) fn flags(self, fd: RawFd, slot: &Slot) -> Flags {
        let ended = self.read_ended || self.write_ended;
        let hung_up = ended && self.is_hang_up(slot, || has_hung_up(fd));
        let ends = Flags::HANG_UP
            .when(hung_up)
            .and(Flags::ERROR.when(self.failed));
        let urgent =
            Flags::PRIORITY.when(self.urgent && slot.interest.contains(Interest::PRIORITY));
        if slot.asks_for_ends_only() {
            let nothing_urgent_follows =
                self.read_ended && slot.interest.contains(Interest::PRIORITY);
            return ends
                .and(urgent)
                .and(Flags::READ_CLOSED.when(nothing_urgent_follows));
        }
        ends.and(urgent)
            .and(Flags::READABLE.when(self.readable))
            .and(Flags::WRITABLE.when(self.writable))
            .and(Flags::READ_CLOSED.when(self.read_ended))
            .and(Flags::WRITE_CLOSED.when(self.write_ended))
    }

    /// Rules 2 and 3, of something that is at one of its ends.
    fn is_hang_up(self, slot: &Slot, ask: impl FnOnce() -> bool) -> bool {
        if self.failed || (self.read_ended && self.write_ended) {
            return true;
        }
        match slot.file.sort() {
            Sort::Pipe => true,
            Sort::Socket => ask(),
            Sort::Other => false,
        }
    }
}

/// Rule 3.
#[cold]
fn has_hung_up(fd: RawFd) -> bool {
    let mut entry = [pollfd {
        fd,
        events: POLLOUT,
        revents: 0,
    }];
    // A call that does not wait is not interrupted; if it fails, only what was said is reported.
    poll::wait(&mut entry, Some(Duration::ZERO)).is_ok() && entry[0].revents & POLLHUP != 0
}
