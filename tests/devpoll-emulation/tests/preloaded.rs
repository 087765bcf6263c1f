//! The scenarios in an unmodified program into which the emulation is preloaded.
//!
//! Cargo does not build the library for these tests, so it has to be built before and named:
//!
//! ```text
//! cargo build -p windlass-devpoll-emulation
//! WINDLASS_DEVPOLL_EMULATION=$PWD/target/debug/libwindlass_devpoll_emulation.so \
//!     cargo test -p windlass-devpoll-emulation
//! ```
//!
//! Without it they say so and pass; `linked` runs the same scenarios in any case.

#![cfg(target_os = "linux")]

mod common;

use common::harness::Way;
use common::report::{Counters, Report};
use std::ffi::{CStr, c_char, c_int, c_void};

/// Runs a scenario in a copy of this program with the library preloaded, if it is named.
const WAY: fn() -> Option<Way> = || match std::env::var_os("WINDLASS_DEVPOLL_EMULATION") {
    Some(library) => Some(Way {
        preload: Some(library),
    }),
    None => {
        println!("skipped: WINDLASS_DEVPOLL_EMULATION does not name the library to preload");
        None
    }
};

/// The emulation's functions are looked up, as any program would.
const REPORT: fn() -> Report = || Report {
    counters: |place| {
        let function = look_up(c"devpoll_emulation_counters");
        // SAFETY: the library documents this signature.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut Counters) -> c_int>(
                function,
            )
        };
        // SAFETY: the place is valid, and the structure the documented one.
        unsafe { function(place) }
    },
    violations: |kind| {
        let function = look_up(c"devpoll_emulation_violations");
        // SAFETY: the library documents this signature.
        let function = unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_char) -> u64>(function)
        };
        // SAFETY: the name ends with a null byte.
        unsafe { function(kind.as_ptr()) }
    },
};

fn look_up(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends with a null byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    assert!(
        !found.is_null(),
        "{name:?} is not there: is the library preloaded?"
    );
    found
}

common::all_scenarios!();
