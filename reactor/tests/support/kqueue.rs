//! An emulation of kqueue, which counts and judges what is done with it.

#![allow(
    unsafe_code,
    reason = "the counters of the emulation are a function of C"
)]

use crate::support::emulation;

/// What the emulation counts: the structure that it fills in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Counters {
    pub(crate) queues: u64,
    pub(crate) calls: u64,
    pub(crate) change_calls: u64,
    pub(crate) wait_calls: u64,
    pub(crate) sleeps: u64,
    pub(crate) changes: u64,
    pub(crate) adds: u64,
    pub(crate) deletes: u64,
    pub(crate) switches: u64,
    pub(crate) triggers: u64,
    pub(crate) receipts: u64,
    pub(crate) errors: u64,
    pub(crate) events: u64,
    pub(crate) interruptions: u64,
    pub(crate) violations: u64,
}

/// What has been counted in this process until now.
pub(crate) fn counters() -> Counters {
    // SAFETY: the name ends with a null byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"kqueue_emulation_counters".as_ptr()) };
    assert!(!found.is_null(), "the emulation is not loaded");
    // SAFETY: the emulation documents that the function of this name has this signature.
    let ask = unsafe {
        std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn(*mut Counters)>(found)
    };
    let mut counters = Counters::default();
    // SAFETY: the structure is the one that the function fills in.
    unsafe { ask(&mut counters) };
    counters
}

/// Runs a test on each of `variants` of the emulation, as told at [`emulation::is_emulated`]; no
/// violation is allowed.
#[track_caller]
pub(crate) fn is_emulated(name: &str, variants: &[&str]) -> bool {
    emulation::is_emulated("KQUEUE", name, variants, "")
}
