//! /dev/poll: Solaris and illumos.
//!
//! What of the driver shapes this file:
//!
//! - Entries go by number. Adding one ORs its bits to those that are there; only POLLREMOVE takes
//!   bits away, and takes all. So bits are dropped by POLLREMOVE followed by those that remain.
//! - An entry outlives the close of its descriptor, and then reports POLLNVAL for ever, or the next
//!   file of that number, or keeps that file from being reported. So it is taken out before the
//!   descriptor can be closed.
//! - On Solaris a write waits until no thread waits for the set, which can be for ever. So nothing
//!   is written while a thread waits.
//! - Levels only, one entry for each descriptor, in turn; at most as many as there may be
//!   descriptors, less one. The limit can be lowered at any time, so that each wait asks for it.
//! - Timeouts are milliseconds, and at least a tick. A wait that a handler with `SA_RESTART`
//!   interrupts starts again with its whole timeout; the notifier ends it all the same.
//! - The device cannot be waited for by another mechanism.
//!
//! Writing goes by these rules, all under the lock of the set:
//!
//! 1. The set remembers what the kernel *knows*. Only differences to that are written.
//! 2. Additions, changes and interest that is taken away are gathered in the table (`arming.rs`),
//!    and written in one write by the waiting thread, just before it goes in.
//! 3. A removal is written before the call returns; by the remover, if nobody is in the kernel.
//! 4. Else it is *owed*. The remover ends the wait, and sleeps until it is written: by the waiting
//!    thread as it comes out, before it does anything else. So the waiting thread never waits for a
//!    remover, and need not be kept from going in again.
//! 5. What could not be written stays owed, or marked as changed, and is tried again by whoever
//!    comes next. Nobody goes into the kernel before it is written.
//! 6. A number is looked at before it is added. If it was closed meanwhile, the driver would say
//!    nothing and keep the bits for the next file of that number.

use super::arming::{Armed, Table};
use super::mechanism::{Contract, Effect, Features, Registration};
use super::{Backend, Events, Flags, Interest, RegisterError, Token};
use crate::sys::devpoll::{self as sys, pollfd};
use parking_lot::{Condvar, Mutex};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

pub(crate) struct DevPoll {
    device: OwnedFd,
    set: Mutex<Set>,
    /// Rule 4: the waiting thread is out of the kernel and has dealt with what was owed.
    came_out: Condvar,
    /// Where the kernel writes answers. Only the waiting thread takes this lock.
    answers: Mutex<Vec<pollfd>>,
}

/// What the kernel knows after a write that failed: the entry has to be made anew.
const UNCERTAIN: Armed = Armed {
    interest: Interest::NONE,
    registration: 0,
};

struct Set {
    table: Table,
    /// Rule 1: what the kernel has of each number.
    known: Vec<Option<Armed>>,
    /// Rule 4: numbers that the kernel knows and that have to be taken out, each once.
    owed: Vec<RawFd>,
    /// The entries of one write.
    batch: Vec<pollfd>,
}

impl Contract for DevPoll {
    const FEATURES: Features = Features {
        native_edges: false,
        priority: true,
        // Only illumos has a bit for it.
        read_closed: false,
        passing_errors: true,
    };

    fn open() -> io::Result<Self> {
        let device = sys::open()?;
        sys::probe(device.as_fd())?;
        Ok(Self {
            device,
            set: Mutex::new(Set {
                table: Table::new(Backend::DevPoll),
                known: Vec::new(),
                owed: Vec::new(),
                batch: Vec::new(),
            }),
            came_out: Condvar::new(),
            answers: Mutex::default(),
        })
    }

    fn add(&self, fd: RawFd, wanted: Registration) -> io::Result<Effect> {
        let file = RegisterError::unless_pollable(Backend::DevPoll, fd)?;
        self.set.lock().table.add(fd, file, wanted)
    }

    fn modify(&self, fd: RawFd, wanted: Registration) -> io::Result<Effect> {
        self.set.lock().table.modify(fd, wanted)
    }

    fn rearm(&self, fd: RawFd, interest: Interest) -> io::Result<Effect> {
        self.set.lock().table.rearm(fd, interest)
    }

