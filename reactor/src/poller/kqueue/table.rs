//! What is registered, by number of descriptor. All of it is used under one lock, also over the calls
//! that change the kernel's queue, so that the table tells what the kernel was told last.

use super::changes::{Errno, Receipts};
use super::report::Said;
use super::slot::Slot;
use crate::poller::mechanism::{Effect, Registration};
use crate::poller::{Backend, Events, Flags, Mode, Refusal, RegisterError, Token};
use crate::sys::file::Identity;
use crate::sys::kqueue::{Entry, Filter};
use std::io;
use std::os::fd::{BorrowedFd, RawFd};

#[derive(Debug, Default)]
pub(super) struct Table {
    slots: Vec<Option<Slot>>,
    pub(super) receipts: Receipts,
    /// The mark that was given out last.
    mark: usize,
    /// The descriptors whose slots are broken, perhaps along with some that are no more.
    broken: Vec<RawFd>,
    /// One of them was reported in place of what the kernel may have had.
    had_turn: bool,
    pub(super) interest_changes: u64,
    /// What a batch says of each descriptor; empty between waits.
    batch: Vec<(RawFd, Said)>,
}

impl Table {
    pub(super) fn add(
        &mut self,
        queue: BorrowedFd<'_>,
        fd: RawFd,
        file: Identity,
        wanted: Registration,
    ) -> io::Result<Effect> {
        // A slot of another file is left over from one that was closed without removal, and with
        // the number its filters have gone.
        if self.find(fd).is_some_and(|slot| slot.file == file) {
            return Err(refuse(fd, Refusal::AlreadyRegistered));
        }
        let index = fd as usize;
        if self.slots.len() <= index {
            self.slots.resize(index + 1, None);
        }
        let mut slot = Slot::new(file, wanted);
        let watched = self.watch(queue, fd, &mut slot);
        if watched.is_err() {
            self.unwatch(queue, fd, slot);
        }
        self.slots[index] = watched.is_ok().then_some(slot);
        watched
    }

    pub(super) fn modify(
        &mut self,
        queue: BorrowedFd<'_>,
        fd: RawFd,
        wanted: Registration,
    ) -> io::Result<Effect> {
        let mut slot = *self.registered(fd)?;
        let before = slot.wanted();
        slot.want(wanted);
        let watched = self.watch(queue, fd, &mut slot);
        if watched.is_err() {
            slot.want(before);
            // As far as it goes.
            let _ = self.watch(queue, fd, &mut slot);
        }
        self.slots[fd as usize] = Some(slot);
        self.interest_changes += 1;
        watched
    }

    /// Takes `fd` out; only if it goes by the token `expected`, where one is given.
    pub(super) fn remove(
        &mut self,
        queue: BorrowedFd<'_>,
        fd: RawFd,
        expected: Option<Token>,
    ) -> io::Result<()> {
        let slot = *self.registered(fd)?;
        if expected.is_some_and(|expected| expected != slot.token) {
            return Err(refuse(fd, Refusal::NotRegistered));
        }
        self.slots[fd as usize] = None;
        self.unwatch(queue, fd, slot);
        Ok(())
    }

    pub(super) fn registered(&self, fd: RawFd) -> io::Result<&Slot> {
        self.find(fd)
            .ok_or_else(|| refuse(fd, Refusal::NotRegistered))
    }

    fn find(&self, fd: RawFd) -> Option<&Slot> {
        self.slots.get(usize::try_from(fd).ok()?)?.as_ref()
    }

    /// Has the kernel watch what `slot` wants, under a new mark.
    fn watch(&mut self, queue: BorrowedFd<'_>, fd: RawFd, slot: &mut Slot) -> io::Result<Effect> {
        self.mark = self.mark.wrapping_add(1);
        slot.mark = self.mark;
        let mut refused = None;
        for (change, error) in self.receipts.make(queue, fd, slot.mark, slot.changes()) {
            refused = slot.note(fd, change, error).err().or(refused);
        }
        if let Some(error) = refused {
            return Err(refusal(fd, error));
        }
        if !slot.broken {
            return Ok(Effect::Immediate);
        }
        if !self.broken.contains(&fd) {
            self.broken.push(fd);
        }
        Ok(Effect::NextWait)
    }

