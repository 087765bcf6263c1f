//! Every system call of this crate, as safe functions; the only unsafe code in it.
//!
//! Each file wraps one kernel facility and keeps no state beyond a descriptor. The functions answer
//! what the system said: errors pass through unchanged, and only `check` turns a return value
//! into one.
//!
//! What is public is for `windlass-net` and `windlass-executor`. Nothing here is covered
//! by semantic versioning: it may change or go in any release.

#![allow(unsafe_code, reason = "this is where the system is called")]

pub(crate) mod address;
pub(crate) mod clock;
pub mod datagram;
pub(crate) mod devpoll;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) mod epoll;
pub(crate) mod eventfd;
pub(crate) mod file;
pub(crate) mod fork;
#[cfg(any(
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "dragonfly",
    all(target_os = "linux", windlass_kqueue)
))]
pub(crate) mod kqueue;
pub mod lock;
pub mod pipe;
pub(crate) mod poll;
pub(crate) mod signal;
pub mod sigpipe;
pub mod tcp;
pub mod unix;

use std::io;

/// Turns the return value of a system call into a result: -1 means that errno says why.
fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(returned)
    }
}

/// Makes a call again for as long as a signal interrupts it. For calls that do not wait.
fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// The longest timeout handed to the kernel, in milliseconds: about 24 days.
///
/// `poll`, `epoll_wait` and `/dev/poll` take an `int`; longer waits are made of several.
const LONGEST_WAIT_MILLISECONDS: u64 = i32::MAX as u64;

/// A timeout in whole milliseconds for calls that take an `int`: rounded up, so that a wait never
/// ends early and a timeout that is not zero never turns into a busy loop.
fn milliseconds(timeout: std::time::Duration) -> libc::c_int {
    let whole = timeout.as_nanos().div_ceil(1_000_000);
    libc::c_int::try_from(whole.min(u128::from(LONGEST_WAIT_MILLISECONDS)))
        .unwrap_or(libc::c_int::MAX)
}

/// The longest timeout handed to calls that take a `timespec`; some systems refuse longer ones.
const LONGEST_WAIT_SECONDS: u64 = 24 * 60 * 60;

/// A timeout as a `timespec`, clamped to a day: a longer wait is made of several.
fn timespec(timeout: std::time::Duration) -> libc::timespec {
    let clamped = timeout.min(std::time::Duration::from_secs(LONGEST_WAIT_SECONDS));
    // Assigned by field: some targets have padding members, and the types of the two differ.
    // SAFETY: a timespec is integers (and padding), for which all zeroes is a value.
    let mut spec: libc::timespec = unsafe { std::mem::zeroed() };
    spec.tv_sec = clamped.as_secs() as libc::time_t;
    spec.tv_nsec = clamped.subsec_nanos() as _;
    spec
}
