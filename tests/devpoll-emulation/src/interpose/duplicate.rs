//! The functions that make another number for a file: another name of a device, and the end of
//! what was behind the number before.

use super::{answer, close::retire};
use crate::{next, numbers, sys};
use libc::{c_int, c_void};

/// Notes that a number has become a name of what `from` is a name of, if that is a device.
fn name(from: c_int, to: c_int) -> c_int {
    if let (Some(device), true) = (numbers::device(from), to >= 0) {
        if let Some(number) = numbers::note(to) {
            device.add_name();
            number.set_device(device);
        }
    }
    to
}

/// Notes that dup2 is going to put another file behind a number.
fn prepare(from: c_int, to: c_int) -> Result<(), sys::Errno> {
    // It does nothing if there is nothing to duplicate, or to itself.
    if from == to || !sys::is_open(from) {
        Ok(())
    } else {
        retire(to)
    }
}

/// Stands in front of the function of this name.
///
/// # Safety
///
/// - As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn dup(from: c_int) -> c_int {
    // SAFETY: the argument is the caller's.
    name(from, unsafe { next::dup(from) })
}

/// Stands in front of the function of this name.
///
/// # Safety
///
/// - As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn dup2(from: c_int, to: c_int) -> c_int {
    // SAFETY: the arguments are the caller's, who owns `to`.
    let outcome = prepare(from, to).map(|()| unsafe { next::dup2(from, to) });
    if from == to {
        answer(outcome)
    } else {
        name(from, answer(outcome))
    }
}

/// Stands in front of the function of this name.
///
/// # Safety
///
/// - As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    // SAFETY: the arguments are the caller's, who owns `to`.
    let outcome = prepare(from, to).map(|()| unsafe { next::dup3(from, to, flags) });
    name(from, answer(outcome))
}

/// Stands in front of the function of this name.
///
/// # Safety
///
/// - As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the arguments are the caller's.
    let result = unsafe { next::fcntl(fd, command, argument) };
    if makes_a_number(command) {
        name(fd, result)
    } else {
        result
    }
}

/// Stands in front of the function of this name.
///
/// # Safety
///
/// - As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn fcntl64(fd: c_int, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the arguments are the caller's.
    let result = unsafe { next::fcntl64(fd, command, argument) };
    if makes_a_number(command) {
        name(fd, result)
    } else {
        result
    }
}

fn makes_a_number(command: c_int) -> bool {
    command == libc::F_DUPFD || command == libc::F_DUPFD_CLOEXEC
}
