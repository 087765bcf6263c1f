//! kqueue(2): FreeBSD, macOS and its kin, NetBSD, OpenBSD, DragonFly.
//!
//! What of the kernels shapes these files:
//!
//! - A descriptor has a registration for each direction, and an event for each: `slot.rs` keeps
//!   them together, `report.rs` makes one event of them.
//! - Changes are made by the call that also waits, and how that says what went wrong differs by what
//!   else it is asked for: so they have calls of their own, see `changes.rs`.
//! - Adding what is there already replaces its data and reports what holds, but not the mode.
//! - Any thread may change the queue while another waits, and the change is seen at once.
//! - The registrations of a number go when it is closed, also if a duplicate lives on.
//! - Edges are the kernel's own (`EV_CLEAR`): what arrives while older data are there is an edge.
//! - Ready registrations rotate, so that a small batch starves nobody.
//! - A process made by fork does not have the queue.
//!
//! That an event handed out by the kernel is still wanted is found out by the table, whose lock the
//! waiting thread takes when it is back: what was removed before is dropped, and what is removed
//! after has been handed out.

mod changes;
mod report;
mod slot;
mod table;

use super::mechanism::{Contract, Effect, Features, Registration};
use super::{Backend, Events, Interest, RegisterError, Token};
use crate::sys::kqueue::{self as sys, Entry, Filter};
use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;
use table::Table;

pub(crate) struct Kqueue {
    queue: Arc<OwnedFd>,
    table: Mutex<Table>,
    /// Where the kernel writes events. Only the waiting thread takes this lock.
    space: Mutex<Vec<MaybeUninit<Entry>>>,
}

impl Contract for Kqueue {
    const FEATURES: Features = Features {
        native_edges: true,
        priority: sys::TELLS_URGENT,
        read_closed: true,
        passing_errors: false,
    };

    fn open() -> io::Result<Self> {
        Ok(Self {
            queue: Arc::new(sys::create()?),
            table: Mutex::default(),
            space: Mutex::default(),
        })
    }

    fn add(&self, fd: RawFd, wanted: Registration) -> io::Result<Effect> {
        let file = RegisterError::unless_pollable(Backend::Kqueue, fd)?;
        self.table.lock().add(self.queue.as_fd(), fd, file, wanted)
    }

    fn modify(&self, fd: RawFd, wanted: Registration) -> io::Result<Effect> {
        self.table.lock().modify(self.queue.as_fd(), fd, wanted)
    }

    fn rearm(&self, fd: RawFd, _: Interest) -> io::Result<Effect> {
        self.table.lock().registered(fd)?;
        Ok(Effect::Immediate)
    }

    fn remove(&self, fd: RawFd, expected: Option<Token>) -> io::Result<Effect> {
        self.table.lock().remove(self.queue.as_fd(), fd, expected)?;
        Ok(Effect::Immediate)
    }

    fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        let mut space = self.space.lock();
        if space.len() != events.capacity() {
            space.resize_with(events.capacity(), MaybeUninit::uninit);
        }
        let (room, may_last) = self.table.lock().room_for_kernel(space.len());
        let timeout = if may_last {
            timeout
        } else {
            Some(Duration::ZERO)
        };
        let came = sys::wait(self.queue.as_fd(), &mut space[..room], timeout)?;
        self.table.lock().report(self.queue.as_fd(), came, events);
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.queue.as_fd())
    }

    fn interest_changes(&self) -> u64 {
        self.table.lock().interest_changes
    }

    fn trigger(&self) -> io::Result<Trigger> {
        let flags = sys::EV_ADD | sys::EV_CLEAR;
        let addition = Entry::change(Trigger::IDENT, Filter::User, flags, 0);
        let mut table = self.table.lock();
        table.receipts.make_one(self.queue.as_fd(), addition)?;
        Ok(Trigger(self.queue.clone()))
    }
}

impl fmt::Debug for Kqueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kqueue")
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

/// Ends a wait by an event of our own in the queue (`EVFILT_USER`).
///
/// It is added first and triggered later, by a change that asks for nothing else: elsewhere than on
/// macOS a trigger in the addition is lost, and on FreeBSD `EV_CLEAR` in the trigger takes it back.
#[derive(Debug)]
pub(crate) struct Trigger(Arc<OwnedFd>);

impl Trigger {
    /// The name of our event; the numbers of descriptors are another space.
    const IDENT: usize = 0;

    /// Ends the wait in progress or the next one; several that come before it do so once.
    pub(crate) fn fire(&self) -> io::Result<()> {
        let change = Entry::change(Self::IDENT, Filter::User, 0, 0).with_notes(sys::NOTE_TRIGGER);
        sys::change(self.0.as_fd(), &change)
    }
}