    fn remove(&self, fd: RawFd, expected: Option<Token>) -> io::Result<Effect> {
        let mut set = self.set.lock();
        // What this says concerns what the next wait sees; a removal must not wait for that.
        let _ = set.table.remove(fd, expected)?;
        if !set.owe(fd) {
            return Ok(Effect::Immediate);
        }
        if set.table.is_waiting() {
            return Ok(Effect::Owed);
        }
        set.write_owed(self.device.as_fd())?;
        Ok(Effect::Immediate)
    }

    /// Rule 4: the caller has ended the wait.
    fn settle(&self, fd: RawFd) -> io::Result<()> {
        let mut set = self.set.lock();
        while set.owed.contains(&fd) {
            if !set.table.is_waiting() {
                return set.write_owed(self.device.as_fd());
            }
            self.came_out.wait(&mut set);
        }
        Ok(())
    }

    #[inline(never)]
    fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        self.go_in(events)?;
        if events.is_full() {
            return Ok(());
        }
        // What is known already does not hide what else is ready.
        let timeout = if events.is_empty() {
            timeout
        } else {
            Some(Duration::ZERO)
        };
        let mut answers = self.answers.lock();
        let below_limit = sys::descriptor_limit().saturating_sub(1);
        let room = events.room().min(below_limit).max(1);
        if answers.len() < room {
            answers.resize(room, sys::entry(-1, 0));
        }
        let ready = sys::wait(self.device.as_fd(), &mut answers[..room], timeout);
        let mut set = self.set.lock();
        set.table.set_waiting(false);
        // If this fails, so does each remover, which tries again.
        let _ = set.write_owed(self.device.as_fd());
        self.came_out.notify_all();
        for answer in ready? {
            set.report(*answer, events);
        }
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn interest_changes(&self) -> u64 {
        self.set.lock().table.interest_changes()
    }
}

impl DevPoll {
    /// Rules 2 and 5: tells the kernel all that has changed, before the caller goes in; who does not
    /// if there is no room for more than what is to be reported already.
    fn go_in(&self, events: &mut Events) -> io::Result<()> {
        let mut set = self.set.lock();
        set.write_owed(self.device.as_fd())?;
        set.write_changes(self.device.as_fd(), events)?;
        set.table.set_waiting(!events.is_full());
        Ok(())
    }
}

impl Set {
    fn known(&self, fd: RawFd) -> Option<Armed> {
        *self.known.get(fd as usize)?
    }

    fn set_known(&mut self, fd: RawFd, armed: Option<Armed>) {
        if self.known.len() <= fd as usize {
            self.known.resize(fd as usize + 1, None);
        }
        self.known[fd as usize] = armed;
    }

    /// Notes that `fd` has to be taken out, unless the kernel does not know it.
    fn owe(&mut self, fd: RawFd) -> bool {
        let is_known = self.known(fd).is_some();
        if is_known && !self.owed.contains(&fd) {
            self.owed.push(fd);
        }
        is_known
    }

    /// Rules 3 and 4: takes out what has been removed. Nobody is in the kernel.
    fn write_owed(&mut self, device: BorrowedFd<'_>) -> io::Result<()> {
        self.batch.clear();
        let removals = self.owed.iter().map(|fd| sys::entry(*fd, sys::POLLREMOVE));
        self.batch.extend(removals);
        sys::write(device, &self.batch)?;
        for fd in self.owed.drain(..) {
            self.known[fd as usize] = None;
        }
        Ok(())
    }

    /// Rule 2. Nobody is in the kernel, and nothing is owed.
    fn write_changes(&mut self, device: BorrowedFd<'_>, events: &mut Events) -> io::Result<()> {
        let changed = self.table.take_changed();
        self.batch.clear();
        for fd in &changed {
            let known = self.known(*fd);
            let armed = self.next(*fd, events);
            gather(*fd, known, armed, &mut self.batch);
            self.set_known(*fd, armed);
        }
        let written = sys::write(device, &self.batch);
        if written.is_err() {
            for fd in &changed {
                self.set_known(*fd, Some(UNCERTAIN));
                self.table.mark_changed(*fd);
            }
        }
        self.table.give_back(changed);
        written
    }

