//! kqueue(2): FreeBSD, macOS and its kin, NetBSD, OpenBSD, DragonFly.
//!
//! Every name, number and type comes from `system`, since no two of these systems have the same
//! ones. On Linux, in builds for tests, it is `preloaded`: there the functions are those of a
//! library that was loaded beside the program, if there is one.

#[cfg(target_os = "linux")]
#[path = "preloaded.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
mod system;

use super::{check, retry, timespec};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;
use system::{Count, FilterNumber, kevent};

pub(crate) use system::{
    EV_ADD, EV_CLEAR, EV_DELETE, EV_DISPATCH, EV_ENABLE, EV_EOF, EV_ERROR, EV_RECEIPT, FlagBits,
    NOTE_TRIGGER,
};

/// What is watched of a descriptor; or else the client's own event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// Data, or the end of them.
    Read,
    /// Room, or the end of writing.
    Write,
    /// Urgent data.
    Except,
    /// Triggered by the client.
    User,
}

/// Whether this system has [`Filter::Except`].
pub(crate) const TELLS_URGENT: bool = system::EXCEPT.is_some();

impl Filter {
    /// The number of the filter, and the notes that a registration of it has; `None` if the system
    /// does not have it.
    fn number(self) -> Option<(FilterNumber, u32)> {
        match self {
            Filter::Read => Some((system::EVFILT_READ, 0)),
            Filter::Write => Some((system::EVFILT_WRITE, 0)),
            Filter::Except => system::EXCEPT,
            Filter::User => Some((system::EVFILT_USER, 0)),
        }
    }
}

/// An entry of either list of `kevent`: a change, a receipt or an event.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Entry(kevent);

// SAFETY: the one pointer in it is a number of ours or of the kernel's, and never followed.
unsafe impl Send for Entry {}

impl Entry {
    /// An entry that says nothing.
    pub(crate) fn empty() -> Self {
        // By zeroes and then by field: some systems have members that others lack.
        // SAFETY: a kevent is integers and a pointer that may be null, for which zeroes are values.
        Self(unsafe { std::mem::zeroed() })
    }

    /// A change of the filter of `ident`; its events carry `mark`.
    ///
    /// # Panics
    ///
    /// If the system does not have the filter.
    pub(crate) fn change(ident: usize, filter: Filter, flags: FlagBits, mark: usize) -> Self {
        let (number, notes) = filter.number().expect("a filter of this system");
        let mut entry = Self::empty();
        entry.0.ident = ident;
        entry.0.filter = number;
        entry.0.flags = flags;
        entry.0.fflags = notes;
        // A pointer nearly everywhere, and an integer in NetBSD before 10.
        entry.0.udata = mark as _;
        entry
    }

    /// The same change with `notes`.
    pub(crate) fn with_notes(mut self, notes: u32) -> Self {
        self.0.fflags = notes;
        self
    }

    /// The same change with one more flag.
    pub(crate) fn with_flag(mut self, flag: FlagBits) -> Self {
        self.0.flags |= flag;
        self
    }

    /// The descriptor, or the client's number.
    pub(crate) fn ident(&self) -> usize {
        self.0.ident
    }

    /// What is watched; nothing if it is none of the filters that this crate knows.
    pub(crate) fn filter(&self) -> Option<Filter> {
        let number = self.0.filter;
        [Filter::Read, Filter::Write, Filter::Except, Filter::User]
            .into_iter()
            .find(|filter| filter.number().is_some_and(|(one, _)| one == number))
    }

    /// Says whether a flag is set.
    pub(crate) fn has(&self, flag: FlagBits) -> bool {
        self.0.flags & flag != 0
    }

    /// The bits of the filter; at the end of a stream, the error that ended it, or 0.
    pub(crate) fn notes(&self) -> u32 {
        self.0.fflags
    }

    /// The mark of the registration.
    pub(crate) fn mark(&self) -> usize {
        self.0.udata as usize
    }

    /// The error that a receipt is about, 0 if the change was made.
    pub(crate) fn error(&self) -> i32 {
        self.0.data as i32
    }
}

/// Makes a new, empty queue that is closed on exec.
///
/// Between the two calls a child that another thread makes can't inherit it: fork leaves queues out.
pub(crate) fn create() -> io::Result<OwnedFd> {
    let fd = check(system::kqueue())?;
    // SAFETY: the kernel has just made this descriptor for us; nobody else owns it.
    let queue = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: the call takes no pointer.
    check(unsafe { libc::fcntl(queue.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) })?;
    Ok(queue)
}

/// Makes one change, and asks for nothing else.
pub(crate) fn change(queue: BorrowedFd<'_>, change: &Entry) -> io::Result<()> {
    let at_once = Some(Duration::ZERO);
    retry(|| {
        call(
            queue.as_raw_fd(),
            std::slice::from_ref(change),
            &mut [],
            at_once,
        )
    })
    .map(drop)
}

/// Makes `changes`, all of which ask for a receipt, and returns the receipts.
///
/// There must be room for as many; so nothing else is reported, and the call does not wait.
pub(crate) fn change_with_receipts<'a>(
    queue: BorrowedFd<'_>,
    changes: &[Entry],
    room: &'a mut [Entry],
) -> io::Result<&'a [Entry]> {
    assert_eq!(changes.len(), room.len(), "a receipt for each change");
    // SAFETY: an entry that may be uninitialised has the layout of one that is not, and nothing
    // but entries is ever written to them.
    let space = unsafe { &mut *(std::ptr::from_mut(room) as *mut [MaybeUninit<Entry>]) };
    let count = call(queue.as_raw_fd(), changes, space, Some(Duration::ZERO))?;
    Ok(&room[..count.min(changes.len())])
}

/// Waits for events, at most `timeout`, and returns the part of `space` that was filled.
///
/// A timeout longer than a day may end early with none.
pub(crate) fn wait<'a>(
    queue: BorrowedFd<'_>,
    space: &'a mut [MaybeUninit<Entry>],
    timeout: Option<Duration>,
) -> io::Result<&'a [Entry]> {
    let count = call(queue.as_raw_fd(), &[], space, timeout)?;
    let pointer = space.as_ptr().cast::<Entry>();
    // SAFETY: the kernel says that it wrote the first `count` entries, which is at most
    // `space.len()`; the slice borrows `space` for as long as it lives.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

fn call(
    queue: RawFd,
    changes: &[Entry],
    space: &mut [MaybeUninit<Entry>],
    timeout: Option<Duration>,
) -> io::Result<usize> {
    let timeout = timeout.map(timespec);
    let timeout = timeout
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    let (change_list, change_count) = (changes.as_ptr().cast(), changes.len() as Count);
    let (event_list, event_count) = (space.as_mut_ptr().cast(), space.len() as Count);
    // SAFETY: each pointer and count are those of one slice, whose elements are transparent wrappers
    // of the structure; the kernel reads the first and writes the second. `timeout` is null or points
    // to a timespec that outlives the call.
    let count = unsafe {
        system::kevent_call(
            queue,
            change_list,
            change_count,
            event_list,
            event_count,
            timeout,
        )
    };
    check(count).map(|count| count as usize)
}
