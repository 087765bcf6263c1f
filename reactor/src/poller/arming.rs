//! The table of interest for mechanisms that know levels only: poll(2) and /dev/poll.
//!
//! The table says, by number of descriptor, what is registered and what of it the kernel is to be
//! asked for. Anybody may change it, under its lock; the kernel is told just before the next wait.
//!
//! 1. A number whose entry in the kernel may have to change is *changed* until the kernel is told.
//! 2. The kernel's answer for a changed number is dropped: it may be of what was registered before.
//!    Nothing is lost, since what holds is reported by the next wait.
//! 3. An edge is kept by *wanting*: a direction is wanted after registration and after `rearm`,
//!    until it has been reported.
//! 4. Interest is taken away lazily: a direction that is not wanted any more stays armed in the
//!    kernel until it fires though nobody wants it. So a loop of wait, read, rearm changes nothing.

use super::mechanism::{Effect, Registration};
use super::{Backend, Events, Flags, Interest, Mode, Refusal, RegisterError, Token};
use crate::sys::file::{Identity, identify};
use std::io;
use std::os::fd::RawFd;

#[derive(Debug)]
pub(super) struct Table {
    backend: Backend,
    /// What is known of each number.
    places: Vec<Place>,
    /// The numbers that are marked as changed, each once.
    changed: Vec<RawFd>,
    /// How many registrations there have been, which is the name of the last; 0 is none's.
    registrations: u64,
    /// The waiting thread is in the kernel.
    waiting: bool,
    interest_changes: u64,
}

/// One number of a descriptor.
#[derive(Debug, Default)]
struct Place {
    slot: Option<Slot>,
    /// Rule 1.
    changed: bool,
}

/// One registered descriptor.
#[derive(Debug)]
struct Slot {
    /// Which registration of the table it is.
    registration: u64,
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
}

/// What the kernel is to be asked for one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Armed {
    pub(super) interest: Interest,
    /// Differs for different files, so that an entry of one is not taken for that of another.
    pub(super) registration: u64,
}

impl Table {
    pub(super) fn new(backend: Backend) -> Self {
        Self {
            backend,
            places: Vec::new(),
            changed: Vec::new(),
            registrations: 0,
            waiting: false,
            interest_changes: 0,
        }
    }

    /// Registers `fd`, which names `file`.
    pub(super) fn add(
        &mut self,
        fd: RawFd,
        file: Identity,
        wanted: Registration,
    ) -> io::Result<Effect> {
        let index = fd as usize;
        if self.places.len() <= index {
            self.places.resize_with(index + 1, Place::default);
        }
        let place = &mut self.places[index];
        // A slot of another file is left over from one that was closed without removal.
        if place.slot.as_ref().is_some_and(|slot| slot.file == file) {
            return Err(self.refuse(fd, Refusal::AlreadyRegistered));
        }
        self.registrations += 1;
        place.slot = Some(Slot::new(self.registrations, file, wanted));
        self.mark_changed(fd);
        Ok(self.effect())
    }

    pub(super) fn modify(&mut self, fd: RawFd, wanted: Registration) -> io::Result<Effect> {
        self.registered(fd)?.register(wanted);
        self.interest_changes += 1;
        self.mark_changed(fd);
        Ok(self.effect())
    }

    pub(super) fn rearm(&mut self, fd: RawFd, interest: Interest) -> io::Result<Effect> {
        if !self.registered(fd)?.rearm(interest) {
            return Ok(Effect::Immediate);
        }
        self.interest_changes += 1;
        self.mark_changed(fd);
        Ok(self.effect())
    }

    /// Takes `fd` out; only if it goes by the token `expected`, where one is given.
    pub(super) fn remove(&mut self, fd: RawFd, expected: Option<Token>) -> io::Result<Effect> {
        let token = self.registered(fd)?.token;
        if expected.is_some_and(|expected| expected != token) {
            return Err(self.refuse(fd, Refusal::NotRegistered));
        }
        self.forget(fd);
        Ok(self.effect())
    }

    /// What the kernel is to be asked for `fd`; nothing if it is not to look at it.
    pub(super) fn armed(&self, fd: RawFd) -> Option<Armed> {
        let slot = self.slot(fd).filter(|slot| !slot.disabled)?;
        Some(Armed {
            interest: slot.armed,
            registration: slot.registration,
        })
    }

