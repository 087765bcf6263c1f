//! eventfd(2): Linux and illumos.
//!
//! FreeBSD and NetBSD have it too, with other numbers and not in their old releases; kqueue
//! has a notifier of its own there.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Makes a counter at 0 that does not block and is closed on exec.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "illumos"))]
pub(crate) fn create() -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: the call takes no pointer.
    let fd = super::check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
    // SAFETY: the kernel has just made this descriptor for us; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes a counter: there is none on this system.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "illumos")))]
pub(crate) fn create() -> io::Result<OwnedFd> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "this system does not have it",
    ))
}

/// Adds 1 to the counter. A counter at its maximum is above 0 already, which is all we want.
pub(crate) fn add(counter: BorrowedFd<'_>) -> io::Result<()> {
    match super::file::write(counter, &1_u64.to_ne_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        result => result.map(drop),
    }
}

/// Sets the counter back to 0.
pub(crate) fn take(counter: BorrowedFd<'_>) -> io::Result<()> {
    match super::file::read(counter, &mut [0; 8]) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        result => result.map(drop),
    }
}
