//! What the emulation reports about its client.

use std::ffi::{CStr, CString, c_int};

/// The documented structure, field by field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Counters {
    pub(crate) opens: u64,
    pub(crate) open_failures: u64,
    pub(crate) writes: u64,
    pub(crate) entries: u64,
    pub(crate) additions: u64,
    pub(crate) widenings: u64,
    pub(crate) removals: u64,
    pub(crate) redundancies: u64,
    pub(crate) polls: u64,
    pub(crate) waits: u64,
    pub(crate) interruptions: u64,
    pub(crate) events: u64,
    pub(crate) questions: u64,
    pub(crate) violations: u64,
    pub(crate) allowed: u64,
}

/// How to ask the emulation.
pub(crate) struct Report {
    /// Fills the structure in.
    pub(crate) counters: fn(&mut Counters) -> c_int,
    /// Counts the violations of a kind.
    pub(crate) violations: fn(&CStr) -> u64,
}

impl Report {
    /// Returns what has been counted.
    pub(crate) fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        assert_eq!((self.counters)(&mut counters), 0);
        counters
    }

    /// Returns how many violations of a kind there were.
    #[track_caller]
    pub(crate) fn violations(&self, kind: &str) -> u64 {
        let count = (self.violations)(&CString::new(kind).unwrap());
        assert_ne!(count, u64::MAX, "no kind {kind}");
        count
    }

    /// Waits until somebody sleeps in the device for the `waits`-th time, or a little before.
    pub(crate) fn until_waits(&self, waits: u64) {
        while self.counters().waits < waits {
            std::thread::yield_now();
        }
    }
}