    /// Says whether `fd` names the file that it was registered for, as far as can be told.
    pub(super) fn is_current(&self, fd: RawFd) -> bool {
        self.slot(fd)
            .is_some_and(|slot| matches!(identify(fd), Ok(Ok(file)) if file == slot.file))
    }

    /// Rule 1: hands out the changed numbers, of which the kernel is told now.
    pub(super) fn take_changed(&mut self) -> Vec<RawFd> {
        for fd in &self.changed {
            self.places[*fd as usize].changed = false;
        }
        std::mem::take(&mut self.changed)
    }

    /// Rule 1: the kernel has to be told (again) of `fd`.
    pub(super) fn mark_changed(&mut self, fd: RawFd) {
        let place = &mut self.places[fd as usize];
        if !std::mem::replace(&mut place.changed, true) {
            self.changed.push(fd);
        }
    }

    /// Keeps the space of a list that [`take_changed`](Table::take_changed) gave.
    pub(super) fn give_back(&mut self, mut list: Vec<RawFd>) {
        if self.changed.is_empty() {
            list.clear();
            self.changed = list;
        }
    }

    /// The waiting thread goes into the kernel, or is back.
    pub(super) fn set_waiting(&mut self, waiting: bool) {
        self.waiting = waiting;
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting
    }

    pub(super) fn interest_changes(&self) -> u64 {
        self.interest_changes
    }

    /// Turns the kernel's answer for one number into an event, if there is anybody for it.
    pub(super) fn report(&mut self, fd: RawFd, fired: Flags, events: &mut Events) {
        let Some(slot) = self.unchanged(fd) else {
            return;
        };
        let token = slot.token;
        let is_for_somebody = slot.wants(fired);
        if slot.after(fired) {
            self.interest_changes += 1;
            self.mark_changed(fd);
        }
        if is_for_somebody {
            events.push(token, fired);
        }
    }

    /// Deals with a number that does not name its file any more: closed without removal. That is said once, and the
    /// registration forgotten, or each wait would end at once.
    pub(super) fn report_closed(&mut self, fd: RawFd, events: &mut Events) {
        if let Some(slot) = self.unchanged(fd) {
            events.push(slot.token, Flags::ERROR);
            self.forget(fd);
        }
    }

    /// Rule 2: the slot that the kernel's answer for `fd` is about.
    fn unchanged(&mut self, fd: RawFd) -> Option<&mut Slot> {
        let place = self.places.get_mut(usize::try_from(fd).ok()?)?;
        place.slot.as_mut().filter(|_| !place.changed)
    }

    fn slot(&self, fd: RawFd) -> Option<&Slot> {
        self.places.get(usize::try_from(fd).ok()?)?.slot.as_ref()
    }

    fn registered(&mut self, fd: RawFd) -> io::Result<&mut Slot> {
        let backend = self.backend;
        usize::try_from(fd)
            .ok()
            .and_then(|index| self.places.get_mut(index)?.slot.as_mut())
            .ok_or_else(|| RegisterError::refuse(backend, fd, Refusal::NotRegistered))
    }

    fn refuse(&self, fd: RawFd, refusal: Refusal) -> io::Error {
        RegisterError::refuse(self.backend, fd, refusal)
    }

    fn forget(&mut self, fd: RawFd) {
        self.places[fd as usize].slot = None;
        self.mark_changed(fd);
    }

    /// Says what a change that was just made means for a wait under way.
    fn effect(&self) -> Effect {
        if self.waiting {
            Effect::NextWait
        } else {
            Effect::Immediate
        }
    }
}

impl Slot {
    fn new(registration: u64, file: Identity, wanted: Registration) -> Self {
        Self {
            registration,
            file,
            token: wanted.token,
            mode: wanted.mode,
            registered: wanted.interest,
            armed: wanted.interest,
            wanted: wanted.interest,
            wants_errors: true,
            disabled: false,
        }
    }

    fn register(&mut self, wanted: Registration) {
        *self = Self::new(self.registration, self.file, wanted);
    }

    /// Wants `interest`, as far as it is registered; returns whether the kernel has to be told.
    fn rearm(&mut self, interest: Interest) -> bool {
        if self.mode != Mode::Edge {
            return false;
        }
        let interest = interest.intersection(self.registered);
        self.wanted |= interest;
        self.wants_errors = true;
        let asked = self.armed.contains(interest) && !self.disabled;
        self.armed |= interest;
        self.disabled = false;
        !asked
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
