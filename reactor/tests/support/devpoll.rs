//! An emulation of /dev/poll, which counts and judges what is done with the device.

#![allow(unsafe_code)]

use crate::support::child;
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

/// Runs the test `name` once on each of `variants`, in children with the emulation preloaded, and
/// returns false; or returns true in such a child. Violations other than of the kinds `allowed` end
/// the child.
///
/// Cargo does not build the library for these tests: the environment variable
/// `WINDLASS_DEVPOLL_EMULATION` names it. Without that they say that they are skipped.
#[track_caller]
pub(crate) fn is_emulated(name: &str, variants: &[&str], allowed: &str) -> bool {
    if child::is_child() {
        return true;
    }
    let Some(library) = std::env::var_os("WINDLASS_DEVPOLL_EMULATION") else {
        println!("skipped: WINDLASS_DEVPOLL_EMULATION does not name the library to preload");
        return false;
    };
    for variant in variants {
        println!("{variant}");
        let mut command = child::command(name);
        command
            .env("LD_PRELOAD", &library)
            .env("DEVPOLL_EMULATION", variant)
            .env("DEVPOLL_EMULATION_ALLOW", allowed)
            .env("DEVPOLL_EMULATION_FATAL", "1")
            .env_remove("DEVPOLL_EMULATION_LOG")
            .env_remove("DEVPOLL_EMULATION_STATS");
        child::expect_success(&mut command);
    }
    false
}
