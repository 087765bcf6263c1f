//! Counts violations, notes them where the settings say, and ends the process if they say so.

use crate::counters::{TALLY, count};
use crate::settings::settings;
use crate::sys;
use crate::violation::Violation;
use std::fmt::Arguments;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How often each kind has come, allowed or not.
static BY_KIND: [AtomicU64; Violation::ALL.len()] =
    [const { AtomicU64::new(0) }; Violation::ALL.len()];

/// Takes note of a violation.
pub(crate) fn complain(kind: Violation, detail: Arguments<'_>) {
    let settings = settings();
    BY_KIND[kind.index()].fetch_add(1, Relaxed);
    if settings.allowed[kind.index()] {
        count(&TALLY.allowed);
        return;
    }
    count(&TALLY.violations);
    let line = format!("{} {}: {detail}", sys::process(), kind.name());
    let logged = settings
        .log
        .as_deref()
        .is_some_and(|log| sys::append_line(log, &line));
    if !logged || settings.fatal {
        sys::complain(&format!("devpoll emulation: {line}"));
    }
    if settings.fatal {
        std::process::abort();
    }
}

/// Returns how often a kind has come, allowed or not.
pub(crate) fn count_of(kind: Violation) -> u64 {
    BY_KIND[kind.index()].load(Relaxed)
}

/// Forgets what has come.
pub(crate) fn reset() {
    for counter in &BY_KIND {
        counter.store(0, Relaxed);
    }
}
