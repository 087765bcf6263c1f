//! What makes no sense is refused by an error that says what would.

mod support;

use std::io;
use std::panic::catch_unwind;
use support::child::{self, Running};
use windlass::reactor::{Backend, Events, Reactor};
use windlass::{Builder, Runtime, block_on, spawn};

#[track_caller]
fn assert_refused<T>(result: io::Result<T>, kind: io::ErrorKind, words: &[&str]) {
    let Err(error) = result else {
        panic!("it was not refused");
    };
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[test]
fn a_number_of_workers_that_makes_no_sense() {
    let invalid = io::ErrorKind::InvalidInput;
    for (workers, number) in [
        (0, "0 workers"),
        (Builder::MAX_WORKERS + 1, "1025 workers"),
        (usize::MAX, "workers"),
    ] {
        let result = Runtime::builder().workers(workers).build();
        assert_refused(result, invalid, &[number, "1 to 1024"]);
    }
    let result = Runtime::builder().blocking_threads(0).build();
    assert_refused(result, invalid, &["spawn_blocking", "at least 1"]);
}

#[test]
fn a_capacity_that_makes_no_sense() {
    for capacity in [0, Events::MAX_CAPACITY + 1, usize::MAX] {
        let words = [&*capacity.to_string(), &*Events::MAX_CAPACITY.to_string()];
        assert_refused(
            Events::with_capacity(capacity),
            io::ErrorKind::InvalidInput,
            &words,
        );
    }
}

#[test]
fn a_name_that_no_thread_can_bear() {
    let result = Runtime::builder().workers(2).thread_name("a\0b").build();
    assert_refused(result, io::ErrorKind::InvalidInput, &["zero byte"]);
}

#[test]
fn a_stack_that_there_is_no_room_for() {
    // An error of the system, and no thread is waited for that never came to be.
    for workers in [2, 4] {
        let huge = Runtime::builder()
            .workers(workers)
            .thread_stack_size(1 << 60);
        assert!(huge.build().is_err());
    }
}

#[test]
fn a_back_end_that_this_system_does_not_have() {
    let available = Backend::available();
    let missing = Backend::ALL.iter().filter(|one| !available.contains(one));
    for backend in missing {
        let result = Runtime::builder().workers(1).backend(*backend).build();
        let error = result.unwrap_err().to_string();
        assert!(error.contains(backend.name()), "{error}");
        for works in &available {
            assert!(error.contains(works.name()), "{error}");
        }
    }
}

/// Runs the test `name` in a child whose environment has `value` for `variable`.
fn with_variable(name: &str, variable: &str, value: &str, child: impl FnOnce()) {
    if child::rounds().is_some() {
        return child();
    }
    Running::start_with(&[], name, 0, &[(variable, value)]).finish();
}

#[test]
fn a_back_end_in_the_environment_that_is_unknown() {
    with_variable(
        "a_back_end_in_the_environment_that_is_unknown",
        "WINDLASS_BACKEND",
        "select",
        || {
            let words = ["WINDLASS_BACKEND", "\"select\"", "epoll", "devpoll", "poll"];
            let invalid = io::ErrorKind::InvalidInput;
            assert_refused(Runtime::new(), invalid, &words);
            assert_refused(Runtime::builder().workers(1).build(), invalid, &words);
            assert_refused(Reactor::new(), invalid, &words);
            // The call beats the variable.
            let chosen = Runtime::builder().workers(1).backend(Backend::Poll);
            assert_eq!(chosen.build().unwrap().block_on(async { 1 }), 1);
            // There is nobody to return an error to: it says so at once, not at the first spawn.
            let panic = catch_unwind(|| block_on(async { drop(spawn(async {})) })).unwrap_err();
            let text = panic.downcast_ref::<String>().unwrap();
            for word in words {
                assert!(text.contains(word), "{text}");
            }
        },
    );
}

#[test]
fn a_notifier_in_the_environment_that_is_unknown() {
    with_variable(
        "a_notifier_in_the_environment_that_is_unknown",
        "WINDLASS_NOTIFIER",
        "bell",
        || {
            let words = ["WINDLASS_NOTIFIER", "\"bell\"", "eventfd", "pipe"];
            assert_refused(Runtime::new(), io::ErrorKind::InvalidInput, &words);
        },
    );
}

#[test]
fn an_empty_variable_is_none() {
    with_variable("an_empty_variable_is_none", "WINDLASS_BACKEND", "", || {
        assert_eq!(block_on(async { spawn(async { 2 }).await.unwrap() }), 2);
    });
}
