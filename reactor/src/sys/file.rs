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

/// Which open file a descriptor names, as far as fstat(2) can tell files apart.
///
/// Two sockets or two pipes differ; files without a name or number of their own, as eventfds are,
/// all look the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    number: u64,
    sort: Sort,
}

impl Identity {
    /// Returns what sort of file it is.
    #[allow(dead_code, reason = "not every mechanism minds")]
    pub(crate) fn sort(self) -> Sort {
        self.sort
    }
}

/// The sorts of file that are waited for, as far as their ends differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// A socket, whose two halves end one by one.
    Socket,
    /// A pipe or FIFO, of which there is nothing left when the other end is gone.
    Pipe,
    /// A device, a counter or the like.
    Other,
}

/// The kinds of file that no readiness mechanism can wait for; see [`identify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unpollable {
    /// A regular file.
    RegularFile,
    /// A directory.
    Directory,
}

/// Which file `fd` names, or else which unpollable kind of file.
pub(crate) fn identify(fd: RawFd) -> io::Result<Result<Identity, Unpollable>> {
    let status = status(fd)?;
    Ok(match status.st_mode & libc::S_IFMT {
        libc::S_IFREG => Err(Unpollable::RegularFile),
        libc::S_IFDIR => Err(Unpollable::Directory),
        format => Ok(Identity {
            device: status.st_dev as u64,
            number: status.st_ino as u64,
            sort: match format {
                libc::S_IFSOCK => Sort::Socket,
                libc::S_IFIFO => Sort::Pipe,
                _ => Sort::Other,
            },
        }),
    })
}

fn status(fd: RawFd) -> io::Result<libc::stat> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the kernel writes a stat to the space for one.
    check(unsafe { libc::fstat(fd, status.as_mut_ptr()) })?;
    // SAFETY: the call has succeeded, so that it has written the structure.
    Ok(unsafe { status.assume_init() })
}
