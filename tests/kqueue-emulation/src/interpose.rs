//! The functions that a program finds in place of the C library's, and those that it has only here.
//!
//! Nothing but the C conventions is dealt with here; each passes on to where the work is done.

use std::ffi::{CStr, c_char};
use std::os::fd::RawFd;

use libc::{c_int, c_uint, timespec};

use crate::abi::Kevent;
use crate::audit::Timeout;
use crate::counters::{self, Counters};
use crate::environment::environment;
use crate::lists::{Changes, Entries};
use crate::sys::{self, Errno, next};
use crate::violations::{self, Kind};
use crate::{call, numbers, stale, table};

/// Makes a queue. Its number lives through exec unless it is marked, as on FreeBSD.
#[unsafe(no_mangle)]
pub extern "C" fn kqueue() -> c_int {
    match table::make_queue() {
        Ok((number, id)) => {
            if environment().variant.stale {
                stale::watch(id);
            }
            number
        }
        Err(error) => sys::fail(error),
    }
}

/// Makes a queue with `O_CLOEXEC`, or without, as NetBSD's call of this name does.
#[unsafe(no_mangle)]
pub extern "C" fn kqueue1(flags: c_int) -> c_int {
    let number = kqueue();
    if number >= 0 && flags & libc::O_CLOEXEC != 0 {
        next::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC as usize);
    }
    number
}

/// Applies changes and gives events.
///
/// # Safety
///
/// - `changelist` is null or points at `nchanges` readable entries.
/// - `eventlist` is null or points at `nevents` writable entries; the two may overlap.
/// - `timeout` is null or points at a readable timespec.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kevent(
    kq: c_int,
    changelist: *const Kevent,
    nchanges: c_int,
    eventlist: *mut Kevent,
    nevents: c_int,
    timeout: *const timespec,
) -> c_int {
    // SAFETY: the caller promises what the list asks for.
    let changes = unsafe { Changes::new(changelist, nchanges) };
    // SAFETY: the caller promises what the list asks for.
    let entries = unsafe { Entries::new(eventlist, nevents) };
    // SAFETY: the caller promises that the pointer is null or readable.
    let timeout = unsafe { timeout.as_ref() }.map(|time| Timeout {
        seconds: time.tv_sec,
        nanoseconds: time.tv_nsec,
    });
    match with_lists(kq, changes, entries, timeout) {
        Ok(count) => c_int::try_from(count).unwrap_or(c_int::MAX),
        Err(error) => sys::fail(error),
    }
}

fn with_lists(
    number: RawFd,
    changes: Result<Changes, Errno>,
    entries: Result<Entries, Errno>,
    timeout: Option<Timeout>,
) -> Result<usize, Errno> {
    let refuse = |error: &Errno| {
        violations::record(Kind::BadList, format_args!("queue {number}, error {error}"));
    };
    let changes = changes.inspect_err(refuse)?;
    let mut entries = entries.inspect_err(refuse)?;
    call::kevent(number, changes, &mut entries, timeout)
}

/// Closes a descriptor, and with it its knotes.
#[unsafe(no_mangle)]
pub extern "C" fn close(fd: c_int) -> c_int {
    numbers::close(fd)
}

/// Closes a range of descriptors, and with them their knotes.
#[unsafe(no_mangle)]
pub extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    numbers::close_range(first, last, flags)
}

/// Closes every descriptor from a number on, and with them their knotes.
#[unsafe(no_mangle)]
pub extern "C" fn closefrom(first: c_int) {
    numbers::close_range(first.max(0).unsigned_abs(), c_uint::MAX, 0);
}

/// Duplicates a descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn dup(old: c_int) -> c_int {
    numbers::duplicate(old, || next::dup(old))
}

/// Duplicates a descriptor onto a given number.
#[unsafe(no_mangle)]
pub extern "C" fn dup2(old: c_int, new: c_int) -> c_int {
    numbers::duplicate_onto(old, new, || next::dup2(old, new))
}

/// Duplicates a descriptor onto a given number, with flags.
#[unsafe(no_mangle)]
pub extern "C" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    numbers::duplicate_onto(old, new, || next::dup3(old, new, flags))
}

/// Controls a descriptor; of interest here are the commands that duplicate it.
///
/// The C function takes its third argument only with some commands. On the systems that this runs
/// on it comes in the register of an ordinary third argument.
///
/// # Safety
///
/// - As for the C library's function: a pointer goes with the commands that take one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
            numbers::duplicate(fd, || next::fcntl(fd, command, argument))
        }
        _ => next::fcntl(fd, command, argument),
    }
}

/// The name by which programs with 64-bit file offsets call [`fcntl`].
///
/// # Safety
///
/// - As for [`fcntl`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the caller promises the same.
    unsafe { fcntl(fd, command, argument) }
}

/// Copies the counters to where the caller says.
///
/// # Safety
///
/// - `counters` points at room for the structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kqueue_emulation_counters(counters: *mut Counters) {
    // SAFETY: the caller promises a place to write to.
    unsafe { counters.write(counters::read()) };
}

/// Replaces the set of silenced violations by a list of names with commas; -1 and `EINVAL` for a
/// name that is not known. For tests that break a rule on purpose.
///
/// # Safety
///
/// - `names` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kqueue_emulation_allow(names: *const c_char) -> c_int {
    // The variables are read first, lest they undo this later.
    environment();
    // SAFETY: the caller promises a C string.
    let names = unsafe { CStr::from_ptr(names) };
    match names.to_str().map(violations::parse_allowed) {
        Ok(Ok(bits)) => {
            violations::allow(bits);
            0
        }
        _ => sys::fail(libc::EINVAL),
    }
}
