//! An emulation of /dev/poll, which counts and judges what is done with the device.

#![allow(
    unsafe_code,
    reason = "the counters of the emulation are a function of C"
)]

use crate::support::emulation;
use std::ffi::c_int;

/// What the emulation counts: the structure that it fills in.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Counters {
    opens: u64,
    open_failures: u64,
    pub(crate) writes: u64,
    pub(crate) entries: u64,
    pub(crate) additions: u64,
    pub(crate) widenings: u64,
    pub(crate) removals: u64,
    redundancies: u64,
    polls: u64,
    waits: u64,
    interruptions: u64,
    events: u64,
    questions: u64,
    violations: u64,
    allowed: u64,
}

/// What has been counted in this process until now.
pub(crate) fn counters() -> Counters {
    // SAFETY: the name ends with a null byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"devpoll_emulation_counters".as_ptr()) };
    assert!(!found.is_null(), "the emulation is not loaded");
    // SAFETY: the emulation documents that the function of this name has this signature.
    let ask = unsafe {
        std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn(*mut Counters) -> c_int>(
            found,
        )
    };
    let mut counters = Counters::default();
    // SAFETY: the structure is the one that the function fills in.
    assert_eq!(unsafe { ask(&mut counters) }, 0);
    counters
}

/// Runs a test on each of `variants` of the emulation, as told at [`emulation::is_emulated`].
#[track_caller]
pub(crate) fn is_emulated(name: &str, variants: &[&str], allowed: &str) -> bool {
    emulation::is_emulated("DEVPOLL", name, variants, allowed)
}
