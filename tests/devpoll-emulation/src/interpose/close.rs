//! The functions that close: a set is not cleaned up by them, which is what they note.

use super::answer;
use crate::complaint::complain;
use crate::sys::Errno;
use crate::violation::Violation;
use crate::{next, numbers, process};
use libc::{c_int, c_uint};
use std::os::fd::RawFd;

/// Notes that the file behind a number goes; to be called before it does, for afterwards the
/// number may be another thread's.
///
/// # Errors
///
/// EBADF for a number that the program cannot have.
pub(super) fn retire(fd: RawFd) -> Result<(), Errno> {
    let Some(number) = numbers::known(fd) else {
        return Ok(());
    };
    if number.is_internal() {
        return Err(Errno(libc::EBADF));
    }
    if process::is_visitor() {
        return Ok(());
    }
    if number.retire() {
        complain(Violation::ClosedInSet, format_args!("descriptor {fd}"));
    }
    if let Some(device) = number.take_device() {
        device.drop_name();
    }
    Ok(())
}

/// Stands in front of the function of this name.
///
/// # Safety
///
/// - As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn close(fd: c_int) -> c_int {
    // SAFETY: the caller owns the descriptor.
    answer(retire(fd).map(|()| unsafe { next::close(fd) }))
}

/// Stands in front of the function of this name.
///
/// # Safety
///
/// - As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    let closes_later =
        c_uint::try_from(flags).is_ok_and(|flags| flags & libc::CLOSE_RANGE_CLOEXEC != 0);
    if closes_later || first > last {
        // SAFETY: nothing is closed now.
        return unsafe { next::close_range(first, last, flags) };
    }
    let mut from = first;
    for number in numbers::known_within(first as usize, last as usize) {
        // The emulation's own numbers are refused, and cut out of the range.
        if retire(number).is_ok() {
            continue;
        }
        let own = number.unsigned_abs();
        if from < own {
            // SAFETY: the caller owns what it has in the range.
            unsafe { next::close_range(from, own - 1, flags) };
        }
        from = own + 1;
    }
    if from > last {
        return 0;
    }
    // SAFETY: the caller owns what it has in the range.
    unsafe { next::close_range(from, last, flags) }
}

/// Stands in front of the function of this name.
///
/// # Safety
///
/// - As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn closefrom(first: c_int) {
    let first = first.max(0).unsigned_abs();
    // SAFETY: the caller owns all descriptors from the first on.
    unsafe { close_range(first, c_uint::MAX, 0) };
}
