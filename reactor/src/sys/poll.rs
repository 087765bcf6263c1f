//! poll(2), every Unix, and ppoll where there is one.

use super::{check, timespec};
use std::io;
use std::time::Duration;

pub(crate) use libc::{POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT, POLLPRI, pollfd};

/// The bit that says that the peer has shut down its sending half; 0 where there is none.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) const POLLRDHUP: libc::c_short = libc::POLLRDHUP;
/// The bit that says that the peer has shut down its sending half; 0 where there is none.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) const POLLRDHUP: libc::c_short = 0;

/// Waits until one of `entries` is ready, at most `timeout`; returns how many are.
///
/// A timeout longer than a day may end early.
#[cfg(not(any(target_vendor = "apple", target_os = "illumos", target_os = "solaris")))]
pub(crate) fn wait(entries: &mut [pollfd], timeout: Option<Duration>) -> io::Result<usize> {
    let timeout = timeout.map(timespec);
    let timeout = timeout
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    let (pointer, length) = (entries.as_mut_ptr(), entries.len() as libc::nfds_t);
    // SAFETY: `pointer` and `length` are those of one slice, of which the kernel writes `revents`;
    // `timeout` is null or points to a timespec that outlives the call; no signal mask.
    let ready = unsafe { libc::ppoll(pointer, length, timeout, std::ptr::null()) };
    check(ready).map(|ready| ready as usize)
}

/// Waits until one of `entries` is ready, at most `timeout`; returns how many are.
///
/// A timeout longer than a day may end early. Rounded up to milliseconds: there is no ppoll, or
/// the crate libc does not have it.
#[cfg(any(target_vendor = "apple", target_os = "illumos", target_os = "solaris"))]
pub(crate) fn wait(entries: &mut [pollfd], timeout: Option<Duration>) -> io::Result<usize> {
    let timeout = timeout.map_or(-1, |timeout| {
        let spec = timespec(timeout);
        (spec.tv_sec * 1_000 + (spec.tv_nsec + 999_999) / 1_000_000) as libc::c_int
    });
    let (pointer, length) = (entries.as_mut_ptr(), entries.len() as libc::nfds_t);
    // SAFETY: `pointer` and `length` are those of one slice, of which the kernel writes `revents`.
    let ready = unsafe { libc::poll(pointer, length, timeout) };
    check(ready).map(|ready| ready as usize)
}
