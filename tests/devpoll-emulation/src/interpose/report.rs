//! What a test may ask: functions to be found with `dlsym`.

use crate::complaint;
use crate::counters::{Counters, TALLY};
use crate::violation::Violation;
use libc::{c_char, c_int};
use std::ffi::CStr;

/// Fills in what has been counted in this process; returns 0, or -1 for a null pointer.
///
/// # Safety
///
/// - `place` must be null or valid for [`Counters`].
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn devpoll_emulation_counters(place: *mut Counters) -> c_int {
    if place.is_null() {
        return -1;
    }
    // SAFETY: it is not null, and valid as the caller says.
    unsafe { place.write(TALLY.snapshot()) };
    0
}

/// Returns how many violations of a kind there were in this process, allowed ones included;
/// `u64::MAX` if there is no kind of that name.
///
/// # Safety
///
/// - `name` must be null or end with a null byte.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn devpoll_emulation_violations(name: *const c_char) -> u64 {
    if name.is_null() {
        return u64::MAX;
    }
    // SAFETY: it is not null, and ends with a null byte as the caller says.
    let name = unsafe { CStr::from_ptr(name) };
    let kind = name.to_str().ok().and_then(Violation::from_name);
    kind.map_or(u64::MAX, complaint::count_of)
}

/// Sets all counters and counts of violations to zero.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn devpoll_emulation_reset() {
    TALLY.reset();
    complaint::reset();
}
