//! poll(2).
//!
//! The kernel keeps no set here: each wait hands over the whole array, and looks at each of its
//! entries. Two arrays are kept in step:
//!
//! - the *table* says what is registered; anybody may change it, under its lock;
//! - the *entries* are what the kernel sees; only the waiting thread touches them, and brings the
//!   slots marked `stale` up to date just before it goes in.
//!
//! A slot that was changed while the wait was under way is still `stale` when the answer comes, and
//! the answer for it is dropped: whatever holds is reported by the next wait.
//!
//! Poll is level-triggered. An edge is kept by *wanting*: a direction is wanted after registration
//! and after `rearm`, until it has been reported. It stays in the kernel's entry, so that a loop of
//! wait, read, rearm changes nothing there; it is taken out when it fires though nobody wants it.

use super::mechanism::{Contract, Effect, Features, Registration};
use super::{Backend, Events, Flags, Interest, Mode, Refusal, RegisterError, Token};
use crate::sys::file::Identity;
use crate::sys::poll::{self as sys, pollfd};
use parking_lot::Mutex;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Poll {
    table: Mutex<Table>,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Table {
    slots: Vec<Slot>,
    /// The slot of each descriptor; [`NO_SLOT`] for none.
    by_descriptor: Vec<u32>,
    /// The slots whose entry has to be brought up to date.
    stale: Vec<u32>,
    /// The waiting thread is in the kernel.
    waiting: bool,
    interest_changes: u64,
}

/// One registered descriptor.
#[derive(Clone, Copy, Debug)]
struct Slot {
    fd: RawFd,
    /// Which file the number named when it was added.
    file: Identity,
    token: Token,
    mode: Mode,
    /// What the registration asks for.
    registered: Interest,
    /// What the kernel is asked for; less, once part of it has fired and nobody wanted it.
    armed: Interest,
    /// The part of it that the next event may report. All of it, unless the mode is edge.
    wanted: Interest,
    /// The same for errors and hang-ups, which the kernel always reports.
    wants_errors: bool,
    /// The kernel does not look at the entry at all: not even for errors.
    disabled: bool,
    stale: bool,
}

const NO_SLOT: u32 = u32::MAX;

#[derive(Default)]
struct Entries {
    list: Vec<pollfd>,
    /// Where the next batch begins, so that a small one starves nobody.
    first: usize,
}

impl Contract for Poll {
    const FEATURES: Features = Features {
        native_edges: false,
        priority: true,
        read_closed: sys::POLLRDHUP != 0,
    };

    fn open() -> io::Result<Self> {
        Ok(Self::default())
    }

    fn add(&self, fd: RawFd, wanted: Registration) -> io::Result<Effect> {
        let file = RegisterError::unless_pollable(Backend::Poll, fd)?;
        let mut table = self.table.lock();
        if let Some(index) = table.find(fd) {
            if table.slots[index].file == file {
                return Err(RegisterError::refuse(
                    Backend::Poll,
                    fd,
                    Refusal::AlreadyRegistered,
                ));
            }
            // The number was closed without removal, and is another file's by now.
            table.remove(index);
        }
        table.insert(Slot::new(fd, file, wanted));
        Ok(table.effect())
    }

    fn modify(&self, fd: RawFd, wanted: Registration) -> io::Result<Effect> {
        let mut table = self.table.lock();
        let index = table.registered(fd)?;
        table.slots[index].register(wanted);
        table.interest_changes += 1;
        table.mark_stale(index);
        Ok(table.effect())
    }

    fn rearm(&self, fd: RawFd, interest: Interest) -> io::Result<Effect> {
        let mut table = self.table.lock();
        let index = table.registered(fd)?;
        let slot = &mut table.slots[index];
        if slot.mode != Mode::Edge {
            return Ok(Effect::Immediate);
        }
        let interest = interest.intersection(slot.registered);
        slot.wanted |= interest;
        slot.wants_errors = true;
        if slot.armed.contains(interest) && !slot.disabled {
            return Ok(Effect::Immediate);
        }
        slot.armed |= interest;
        slot.disabled = false;
        table.interest_changes += 1;
        table.mark_stale(index);
        Ok(table.effect())
    }

    fn remove(&self, fd: RawFd, expected: Option<Token>) -> io::Result<Effect> {
        let mut table = self.table.lock();
        let index = table.registered(fd)?;
        if expected.is_some_and(|expected| expected != table.slots[index].token) {
            return Err(RegisterError::refuse(
                Backend::Poll,
                fd,
                Refusal::NotRegistered,
            ));
        }
        table.remove(index);
        Ok(table.effect())
    }

    fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        let mut entries = self.entries.lock();
        {
            let mut table = self.table.lock();
            table.update(&mut entries.list);
            table.waiting = true;
        }
        let ready = sys::wait(&mut entries.list, timeout);
        let mut table = self.table.lock();
        table.waiting = false;
        table.report(&mut entries, ready?, events);
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn interest_changes(&self) -> u64 {
        self.table.lock().interest_changes
    }
}

impl Table {
    fn find(&self, fd: RawFd) -> Option<usize> {
        let index = *self.by_descriptor.get(usize::try_from(fd).ok()?)?;
        (index != NO_SLOT).then_some(index as usize)
    }

    fn registered(&self, fd: RawFd) -> io::Result<usize> {
        self.find(fd)
            .ok_or_else(|| RegisterError::refuse(Backend::Poll, fd, Refusal::NotRegistered))
    }

    /// Says what a change that was just made means for a wait under way.
    fn effect(&self) -> Effect {
        if self.waiting {
            Effect::NextWait
        } else {
            Effect::Immediate
        }
    }

    fn insert(&mut self, slot: Slot) {
        let index = self.slots.len();
        let fd = slot.fd as usize;
        if self.by_descriptor.len() <= fd {
            self.by_descriptor.resize(fd + 1, NO_SLOT);
        }
        self.by_descriptor[fd] = index as u32;
        self.slots.push(slot);
        self.mark_stale(index);
    }

    /// Fills the gap with the last slot, so that both places are stale.
    fn remove(&mut self, index: usize) {
        let removed = self.slots.swap_remove(index);
        self.by_descriptor[removed.fd as usize] = NO_SLOT;
        if let Some(moved) = self.slots.get_mut(index) {
            moved.stale = false;
            self.by_descriptor[moved.fd as usize] = index as u32;
            self.mark_stale(index);
        }
    }

    fn mark_stale(&mut self, index: usize) {
        if !std::mem::replace(&mut self.slots[index].stale, true) {
            self.stale.push(index as u32);
        }
    }

    /// Brings the kernel's array up to date.
    fn update(&mut self, entries: &mut Vec<pollfd>) {
        entries.resize(
            self.slots.len(),
            pollfd {
                fd: -1,
                events: 0,
                revents: 0,
            },
        );
        for index in self.stale.drain(..) {
            // A slot at the end may have been removed since.
            if let Some(slot) = self.slots.get_mut(index as usize) {
                slot.stale = false;
                entries[index as usize] = slot.entry();
            }
        }
    }

    /// Turns the kernel's answer into events, beginning where the last batch ended.
    fn report(&mut self, entries: &mut Entries, mut ready: usize, events: &mut Events) {
        let count = entries.list.len();
        let first = if entries.first < count {
            entries.first
        } else {
            0
        };
        entries.first = 0;
        for index in (first..count).chain(0..first) {
            if ready == 0 {
                break;
            }
            let entry = entries.list[index];
            if entry.revents == 0 {
                continue;
            }
            ready -= 1;
            if events.is_full() {
                entries.first = index;
                break;
            }
            self.report_one(entry, events);
        }
    }

    fn report_one(&mut self, entry: pollfd, events: &mut Events) {
        let Some(index) = self
            .find(entry.fd)
            .filter(|index| !self.slots[*index].stale)
        else {
            return;
        };
        let fired = flags(entry.revents);
        let slot = &mut self.slots[index];
        let token = slot.token;
        if entry.revents & sys::POLLNVAL != 0 {
            // Closed without removal: said once, then forgotten, or each wait would end at once.
            self.remove(index);
            events.push(token, Flags::ERROR);
            return;
        }
        let is_for_somebody = slot.wants(fired);
        if slot.after(fired) {
            self.interest_changes += 1;
            self.mark_stale(index);
        }
        if is_for_somebody {
            events.push(token, fired);
        }
    }
}

impl Slot {
    fn new(fd: RawFd, file: Identity, wanted: Registration) -> Self {
        let mut slot = Self {
            fd,
            file,
            token: wanted.token,
            mode: wanted.mode,
            registered: Interest::NONE,
            armed: Interest::NONE,
            wanted: Interest::NONE,
            wants_errors: true,
            disabled: false,
            stale: false,
        };
        slot.register(wanted);
        slot
    }

    fn register(&mut self, wanted: Registration) {
        self.token = wanted.token;
        self.mode = wanted.mode;
        self.registered = wanted.interest;
        self.armed = wanted.interest;
        self.wanted = wanted.interest;
        self.wants_errors = true;
        self.disabled = false;
    }

    /// What the kernel is to see.
    fn entry(&self) -> pollfd {
        let asked = [
            (Interest::READABLE, sys::POLLIN | sys::POLLRDHUP),
            (Interest::WRITABLE, sys::POLLOUT),
            (Interest::PRIORITY, sys::POLLPRI),
        ];
        let events = asked
            .iter()
            .filter(|(interest, _)| self.armed.contains(*interest))
            .fold(0, |bits, (_, bit)| bits | bit);
        pollfd {
            fd: if self.disabled { -1 } else { self.fd },
            events,
            revents: 0,
        }
    }

    /// Says whether anybody wants to know of `fired`.
    fn wants(&self, fired: Flags) -> bool {
        self.mode != Mode::Edge
            || (self.wants_errors && fired.is_final())
            || !self.wanted.intersection(fired.directions()).is_empty()
    }

    /// Notes that `fired` is dealt with; returns whether the kernel's entry has to change.
    fn after(&mut self, fired: Flags) -> bool {
        match self.mode {
            Mode::Level => false,
            Mode::Oneshot => {
                self.disabled = true;
                true
            }
            Mode::Edge => {
                let directions = fired.directions();
                let unwanted = self.armed.intersection(directions).difference(self.wanted);
                // Errors and hang-ups can't be left out of an entry: it has to go as a whole.
                self.disabled = fired.is_final() && !self.wants(fired);
                self.wants_errors &= !fired.is_final();
                self.wanted = self.wanted.difference(directions);
                self.armed = self.armed.difference(unwanted);
                self.disabled || !unwanted.is_empty()
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
