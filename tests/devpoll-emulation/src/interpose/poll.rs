//! The other ways to wait: a device does not belong into them, and says POLLERR at once.

use crate::complaint::complain;
use crate::violation::Violation;
use crate::{device, next, numbers};
use libc::{c_int, nfds_t, pollfd, sigset_t, timespec};
use std::slice;

/// Answers for entries some of which are devices; none if there is no device among them.
///
/// # Safety
///
/// - `entries` must be null or valid for their number, and not be used by others.
unsafe fn poll_with_devices(entries: *mut pollfd, count: nfds_t) -> Option<c_int> {
    if !device::any_open() || entries.is_null() {
        return None;
    }
    let count = usize::try_from(count).ok()?;
    // SAFETY: it is not null, and valid as the caller says.
    let entries = unsafe { slice::from_raw_parts_mut(entries, count) };
    let is_device = |entry: &pollfd| numbers::device(entry.fd).is_some();
    let first = entries.iter().find(|entry| is_device(entry))?;
    complain(
        Violation::DevicePolled,
        format_args!("descriptor {} in poll", first.fd),
    );
    let mut others = entries.to_vec();
    for entry in others.iter_mut().filter(|entry| is_device(entry)) {
        entry.fd = -1;
    }
    // SAFETY: the copies are valid for their number.
    unsafe { next::poll(others.as_mut_ptr(), others.len() as nfds_t, 0) };
    for (entry, other) in entries.iter_mut().zip(&others) {
        entry.revents = if is_device(entry) {
            libc::POLLERR
        } else {
            other.revents
        };
    }
    let ready = entries.iter().filter(|entry| entry.revents != 0).count();
    c_int::try_from(ready).ok()
}

/// Stands in front of the function of this name.
///
/// # Safety
///
/// - As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn poll(entries: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    // SAFETY: the entries are the caller's.
    unsafe { poll_with_devices(entries, count) }.unwrap_or_else(|| {
        // SAFETY: the arguments are the caller's.
        unsafe { next::poll(entries, count, timeout) }
    })
}

/// Stands in front of the function of this name.
///
/// # Safety
///
/// - As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn ppoll(
    entries: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the entries are the caller's.
    unsafe { poll_with_devices(entries, count) }.unwrap_or_else(|| {
        // SAFETY: the arguments are the caller's.
        unsafe { next::ppoll(entries, count, timeout, mask) }
    })
}

/// Stands in front of the function of this name; Linux refuses a memory file anyway.
///
/// # Safety
///
/// - As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn epoll_ctl(
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut libc::epoll_event,
) -> c_int {
    if operation == libc::EPOLL_CTL_ADD && numbers::device(fd).is_some() {
        complain(
            Violation::DevicePolled,
            format_args!("descriptor {fd} in epoll"),
        );
    }
    // SAFETY: the arguments are the caller's.
    unsafe { next::epoll_ctl(epoll, operation, fd, event) }
}

/// Stands in front of the function of this name.
///
/// # Safety
///
/// - As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn select(
    count: c_int,
    reading: *mut libc::fd_set,
    writing: *mut libc::fd_set,
    exceptional: *mut libc::fd_set,
    timeout: *mut libc::timeval,
) -> c_int {
    if device::any_open() {
        for fd in (0..count).filter(|&fd| numbers::device(fd).is_some()) {
            // SAFETY: each set is null or valid for numbers below `count`.
            let within = |set| unsafe { is_in(fd, set) };
            if [reading, writing, exceptional]
                .into_iter()
                .any(|set| within(set))
            {
                complain(
                    Violation::DevicePolled,
                    format_args!("descriptor {fd} in select"),
                );
            }
        }
    }
    // SAFETY: the arguments are the caller's.
    unsafe { next::select(count, reading, writing, exceptional, timeout) }
}

/// # Safety
///
/// - `set` must be null or valid, and `fd` a number that fits into it.
unsafe fn is_in(fd: c_int, set: *const libc::fd_set) -> bool {
    // SAFETY: as the caller says, and it is not null.
    !set.is_null() && unsafe { libc::FD_ISSET(fd, set) }
}
