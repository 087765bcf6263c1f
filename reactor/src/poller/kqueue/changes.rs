//! Changing the kernel's queue, and learning how each change went.
//!
//! 1. A change asks for a receipt, and the call has room for exactly the receipts and does not wait:
//!    so it takes no event away from the thread that waits, and no error goes unseen.
//! 2. `EV_ADD` of what is there already does not change its mode. It is deleted first.
//! 3. Old kernels know no receipts; a change that was made is silent there, and in its place the call
//!    might take an event. That is found out by the first change of a queue, which is the
//!    notifier's, when there can be no event yet. From then on changes go one by one, without room
//!    for anything: the call itself then returns the error.

use crate::poller::Mode;
use crate::sys::kqueue::{self as sys, Entry, Filter, FlagBits};
use std::io;
use std::os::fd::{BorrowedFd, RawFd};

/// Three filters, each deleted and added.
const MOST: usize = 6;

/// A change of one filter of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) filter: Filter,
    /// How it is to be watched; deleted if not at all.
    pub(super) to: Option<Mode>,
}

impl Change {
    fn entry(self, fd: RawFd, mark: usize) -> Entry {
        let flags = self.to.map_or(sys::EV_DELETE, addition);
        Entry::change(fd as usize, self.filter, flags, mark)
    }
}

/// The flags that add a filter.
fn addition(mode: Mode) -> FlagBits {
    match mode {
        Mode::Level => sys::EV_ADD,
        Mode::Edge => sys::EV_ADD | sys::EV_CLEAR,
        // Disabled by its first report; adding it again does not enable it everywhere.
        Mode::Oneshot => sys::EV_ADD | sys::EV_ENABLE | sys::EV_DISPATCH,
    }
}

/// The changes of one descriptor, in order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Changes {
    list: [Option<Change>; MOST],
    count: usize,
}

impl Changes {
    pub(super) fn delete(&mut self, filter: Filter) {
        self.push(Change { filter, to: None });
    }

    pub(super) fn add(&mut self, filter: Filter, mode: Mode) {
        let to = Some(mode);
        self.push(Change { filter, to });
    }

    fn push(&mut self, change: Change) {
        self.list[self.count] = Some(change);
        self.count += 1;
    }
}

/// Whether the kernel gives receipts (rule 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Receipts {
    #[default]
    Unknown,
    Given,
    Withheld,
}

/// The number of a system's error, 0 for none.
pub(super) type Errno = i32;

impl Receipts {
    /// Makes the changes of `fd`, whose events then carry `mark`, and says how each went.
    pub(super) fn make(
        &mut self,
        queue: BorrowedFd<'_>,
        fd: RawFd,
        mark: usize,
        changes: Changes,
    ) -> impl Iterator<Item = (Change, Errno)> + use<> {
        let list = changes.list.into_iter().flatten();
        let mut entries = [Entry::empty(); MOST];
        for (entry, change) in entries.iter_mut().zip(list.clone()) {
            *entry = change.entry(fd, mark);
        }
        let errors = self.make_entries(queue, &mut entries[..changes.count]);
        list.zip(errors)
    }

    /// Makes one change that is not about a descriptor.
    pub(super) fn make_one(&mut self, queue: BorrowedFd<'_>, mut change: Entry) -> io::Result<()> {
        match self.make_entries(queue, std::slice::from_mut(&mut change))[0] {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    fn make_entries(&mut self, queue: BorrowedFd<'_>, entries: &mut [Entry]) -> [Errno; MOST] {
        let mut errors = [0; MOST];
        if *self == Receipts::Given {
            self.ask(queue, entries, &mut errors);
            return errors;
        }
        for (entry, error) in entries.iter_mut().zip(&mut errors) {
            match self {
                Receipts::Withheld => *error = errno(sys::change(queue, entry)),
                _ => self.ask(
                    queue,
                    std::slice::from_mut(entry),
                    std::slice::from_mut(error),
                ),
            }
        }
        errors
    }

    /// Rule 1.
    fn ask(&mut self, queue: BorrowedFd<'_>, entries: &mut [Entry], errors: &mut [Errno]) {
        for entry in &mut *entries {
            *entry = entry.with_flag(sys::EV_RECEIPT);
        }
        let mut room = [Entry::empty(); MOST];
        let receipts = match sys::change_with_receipts(queue, entries, &mut room[..entries.len()]) {
            Ok(receipts) => receipts,
            // The changes have been made all the same.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Err(error) => return errors.fill(errno(Err(error))),
        };
        let mut left = receipts.iter().filter(|entry| entry.has(sys::EV_ERROR));
        for error in errors.iter_mut().take(receipts.len()) {
            *error = left.next().map_or(0, Entry::error);
        }
        if receipts.is_empty() {
            *self = Receipts::Withheld;
        } else if errors[0] == 0 {
            *self = Receipts::Given;
        }
    }
}

fn errno(result: io::Result<()>) -> Errno {
    result.map_or_else(|error| error.raw_os_error().unwrap_or(libc::EIO), |()| 0)
}
