//! Every rule, on the functions of this package linked into the test itself.

mod rules;
mod support;

use support::{Api, Kevent};

fn api() -> Api {
    Api {
        kqueue: windlass_kqueue_emulation::kqueue,
        kevent,
        counters: |counters| {
            let mut read = windlass_kqueue_emulation::Counters::default();
            // SAFETY: `read` is a live structure of the type.
            unsafe { windlass_kqueue_emulation::kqueue_emulation_counters(&raw mut read) };
            *counters = [read.queues, read.calls, read.events, read.violations];
        },
    }
}

/// Passes on with the package's own type, which has the same layout as the tests'.
unsafe extern "C" fn kevent(
    queue: i32,
    changes: *const Kevent,
    change_count: i32,
    events: *mut Kevent,
    event_count: i32,
    timeout: *const libc::timespec,
) -> i32 {
    let (changes, events) = (changes.cast(), events.cast());
    // SAFETY: the caller promises the same about the same lists.
    unsafe {
        windlass_kqueue_emulation::kevent(
            queue,
            changes,
            change_count,
            events,
            event_count,
            timeout,
        )
    }
}

#[test]
fn rules_hold() {
    support::parent::run_every_rule("one_rule", None);
}

/// Runs the rule that the parent names; by itself it has nothing to do.
#[test]
fn one_rule() {
    support::child::run_named_rule(api);
}

#[test]
fn unknown_word_aborts() {
    support::parent::expect_abort("one_rule", None);
}
