//! The two lists of a call. They may be the same memory, which clients make use of: the entry about
//! a change is written after the change has been read, never before.

use crate::abi::Kevent;
use crate::sys::Errno;

/// The changelist.
#[derive(Clone, Copy)]
pub(crate) struct Changes {
    first: *const Kevent,
    length: usize,
}

impl Changes {
    /// Takes the list of a call; the error is `EFAULT` or `EINVAL`.
    ///
    /// # Safety
    ///
    /// - `first` is null or points at `length` readable entries that stay so while this lives.
    pub(crate) unsafe fn new(first: *const Kevent, length: i32) -> Result<Self, Errno> {
        Ok(Self {
            first,
            length: checked_length(first.is_null(), length)?,
        })
    }

    /// Gives the number of changes.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Reads them in order, each when it is its turn.
    pub(crate) fn iter(self) -> impl Iterator<Item = Kevent> {
        (0..self.length).map(move |index| {
            // SAFETY: the index is below the length that `new` was promised.
            let change = unsafe { self.first.add(index) };
            // SAFETY: as above, and the entry is readable; a C client may give any alignment.
            unsafe { change.read_unaligned() }
        })
    }
}

/// The eventlist, with the entries written so far.
pub(crate) struct Entries {
    first: *mut Kevent,
    room: usize,
    used: usize,
}

impl Entries {
    /// Takes the list of a call; the error is `EFAULT` or `EINVAL`.
    ///
    /// # Safety
    ///
    /// - `first` is null or points at `room` writable entries that stay so while this lives.
    pub(crate) unsafe fn new(first: *mut Kevent, room: i32) -> Result<Self, Errno> {
        Ok(Self {
            first,
            room: checked_length(first.is_null(), room)?,
            used: 0,
        })
    }

    /// Gives the number of entries that fit altogether.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// Gives the number of entries written.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Tells whether no more entries fit.
    pub(crate) fn is_full(&self) -> bool {
        self.used == self.room
    }

    /// Writes an entry.
    pub(crate) fn push(&mut self, entry: Kevent) {
        assert!(!self.is_full(), "the caller looks for room first");
        // SAFETY: `used` is below the room that `new` was promised.
        let place = unsafe { self.first.add(self.used) };
        // SAFETY: as above, and the entry is writable; a C client may give any alignment.
        unsafe { place.write_unaligned(entry) };
        self.used += 1;
    }
}

fn checked_length(is_null: bool, length: i32) -> Result<usize, Errno> {
    let length = usize::try_from(length).map_err(|_| libc::EINVAL)?;
    if is_null && length > 0 {
        Err(libc::EFAULT)
    } else {
        Ok(length)
    }
}
