//! Counts calls and entries, for tests that state a budget.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What has happened in this process so far, read with `kqueue_emulation_counters`.
///
/// Every field is a 64-bit number in this order; later versions only add at the end.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Queues made.
    pub queues: u64,
    /// Calls of `kevent()`.
    pub calls: u64,
    /// Calls with at least one change.
    pub change_calls: u64,
    /// Calls that went on to look for events.
    pub wait_calls: u64,
    /// Times that a call slept.
    pub sleeps: u64,
    /// Changes taken from changelists.
    pub changes: u64,
    /// Changes with `EV_ADD`.
    pub adds: u64,
    /// Changes with `EV_DELETE`.
    pub deletes: u64,
    /// Changes with `EV_ENABLE` or `EV_DISABLE`.
    pub switches: u64,
    /// Changes with `NOTE_TRIGGER`.
    pub triggers: u64,
    /// Entries about changes that succeeded.
    pub receipts: u64,
    /// Entries about changes that failed.
    pub errors: u64,
    /// Events handed out.
    pub events: u64,
    /// Calls that gave `EINTR`.
    pub interruptions: u64,
    /// Breaches of the rules, silenced ones left out.
    pub violations: u64,
}

/// One counter; the order is that of [`Counters`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counter {
    Queues,
    Calls,
    ChangeCalls,
    WaitCalls,
    Sleeps,
    Changes,
    Adds,
    Deletes,
    Switches,
    Triggers,
    Receipts,
    Errors,
    Events,
    Interruptions,
    Violations,
}

const NAMES: [&str; 15] = [
    "queues",
    "calls",
    "change_calls",
    "wait_calls",
    "sleeps",
    "changes",
    "adds",
    "deletes",
    "switches",
    "triggers",
    "receipts",
    "errors",
    "events",
    "interruptions",
    "violations",
];

static VALUES: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];

/// Adds one.
pub(crate) fn count(counter: Counter) {
    add(counter, 1);
}

/// Adds several.
pub(crate) fn add(counter: Counter, amount: u64) {
    VALUES[counter as usize].fetch_add(amount, Relaxed);
}

/// Reads all of them, each by itself.
pub(crate) fn read() -> Counters {
    let value = |counter: Counter| VALUES[counter as usize].load(Relaxed);
    Counters {
        queues: value(Counter::Queues),
        calls: value(Counter::Calls),
        change_calls: value(Counter::ChangeCalls),
        wait_calls: value(Counter::WaitCalls),
        sleeps: value(Counter::Sleeps),
        changes: value(Counter::Changes),
        adds: value(Counter::Adds),
        deletes: value(Counter::Deletes),
        switches: value(Counter::Switches),
        triggers: value(Counter::Triggers),
        receipts: value(Counter::Receipts),
        errors: value(Counter::Errors),
        events: value(Counter::Events),
        interruptions: value(Counter::Interruptions),
        violations: value(Counter::Violations),
    }
}

/// Starts over, in the child of a fork.
pub(crate) fn reset() {
    for value in &VALUES {
        value.store(0, Relaxed);
    }
}

/// Writes them as one line: the process, then `name=value` for each.
pub(crate) fn line(process: i32) -> String {
    let mut line = format!("pid={process}");
    for (name, value) in NAMES.iter().zip(&VALUES) {
        // Writing to a string cannot fail.
        let _ = write!(line, " {name}={}", value.load(Relaxed));
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_shows_under_its_own_name() {
        let before = read().interruptions;
        add(Counter::Interruptions, 3);
        count(Counter::Interruptions);
        assert!(read().interruptions >= before + 4);
        assert!(line(7).starts_with("pid=7 queues="));
        assert_eq!(line(7).split_whitespace().count(), NAMES.len() + 1);
        assert_eq!(size_of::<Counters>(), 8 * NAMES.len());
        assert_eq!(NAMES[Counter::Violations as usize], "violations");
    }
}
