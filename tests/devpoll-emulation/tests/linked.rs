//! The scenarios in a program that is linked with the emulation: these need nothing preloaded.

#![cfg(target_os = "linux")]

mod common;

use common::harness::Way;
use common::report::Report;
use windlass_devpoll_emulation::{devpoll_emulation_counters, devpoll_emulation_violations};

/// Runs a scenario in a copy of this program.
const WAY: fn() -> Option<Way> = || Some(Way { preload: None });

/// The emulation's functions are this program's own.
const REPORT: fn() -> Report = || Report {
    counters: |place| {
        // SAFETY: the place is valid, and both structures have the same fields.
        unsafe { devpoll_emulation_counters(std::ptr::from_mut(place).cast()) }
    },
    violations: |kind| {
        // SAFETY: the name ends with a null byte.
        unsafe { devpoll_emulation_violations(kind.as_ptr()) }
    },
};

common::all_scenarios!();