    /// What the kernel is to have of `fd` from now on (rule 6).
    fn next(&mut self, fd: RawFd, events: &mut Events) -> Option<Armed> {
        let armed = self.table.armed(fd)?;
        if self.known(fd) == Some(armed) || self.table.is_current(fd) {
            return Some(armed);
        }
        if events.is_full() {
            self.table.mark_changed(fd);
        } else {
            self.table.report_closed(fd, events);
        }
        None
    }

    fn report(&mut self, answer: pollfd, events: &mut Events) {
        if answer.revents & sys::POLLNVAL != 0 {
            self.table.report_closed(answer.fd, events);
        } else {
            self.table.report(answer.fd, flags(answer.revents), events);
        }
    }
}

/// Adds to `batch` what turns the entry that the kernel knows into the one that it is to have.
fn gather(fd: RawFd, known: Option<Armed>, armed: Option<Armed>, batch: &mut Vec<pollfd>) {
    // Bits can't be dropped one by one, and an entry of another file may not look at this one.
    let replaced = known.filter(|known| {
        armed.is_none_or(|armed| {
            armed.registration != known.registration || !armed.interest.contains(known.interest)
        })
    });
    if replaced.is_some() {
        batch.push(sys::entry(fd, sys::POLLREMOVE));
    }
    if let Some(armed) = armed.filter(|_| known != armed) {
        batch.push(sys::entry(fd, bits(armed.interest)));
    }
}

impl fmt::Debug for DevPoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DevPoll")
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

/// The bits that ask for `interest`.
fn bits(interest: Interest) -> libc::c_short {
    let asked = [
        (Interest::READABLE, sys::POLLIN),
        (Interest::WRITABLE, sys::POLLOUT),
        (Interest::PRIORITY, sys::POLLPRI),
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
        .and(Flags::HANG_UP.when(has(sys::POLLHUP)))
        .and(Flags::ERROR.when(has(sys::POLLERR)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const R: Interest = Interest::READABLE;
    const W: Interest = Interest::WRITABLE;
    const REMOVE: libc::c_short = sys::POLLREMOVE;

    /// What is written if the kernel knows one thing and is to have another: interest and
    /// registration each.
    fn written(
        known: Option<(Interest, u64)>,
        next: Option<(Interest, u64)>,
    ) -> Vec<libc::c_short> {
        let armed = |of: Option<(Interest, u64)>| {
            of.map(|(interest, registration)| Armed {
                interest,
                registration,
            })
        };
        let mut batch = Vec::new();
        gather(7, armed(known), armed(next), &mut batch);
        assert!(batch.iter().all(|entry| entry.fd == 7));
        batch.iter().map(|entry| entry.events).collect()
    }

    #[test]
    fn only_differences_are_written() {
        assert_eq!(written(None, None), []);
        assert_eq!(written(Some((R, 1)), Some((R, 1))), []);
        assert_eq!(written(None, Some((R, 1))), [sys::POLLIN]);
        assert_eq!(written(None, Some((Interest::NONE, 1))), [0]);
        let both = sys::POLLIN | sys::POLLOUT;
        assert_eq!(written(Some((R, 1)), Some((R | W, 1))), [both]);
    }

    #[test]
    fn bits_are_dropped_by_a_removal_and_what_remains() {
        assert_eq!(written(Some((R, 1)), None), [REMOVE]);
        let narrowed = written(Some((R | W, 1)), Some((R, 1)));
        assert_eq!(narrowed, [REMOVE, sys::POLLIN]);
        let replaced = written(Some((R, 1)), Some((W, 1)));
        assert_eq!(replaced, [REMOVE, sys::POLLOUT]);
        let silenced = written(Some((R, 1)), Some((Interest::NONE, 1)));
        assert_eq!(silenced, [REMOVE, 0]);
    }

    #[test]
    fn the_entry_of_another_file_is_replaced_whatever_its_bits() {
        assert_eq!(written(Some((R, 1)), Some((R, 2))), [REMOVE, sys::POLLIN]);
        let uncertain = (UNCERTAIN.interest, UNCERTAIN.registration);
        assert_eq!(
            written(Some(uncertain), Some((R, 1))),
            [REMOVE, sys::POLLIN]
        );
        assert_eq!(written(Some(uncertain), None), [REMOVE]);
    }
}
