//! poll(2).
//!
//! The kernel keeps no set here: each wait hands over the whole array, and looks at each of its
//! entries. Two things are kept in step:
//!
//! - the *table* (`arming.rs`) says what is registered; anybody may change it, under its lock;
//! - the *entries* are what the kernel sees; only the waiting thread touches them, and brings those
//!   of changed descriptors up to date just before it goes in.

use super::arming::{Armed, Table};
use super::mechanism::{Contract, Effect, Features, Registration};
use super::{Backend, Events, Flags, Interest, RegisterError, Token};
use crate::sys::poll::{self as sys, pollfd};
use parking_lot::Mutex;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Poll {
    table: Mutex<Table>,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    list: Vec<pollfd>,
    /// Where in the list each descriptor is; [`NOWHERE`] for none.
    places: Vec<u32>,
    /// Where the next batch begins, so that a small one starves nobody.
    first: usize,
}

const NOWHERE: u32 = u32::MAX;

impl Contract for Poll {
    const FEATURES: Features = Features {
        native_edges: false,
        priority: true,
        read_closed: sys::POLLRDHUP != 0,
        passing_errors: true,
    };

    const HAS_SLACK: bool = true;

    fn open() -> io::Result<Self> {
        Ok(Self {
            table: Mutex::new(Table::new(Backend::Poll)),
            entries: Mutex::default(),
        })
    }

    fn add(&self, fd: RawFd, wanted: Registration) -> io::Result<Effect> {
        let file = RegisterError::unless_pollable(Backend::Poll, fd)?;
        self.table.lock().add(fd, file, wanted)
    }

    fn modify(&self, fd: RawFd, wanted: Registration) -> io::Result<Effect> {
        self.table.lock().modify(fd, wanted)
    }

    fn rearm(&self, fd: RawFd, interest: Interest) -> io::Result<Effect> {
        self.table.lock().rearm(fd, interest)
    }

    fn remove(&self, fd: RawFd, expected: Option<Token>) -> io::Result<Effect> {
        self.table.lock().remove(fd, expected)
    }

    // Kept out of the way of a mechanism for which a few instructions count.
    #[inline(never)]
    fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        let mut entries = self.entries.lock();
        {
            let mut table = self.table.lock();
            entries.update(&mut table);
            table.set_waiting(true);
        }
        let ready = sys::wait(&mut entries.list, timeout);
        let mut table = self.table.lock();
        table.set_waiting(false);
        entries.report(ready?, &mut table, events);
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn interest_changes(&self) -> u64 {
        self.table.lock().interest_changes()
    }
}

impl Entries {
    /// Brings the kernel's array up to date.
    fn update(&mut self, table: &mut Table) {
        let changed = table.take_changed();
        for fd in &changed {
            match table.armed(*fd) {
                Some(armed) => self.set(*fd, armed),
                None => self.unset(*fd),
            }
        }
        table.give_back(changed);
    }

    fn set(&mut self, fd: RawFd, armed: Armed) {
        let entry = pollfd {
            fd,
            events: bits(armed.interest),
            revents: 0,
        };
        if self.places.len() <= fd as usize {
            self.places.resize(fd as usize + 1, NOWHERE);
        }
        let place = &mut self.places[fd as usize];
        if let Some(present) = self.list.get_mut(*place as usize) {
            *present = entry;
        } else {
            *place = self.list.len() as u32;
            self.list.push(entry);
        }
    }

    /// Fills the gap with the last entry.
    fn unset(&mut self, fd: RawFd) {
        let Some(place) = self.places.get_mut(fd as usize) else {
            return;
        };
        let place = std::mem::replace(place, NOWHERE);
        if place == NOWHERE {
            return;
        }
        self.list.swap_remove(place as usize);
        if let Some(moved) = self.list.get(place as usize) {
            self.places[moved.fd as usize] = place;
        }
    }

    /// Turns the kernel's answer into events, beginning where the last batch ended.
    fn report(&mut self, mut ready: usize, table: &mut Table, events: &mut Events) {
        let count = self.list.len();
        let first = if self.first < count { self.first } else { 0 };
        self.first = 0;
        for index in (first..count).chain(0..first) {
            if ready == 0 {
                break;
            }
            let entry = self.list[index];
            if entry.revents == 0 {
                continue;
            }
            ready -= 1;
            if events.is_full() {
                self.first = index;
                break;
            }
            if entry.revents & sys::POLLNVAL != 0 {
                table.report_closed(entry.fd, events);
            } else {
                table.report(entry.fd, flags(entry.revents), events);
            }
        }
    }
}

impl std::fmt::Debug for Entries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entries")
            .field("count", &self.list.len())
            .finish()
    }
}

/// The bits that ask for `interest`.
fn bits(interest: Interest) -> libc::c_short {
    let asked = [
        (Interest::READABLE, sys::POLLIN | sys::POLLRDHUP),
        (Interest::WRITABLE, sys::POLLOUT),
        (Interest::PRIORITY, sys::POLLPRI | sys::POLLRDHUP),
    ];
    asked
        .iter()
        .filter(|(one, _)| interest.contains(*one))
        .fold(0, |bits, (_, bit)| bits | bit)
}

/// What the kernel's bits say.
fn flags(bits: libc::c_short) -> Flags {
    let has = |bit| bits & bit != 0;
    Flags::READABLE
        .when(has(sys::POLLIN))
        .and(Flags::WRITABLE.when(has(sys::POLLOUT)))
        .and(Flags::PRIORITY.when(has(sys::POLLPRI)))
        .and(Flags::READ_CLOSED.when(has(sys::POLLRDHUP)))
        .and(Flags::HANG_UP.when(has(sys::POLLHUP)))
        .and(Flags::ERROR.when(has(sys::POLLERR)))
}

#[cfg(all(test, not(windlass_loom)))]
mod tests;