    fn unwatch(&mut self, queue: BorrowedFd<'_>, fd: RawFd, slot: Slot) {
        // Whatever the kernel says: what isn't there any more has gone with its number.
        let _ = self
            .receipts
            .make(queue, fd, slot.mark, slot.deletions())
            .count();
    }

    /// How much of a batch of `capacity` the kernel may fill, and whether the wait may last: not if
    /// there is something to report without the kernel.
    pub(super) fn room_for_kernel(&mut self, capacity: usize) -> (usize, bool) {
        if self.broken.is_empty() {
            return (capacity, true);
        }
        // Where there is room for one only, they take turns.
        self.had_turn = !self.had_turn;
        let own = usize::from(capacity > 1 || self.had_turn);
        (capacity - own, false)
    }

    /// Turns what the kernel handed out into one event for each descriptor.
    pub(super) fn report(&mut self, queue: BorrowedFd<'_>, came: &[Entry], events: &mut Events) {
        for entry in came {
            match entry.filter() {
                Some(Filter::User) => events.push(Token::RESERVED, Flags::READABLE),
                Some(_) => self.collect(entry),
                None => {}
            }
        }
        self.collect_broken(events.capacity());
        let mut batch = std::mem::take(&mut self.batch);
        for (fd, said) in batch.drain(..) {
            self.report_one(queue, fd, said, events);
        }
        self.batch = batch;
        if !self.broken.is_empty() {
            let slots = &self.slots;
            self.broken
                .retain(|fd| slots[*fd as usize].is_some_and(|slot| slot.broken));
        }
    }

    /// Adds an event to what is said of its descriptor, if it is one of the present registration.
    fn collect(&mut self, entry: &Entry) {
        let Some(slot) = self.slots.get_mut(entry.ident()).and_then(Option::as_mut) else {
            return;
        };
        if slot.mark != entry.mark() || slot.spent {
            return;
        }
        let fd = entry.ident() as RawFd;
        let index = slot.place_in(&mut self.batch, fd);
        self.batch[index].1.add(entry);
    }

    /// Adds the broken pipes, as far as there is room, beginning where the last batch ended. One
    /// that was closed without removal is forgotten, or each wait would end at once.
    fn collect_broken(&mut self, room: usize) {
        let mut done = 0;
        for fd in &self.broken {
            let slot = &mut self.slots[*fd as usize];
            slot.take_if(|slot| slot.broken && !slot.is_open_pipe(*fd));
            if let Some(slot) = slot.as_mut().filter(|slot| slot.broken) {
                if self.batch.len() == room && !slot.is_in(&self.batch, *fd) {
                    break;
                }
                let index = slot.place_in(&mut self.batch, *fd);
                self.batch[index].1.merge(Said::broken());
            }
            done += 1;
        }
        self.broken.rotate_left(done);
    }

    fn report_one(&mut self, queue: BorrowedFd<'_>, fd: RawFd, said: Said, events: &mut Events) {
        let Some(mut slot) = self.slots[fd as usize] else {
            return;
        };
        let flags = said.flags(fd, &slot);
        if flags != Flags::NONE {
            events.push(slot.token, flags);
            slot.spent = slot.mode == Mode::Oneshot;
        }
        slot.broken &= slot.mode == Mode::Level;
        let begins_to_linger = flags.is_final()
            && slot.mode == Mode::Level
            && slot.asks_for_ends_only()
            && !slot.lingers;
        if begins_to_linger {
            slot.lingers = true;
            // If it can't be done, there was one event at least.
            let _ = self.watch(queue, fd, &mut slot);
        }
        self.slots[fd as usize] = Some(slot);
    }
}

/// What the kernel's refusal of `fd` is for the caller.
fn refusal(fd: RawFd, error: Errno) -> io::Error {
    match error {
        libc::EINVAL | libc::ENODEV | libc::ENXIO | libc::EOPNOTSUPP | libc::ENOTTY => {
            refuse(fd, Refusal::Device)
        }
        other => {
            RegisterError::from_system(Backend::Kqueue, fd, &io::Error::from_raw_os_error(other))
        }
    }
}

fn refuse(fd: RawFd, refusal: Refusal) -> io::Error {
    RegisterError::refuse(Backend::Kqueue, fd, refusal)
}
