//! The system calls of the floor; the only unsafe code of this package.
//!
//! Descriptors are plain numbers here on purpose: the loops keep them in the kernel's own event
//! records, where an owning type has no place. A number is closed once, by the loop that accepted
//! it, when that loop forgets it.

use std::io;
use std::os::fd::RawFd;

/// Returns a descriptor that becomes readable when SIGINT or SIGTERM comes, and keeps both from
/// ending the process.
///
/// A handler that sets a flag would lose the signal that comes between the look at the flag and
/// the wait.
pub(crate) fn stop_signals() -> io::Result<RawFd> {
    // SAFETY: a `sigset_t` of zeros is a valid value to hand to `sigemptyset`.
    let mut signals: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `signals` is valid for writes.
    unsafe { libc::sigemptyset(&mut signals) };
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: `signals` is an initialized set and `signal` a signal's number.
        unsafe { libc::sigaddset(&mut signals, signal) };
    }
    // SAFETY: `signals` is initialized, and null says that the old mask is not wanted.
    checked(unsafe { libc::sigprocmask(libc::SIG_BLOCK, &signals, std::ptr::null_mut()) })?;
    // SAFETY: `signals` is initialized and only read.
    checked(unsafe { libc::signalfd(-1, &signals, libc::SFD_CLOEXEC) })
}

/// Opens an epoll set.
pub(crate) fn epoll_create() -> io::Result<RawFd> {
    // SAFETY: the call takes no pointer.
    checked(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })
}

/// Adds `descriptor` to the set `epoll`, level-triggered, for reading.
pub(crate) fn epoll_add(epoll: RawFd, descriptor: RawFd) -> io::Result<()> {
    let mut event = libc::epoll_event {
        events: libc::EPOLLIN as u32,
        u64: descriptor as u64,
    };
    // SAFETY: `event` lives through the call, which only reads it.
    checked(unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, descriptor, &mut event) })?;
    Ok(())
}

/// Waits for events and returns how many of `events` were written.
pub(crate) fn epoll_wait(epoll: RawFd, events: &mut [libc::epoll_event]) -> io::Result<usize> {
    let (first, length) = (events.as_mut_ptr(), events.len() as libc::c_int);
    // SAFETY: `first` is valid for writes of `length` events for as long as the call takes.
    count(checked(unsafe {
        libc::epoll_wait(epoll, first, length, -1)
    }))
}

/// Waits until one of `entries` is ready and returns how many are.
pub(crate) fn poll(entries: &mut [libc::pollfd]) -> io::Result<usize> {
    let (first, length) = (entries.as_mut_ptr(), entries.len() as libc::nfds_t);
    // SAFETY: `first` is valid for reads and writes of `length` entries for as long as the call
    // takes.
    count(checked(unsafe { libc::poll(first, length, -1) }))
}

/// Accepts one connection, non-blocking and closed on exec.
pub(crate) fn accept(listener: RawFd) -> io::Result<RawFd> {
    let (nowhere, flags) = (
        std::ptr::null_mut(),
        libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
    );
    // SAFETY: null for the address and for its length says that the address is not wanted.
    checked(unsafe { libc::accept4(listener, nowhere, nowhere.cast(), flags) })
}

/// Reads what is there into `buffer`.
pub(crate) fn read(descriptor: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer is valid for writes of `buffer.len()` bytes while the call lasts.
    let count = unsafe { libc::read(descriptor, buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Writes as much of `bytes` as fits.
pub(crate) fn write(descriptor: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the pointer is valid for reads of `bytes.len()` bytes while the call lasts.
    let count = unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Closes a connection; the caller must not use its number again.
pub(crate) fn close(descriptor: RawFd) {
    // SAFETY: the loop that accepted `descriptor` owns it and forgets it with this call.
    unsafe { libc::close(descriptor) };
}

/// Turns the answer of a system call into a result.
fn checked(answer: libc::c_int) -> io::Result<libc::c_int> {
    if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(answer)
    }
}

/// Returns the count that a wait answers with; none when a stop and continue has interrupted it.
fn count(answer: io::Result<libc::c_int>) -> io::Result<usize> {
    match answer {
        Ok(count) => Ok(count as usize),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        Err(error) => Err(error),
    }
}
