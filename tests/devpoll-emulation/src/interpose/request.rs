//! `ioctl`: the device's requests.

use super::answer;
use crate::abi::{DP_ISPOLLED, DP_POLL, DvPoll, Entry};
use crate::complaint::complain;
use crate::device::Device;
use crate::sys::Errno;
use crate::violation::Violation;
use crate::{next, numbers};
use libc::{c_int, c_ulong, c_void};
use std::ptr;

/// Stands in front of the function of this name.
///
/// # Safety
///
/// - As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    let Some(device) = numbers::device(fd) else {
        // SAFETY: the arguments are the caller's.
        return unsafe { next::ioctl(fd, request, argument) };
    };
    // Some C libraries pass the request as an int: its upper half says nothing.
    answer(match request & 0xFFFF_FFFF {
        // SAFETY: the caller gives a `dvpoll` with this request.
        DP_POLL => unsafe { poll(device, fd, argument.cast()) },
        // SAFETY: the caller gives a `pollfd` with this request.
        DP_ISPOLLED => unsafe { is_polled(device, fd, argument.cast()) },
        _ => {
            complain(Violation::UnknownRequest, format_args!("{request:#x}"));
            Err(Errno(libc::EINVAL))
        }
    })
}

/// # Safety
///
/// - `argument` must be null or valid; its `dp_fds` must be null or valid for `dp_nfds` entries.
unsafe fn poll(device: &Device, fd: c_int, argument: *mut DvPoll) -> Result<c_int, Errno> {
    if argument.is_null() {
        return Err(bad_pointer());
    }
    // SAFETY: it is not null, and valid as the caller says.
    let argument = unsafe { argument.read_unaligned() };
    let room = usize::try_from(argument.dp_nfds).unwrap_or(usize::MAX);
    let entries = device.poll(fd, room, argument.dp_timeout)?;
    if entries.is_empty() {
        return Ok(0);
    }
    if argument.dp_fds.is_null() {
        return Err(bad_pointer());
    }
    // SAFETY: there are at most `dp_nfds` entries, for which the caller's place is valid.
    unsafe { ptr::copy_nonoverlapping(entries.as_ptr(), argument.dp_fds, entries.len()) };
    Ok(c_int::try_from(entries.len()).unwrap_or(c_int::MAX))
}

/// # Safety
///
/// - `argument` must be null or valid.
unsafe fn is_polled(device: &Device, fd: c_int, argument: *mut Entry) -> Result<c_int, Errno> {
    if argument.is_null() {
        return Err(bad_pointer());
    }
    // SAFETY: it is not null, and valid as the caller says.
    let asked = unsafe { argument.read_unaligned() };
    let Some(bits) = device.is_polled(fd, asked.fd)? else {
        return Ok(0);
    };
    let answer = Entry {
        revents: bits,
        ..asked
    };
    // SAFETY: likewise.
    unsafe { argument.write_unaligned(answer) };
    Ok(1)
}

fn bad_pointer() -> Errno {
    complain(
        Violation::BadPointer,
        format_args!("request with a null pointer"),
    );
    Errno(libc::EFAULT)
}
