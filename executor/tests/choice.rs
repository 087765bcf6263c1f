//! The back end that a runtime is made on: chosen by the call or the variable, or an error.

mod support;

use std::io::{Error, ErrorKind};
use std::time::Duration;
use support::child::alone_with;
use support::limit;
use windlass_executor::Runtime;
use windlass_reactor::Backend;
use windlass_reactor::time::sleep;

const VARIABLE: &str = "WINDLASS_BACKEND";

/// The first back end that does not work here; no system has them all.
fn missing() -> Backend {
    let works = Backend::available();
    let mut missing = Backend::ALL.iter().filter(|one| !works.contains(one));
    *missing.next().expect("one is of other systems")
}

/// Fails unless `error` says that `backend` does not work, what the system said, and what works.
#[track_caller]
fn expect_refusal(error: &Error, backend: Backend) {
    let refused = windlass_reactor::Poller::with_backend(backend).unwrap_err();
    assert_eq!(error.kind(), refused.kind());
    let text = error.to_string();
    assert_eq!(text, refused.to_string());
    let works: Vec<_> = Backend::available().iter().map(|one| one.name()).collect();
    let list = format!("available are: {}", works.join(", "));
    assert!(
        text.contains(backend.name()) && text.ends_with(&list),
        "{text}"
    );
}

/// Fails unless a runtime on `backend` works, whatever the variable says.
fn expect_works(backend: Backend) {
    let _limit = limit();
    for workers in [1, 2] {
        let builder = Runtime::builder().workers(workers).backend(backend);
        let runtime = builder.build().unwrap();
        runtime.block_on(async {
            let task = windlass_executor::spawn(sleep(Duration::from_millis(1)));
            task.await.unwrap();
        });
    }
}

#[test]
fn one_that_does_not_work_is_an_error_of_the_builder() {
    for workers in [1, 2] {
        let builder = Runtime::builder().workers(workers).backend(missing());
        expect_refusal(&builder.build().unwrap_err(), missing());
    }
}

#[test]
fn one_that_does_not_work_is_an_error_by_the_variable_which_the_call_beats() {
    let name = "one_that_does_not_work_is_an_error_by_the_variable_which_the_call_beats";
    alone_with(name, &[(VARIABLE, missing().name())], || {
        expect_refusal(&Runtime::new().unwrap_err(), missing());
        expect_refusal(&Runtime::builder().build().unwrap_err(), missing());
        for backend in Backend::available() {
            expect_works(backend);
        }
    });
}

#[test]
fn an_unknown_name_is_an_error_that_lists_the_known_and_the_call_beats_it() {
    let name = "an_unknown_name_is_an_error_that_lists_the_known_and_the_call_beats_it";
    alone_with(name, &[(VARIABLE, "select")], || {
        for error in [
            Runtime::new().unwrap_err(),
            Runtime::builder().workers(1).build().unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            let text = error.to_string();
            assert!(text.contains(VARIABLE) && text.contains("select"), "{text}");
            for backend in Backend::ALL {
                assert!(text.contains(backend.name()), "{text}");
            }
        }
        for backend in Backend::available() {
            expect_works(backend);
        }
    });
}

#[test]
fn an_unknown_notifier_is_an_error_whatever_the_back_end() {
    let name = "an_unknown_notifier_is_an_error_whatever_the_back_end";
    alone_with(name, &[("WINDLASS_NOTIFIER", "telepathy")], || {
        for backend in Backend::available() {
            let builder = Runtime::builder().workers(1).backend(backend);
            let error = builder.build().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains("telepathy"), "{error}");
        }
    });
}
