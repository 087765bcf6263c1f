//! What works on any descriptor: read, write, flags, and what kind of file it names.

use super::{check, retry};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// Reads into `space`; returns how many bytes came, 0 at the end.
pub(crate) fn read(fd: BorrowedFd<'_>, space: &mut [u8]) -> io::Result<usize> {
    retry(|| {
        // SAFETY: the kernel writes at most `space.len()` bytes to the slice.
        let n = unsafe { libc::read(fd.as_raw_fd(), space.as_mut_ptr().cast(), space.len()) };
        if n < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(n as usize)
        }
    })
}

/// Writes `bytes`; returns how many were taken.
pub(crate) fn write(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    retry(|| {
        // SAFETY: the kernel reads at most `bytes.len()` bytes of the slice.
        let n = unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
        if n < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(n as usize)
        }
    })
}

/// Sets `O_NONBLOCK` on the open file, which all duplicates of the descriptor share; makes no
/// second call if it is set already.
pub(crate) fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the call takes no pointer.
    let flags = check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    if flags & libc::O_NONBLOCK != 0 {
        return Ok(());
    }
    let flags = flags | libc::O_NONBLOCK;
    // SAFETY: the call takes no pointer.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags) }).map(drop)
}

/// Has the descriptor closed on exec.
#[cfg(target_vendor = "apple")]
pub(crate) fn set_close_on_exec(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the call takes no pointer.
    check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) }).map(drop)
}

/// The kinds of file that no readiness mechanism can wait for; see [`unpollable_kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unpollable {
    /// A regular file.
    RegularFile,
    /// A directory.
    Directory,
}

/// Which unpollable kind of file `fd` names, if it names one.
pub(crate) fn unpollable_kind(fd: RawFd) -> io::Result<Option<Unpollable>> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the kernel writes a stat to the space for one.
    check(unsafe { libc::fstat(fd, status.as_mut_ptr()) })?;
    // SAFETY: the call has succeeded, so that it has written the structure.
    let status = unsafe { status.assume_init() };
    Ok(match status.st_mode & libc::S_IFMT {
        libc::S_IFREG => Some(Unpollable::RegularFile),
        libc::S_IFDIR => Some(Unpollable::Directory),
        _ => None,
    })
}
