//! /dev/poll of Solaris and illumos.
//!
//! No C headers and no crate have its numbers on other systems, or (like Linux, with its own
//! POLLREMOVE) they have others; so they are declared here, as the driver has them. Whether there
//! is such a device is found out by opening it, so that all of this is compiled on every Unix.

use super::{check, file, milliseconds, retry};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

pub(crate) use libc::pollfd;

pub(crate) const POLLIN: libc::c_short = 0x0001;
pub(crate) const POLLPRI: libc::c_short = 0x0002;
pub(crate) const POLLOUT: libc::c_short = 0x0004;
pub(crate) const POLLERR: libc::c_short = 0x0008;
pub(crate) const POLLHUP: libc::c_short = 0x0010;
pub(crate) const POLLNVAL: libc::c_short = 0x0020;
/// Takes a descriptor out; only by itself, since with other bits it adds them.
pub(crate) const POLLREMOVE: libc::c_short = 0x0800;

/// Waits for entries that are ready.
const DP_POLL: u16 = 0xD001;

/// The argument of [`DP_POLL`].
#[repr(C)]
struct Request {
    answers: *mut pollfd,
    room: libc::c_ulong,
    milliseconds: libc::c_int,
}

const _: () = assert!(size_of::<pollfd>() == 8);

/// Opens a new, empty set that is closed on exec.
pub(crate) fn open() -> io::Result<OwnedFd> {
    // The standard library opens through the C library, and sets O_CLOEXEC.
    File::options()
        .read(true)
        .write(true)
        .open("/dev/poll")
        .map(OwnedFd::from)
}

/// The set works at all: asks it once without waiting.
pub(crate) fn probe(set: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [entry(-1, 0)];
    retry(|| wait(set, &mut space, Some(Duration::ZERO)).map(drop))
}

/// Makes an entry that asks for `events` of `fd`.
pub(crate) fn entry(fd: libc::c_int, events: libc::c_short) -> pollfd {
    pollfd {
        fd,
        events,
        revents: 0,
    }
}

/// Applies `changes`, one after the other: an entry adds its bits to those that the set has, and
/// [`POLLREMOVE`] takes the descriptor out.
///
/// It is one write, unless there are more changes than there may be descriptors. On Solaris it
/// waits until nobody waits for the set.
pub(crate) fn write(set: BorrowedFd<'_>, changes: &[pollfd]) -> io::Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    for part in changes.chunks(descriptor_limit().max(1)) {
        let length = size_of_val(part);
        // SAFETY: a pollfd is integers without padding, so that its bytes are all initialised; the
        // slice covers those of `part` and borrows it.
        let bytes = unsafe { std::slice::from_raw_parts(part.as_ptr().cast::<u8>(), length) };
        if file::write(set, bytes)? != length {
            return Err(io::Error::new(
                io::ErrorKind::WriteZero,
                "/dev/poll took only a part of the changes",
            ));
        }
    }
    Ok(())
}

/// Waits until an entry is ready, at most `timeout`, and returns the part of `space` with answers.
///
/// A timeout longer than 24 days may end early with none.
pub(crate) fn wait<'a>(
    set: BorrowedFd<'_>,
    space: &'a mut [pollfd],
    timeout: Option<Duration>,
) -> io::Result<&'a [pollfd]> {
    let mut request = Request {
        answers: space.as_mut_ptr(),
        room: space.len() as libc::c_ulong,
        milliseconds: timeout.map_or(-1, milliseconds),
    };
    // SAFETY: the request takes a pointer to such a structure, which outlives the call; its pointer
    // and count are those of one slice, to which the driver writes.
    let ready = unsafe { libc::ioctl(set.as_raw_fd(), DP_POLL as _, &raw mut request) };
    let ready = check(ready)? as usize;
    Ok(&space[..ready.min(space.len())])
}

/// How many descriptors this process may have at present; it can be changed at any time.
pub(crate) fn descriptor_limit() -> usize {
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: the kernel writes an rlimit to the space for one.
    if check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr()) }).is_err() {
        return 1;
    }
    // SAFETY: the call has succeeded, so that it has written the structure.
    let limit = unsafe { limit.assume_init() };
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}
