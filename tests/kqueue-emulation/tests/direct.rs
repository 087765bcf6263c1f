//! Every rule, on the functions of this package linked into the test itself.

#![cfg(target_os = "linux")]

mod rules;
mod support;

use std::ffi::CStr;

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

#[test]
fn settings_are_heeded() {
    support::parent::expect_settings("one_rule", None);
}

#[test]
fn breaches_can_be_allowed_while_it_runs() {
    let allow = |names: &CStr| {
        // SAFETY: the names are a C string.
        unsafe { windlass_kqueue_emulation::kqueue_emulation_allow(names.as_ptr()) }
    };
    let breaches_of_a_bad_call = || {
        let count = || {
            let mut counters = [0; 4];
            (api().counters)(&mut counters);
            counters[3]
        };
        let (before, null) = (count(), std::ptr::null_mut());
        // SAFETY: no lists are passed.
        let result = unsafe { kevent(-1, null, 0, null, 0, std::ptr::null()) };
        assert_eq!(result, -1);
        count() - before
    };
    assert_eq!(breaches_of_a_bad_call(), 1);
    assert_eq!(allow(c"no-queue"), 0);
    assert_eq!(breaches_of_a_bad_call(), 0);
    assert_eq!(allow(c"no-such-breach"), -1);
    assert_eq!(breaches_of_a_bad_call(), 0);
    assert_eq!(allow(c""), 0);
    assert_eq!(breaches_of_a_bad_call(), 1);
}

#[test]
fn netbsds_call_marks_the_queue() {
    for (flags, marked) in [(libc::O_CLOEXEC, libc::FD_CLOEXEC), (0, 0)] {
        let queue = windlass_kqueue_emulation::kqueue1(flags);
        // SAFETY: F_GETFD has no conditions.
        assert_eq!(unsafe { libc::fcntl(queue, libc::F_GETFD) }, marked);
        support::system::close(queue);
    }
}
