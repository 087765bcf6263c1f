//! pipe(2).

use super::check;
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

/// Makes a pipe whose ends do not block and are closed on exec: (read end, write end).
///
/// # Errors
///
/// What the system says: most often that there are no descriptors left.
#[cfg(not(target_vendor = "apple"))]
pub fn create() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [-1; 2];
    // SAFETY: the kernel writes two descriptors to the array.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) })?;
    Ok(own(ends))
}

/// Makes a pipe whose ends do not block and are closed on exec: (read end, write end).
///
/// Without `pipe2` a child forked by another thread in between inherits the ends.
///
/// # Errors
///
/// What the system says: most often that there are no descriptors left.
#[cfg(target_vendor = "apple")]
pub fn create() -> io::Result<(OwnedFd, OwnedFd)> {
    use std::os::fd::AsFd;
    let mut ends = [-1; 2];
    // SAFETY: the kernel writes two descriptors to the array.
    check(unsafe { libc::pipe(ends.as_mut_ptr()) })?;
    let (read_end, write_end) = own(ends);
    for end in [read_end.as_fd(), write_end.as_fd()] {
        super::file::set_close_on_exec(end)?;
        super::file::set_nonblocking(end)?;
    }
    Ok((read_end, write_end))
}

/// Reads all that is in a pipe which does not block.
pub(crate) fn drain(read_end: BorrowedFd<'_>) {
    let mut space = [0; 1024];
    while super::file::read(read_end, &mut space).is_ok_and(|taken| taken == space.len()) {}
}

fn own([read_end, write_end]: [libc::c_int; 2]) -> (OwnedFd, OwnedFd) {
    // SAFETY: the kernel has just made this descriptor for us; nobody else owns it.
    let read_end = unsafe { OwnedFd::from_raw_fd(read_end) };
    // SAFETY: likewise.
    let write_end = unsafe { OwnedFd::from_raw_fd(write_end) };
    (read_end, write_end)
}
