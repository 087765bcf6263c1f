//! One registered descriptor: what is wanted of it, and what of that the kernel watches.
//!
//! 1. Each direction is a filter of its own. The events of all carry the mark of the registration,
//!    which each change replaces: an event under an older mark is dropped, and nothing is lost by
//!    that, since a change has the kernel report what holds.
//! 2. The end of a stream and errors are told by the filters of reading and writing only. Where
//!    neither direction is asked for, both are watched all the same, by their edges; what they say
//!    is passed on only if the descriptor has failed or hung up.
//! 3. One shot is for the whole descriptor. Each filter is disabled by its own report; what the other
//!    reports later is dropped, which costs at most one vain return of the wait.
//! 4. A pipe that nobody reads can't be watched for writing everywhere. It is then *broken*, and
//!    reported as at its end without the kernel.

use super::changes::{Change, Changes, Errno};
use super::report::Said;
use crate::poller::mechanism::Registration;
use crate::poller::{Interest, Mode, Token};
use crate::sys::file::{Identity, Sort, identify};
use crate::sys::kqueue::{Filter, TELLS_URGENT};
use std::os::fd::RawFd;

/// The filters of a descriptor.
const FILTERS: [Filter; 3] = [Filter::Read, Filter::Write, Filter::Except];

#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Rule 1.
    pub(super) mark: usize,
    /// Which file the number named when it was added.
    pub(super) file: Identity,
    pub(super) token: Token,
    pub(super) interest: Interest,
    pub(super) mode: Mode,
    /// How the kernel watches each of [`FILTERS`].
    watched: [Option<Mode>; 3],
    /// Rule 3: the one shot has been reported.
    pub(super) spent: bool,
    /// Rule 2: it has hung up, and is to be reported as such by every wait.
    pub(super) lingers: bool,
    /// Rule 4.
    pub(super) broken: bool,
    /// Where what a batch says of the descriptor is collected, if it is there.
    place: u32,
}

impl Slot {
    /// Makes a slot for a descriptor that the kernel does not watch yet.
    pub(super) fn new(file: Identity, wanted: Registration) -> Self {
        let mut slot = Self {
            mark: 0,
            file,
            token: wanted.token,
            interest: wanted.interest,
            mode: wanted.mode,
            watched: [None; 3],
            spent: false,
            lingers: false,
            broken: false,
            place: 0,
        };
        slot.want(wanted);
        slot
    }

    /// Wants something else from now on.
    pub(super) fn want(&mut self, wanted: Registration) {
        self.token = wanted.token;
        self.interest = wanted.interest;
        self.mode = wanted.mode;
        self.spent = false;
        self.lingers = false;
        self.broken = false;
    }

    /// What was wanted last.
    pub(super) fn wanted(&self) -> Registration {
        Registration {
            token: self.token,
            interest: self.interest,
            mode: self.mode,
        }
    }

    /// Rule 2: says whether neither reading nor writing is asked for.
    pub(super) fn asks_for_ends_only(&self) -> bool {
        let both = Interest::READABLE | Interest::WRITABLE;
        self.interest.intersection(both).is_empty()
    }

    /// What has the kernel watch what is wanted, and report what holds of it.
    pub(super) fn changes(&self) -> Changes {
        let mut changes = Changes::default();
        for (filter, watched) in FILTERS.into_iter().zip(self.watched) {
            let wanted = self.mode_of(filter);
            if watched.is_some() && watched != wanted {
                changes.delete(filter);
            }
            if let Some(mode) = wanted {
                changes.add(filter, mode);
            }
        }
        changes
    }

    /// What has the kernel forget the descriptor.
    pub(super) fn deletions(&self) -> Changes {
        let mut changes = Changes::default();
        for (filter, watched) in FILTERS.into_iter().zip(self.watched) {
            if watched.is_some() {
                changes.delete(filter);
            }
        }
        changes
    }

    /// How a filter is to be watched.
    fn mode_of(&self, filter: Filter) -> Option<Mode> {
        let direction = match filter {
            Filter::Read => Interest::READABLE,
            Filter::Write => Interest::WRITABLE,
            Filter::Except if TELLS_URGENT => Interest::PRIORITY,
            Filter::Except | Filter::User => return None,
        };
        if self.interest.contains(direction) {
            return Some(self.mode);
        }
        let for_its_end = filter != Filter::Except && self.asks_for_ends_only();
        for_its_end.then_some(if self.lingers {
            Mode::Level
        } else {
            Mode::Edge
        })
    }

    /// Notes how a change of `fd` went; an error is one that the registration fails with.
    pub(super) fn note(&mut self, fd: RawFd, change: Change, error: Errno) -> Result<(), Errno> {
        let watched = &mut self.watched[change.filter as usize];
        let Some(mode) = change.to else {
            // What can't be deleted has gone by itself, with its number or its file.
            *watched = None;
            return Ok(());
        };
        *watched = (error == 0).then_some(mode);
        match error {
            0 => Ok(()),
            // It is watched where this is said at all, and reported in any case.
            libc::EPIPE => {
                *watched = Some(mode);
                self.broken = true;
                Ok(())
            }
            libc::EBADF | libc::EPERM
                if change.filter == Filter::Write && self.is_open_pipe(fd) =>
            {
                self.broken = true;
                Ok(())
            }
            // Not every descriptor has urgent data, or an end of writing.
            _ if change.filter == Filter::Except => Ok(()),
            _ if change.filter == Filter::Write && self.asks_for_ends_only() => Ok(()),
            error => Err(error),
        }
    }

    /// Says whether anything is said of the descriptor in `batch`.
    pub(super) fn is_in(&self, batch: &[(RawFd, Said)], fd: RawFd) -> bool {
        batch
            .get(self.place as usize)
            .is_some_and(|(other, _)| *other == fd)
    }

    /// The place in `batch` of what is said of the descriptor, made if it isn't there.
    pub(super) fn place_in(&mut self, batch: &mut Vec<(RawFd, Said)>, fd: RawFd) -> usize {
        if !self.is_in(batch, fd) {
            self.place = batch.len() as u32;
            batch.push((fd, Said::default()));
        }
        self.place as usize
    }

    /// Says whether `fd` still names the pipe that it was registered for.
    pub(super) fn is_open_pipe(&self, fd: RawFd) -> bool {
        self.file.sort() == Sort::Pipe && matches!(identify(fd), Ok(Ok(file)) if file == self.file)
    }
}
