//! Which back end and which notifier are taken: each case in a process of its own, since they are
//! chosen by environment variables.

use crate::support::child;
use std::io::ErrorKind;
use windlass_reactor::{Backend, NotifierKind, Poller, Reactor};

/// Runs the test `name` in a child with the variables set.
fn in_child(name: &str, variables: &[(&str, &str)]) {
    let mut command = child::command(&format!("choice::{name}"));
    command.envs(variables.iter().copied());
    child::expect_success(&mut command);
}

#[test]
fn the_first_that_works_is_taken() {
    if !child::is_child() {
        return in_child("the_first_that_works_is_taken", &[]);
    }
    let poller = Poller::new().unwrap();
    assert_eq!(poller.backend(), Backend::available()[0]);
    assert_eq!(Reactor::new().unwrap().handle().backend(), poller.backend());
}

#[test]
fn the_variables_choose() {
    if !child::is_child() {
        for backend in Backend::available() {
            for notifier in NotifierKind::ALL {
                if Poller::with_notifier(backend, *notifier).is_ok() {
                    let names = [
                        ("WINDLASS_BACKEND", backend.name()),
                        ("WINDLASS_NOTIFIER", notifier.name()),
                    ];
                    in_child("the_variables_choose", &names);
                }
            }
        }
        return;
    }
    let asked = |variable| std::env::var(variable).unwrap();
    let poller = Poller::new().unwrap();
    assert_eq!(poller.backend().name(), asked("WINDLASS_BACKEND"));
    assert_eq!(poller.notifier().name(), asked("WINDLASS_NOTIFIER"));
    // The call beats the variable. Of the notifiers, one works with one back end only.
    for backend in Backend::available() {
        let kind = asked("WINDLASS_NOTIFIER").parse().unwrap();
        if Poller::with_notifier(backend, kind).is_ok() {
            assert_eq!(Poller::with_backend(backend).unwrap().backend(), backend);
            let reactor = Reactor::with_backend(backend).unwrap();
            assert_eq!(reactor.handle().backend(), backend);
        } else {
            let text = Poller::with_backend(backend).unwrap_err().to_string();
            assert!(text.contains(kind.name()) && text.contains(backend.name()));
        }
        let poller = Poller::with_notifier(backend, NotifierKind::Pipe).unwrap();
        assert_eq!(poller.notifier(), NotifierKind::Pipe);
    }
}

#[test]
fn an_empty_variable_is_no_choice() {
    if !child::is_child() {
        let empty = [("WINDLASS_BACKEND", ""), ("WINDLASS_NOTIFIER", "")];
        return in_child("an_empty_variable_is_no_choice", &empty);
    }
    assert_eq!(Poller::new().unwrap().backend(), Backend::available()[0]);
}

#[test]
fn an_unknown_back_end_is_an_error_that_lists_the_known() {
    if !child::is_child() {
        for name in ["select", "EPOLL", " poll"] {
            let variables = [("WINDLASS_BACKEND", name)];
            in_child(
                "an_unknown_back_end_is_an_error_that_lists_the_known",
                &variables,
            );
        }
        return;
    }
    let error = Poller::new().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let text = error.to_string();
    assert!(text.contains("WINDLASS_BACKEND"), "{text}");
    for backend in Backend::ALL {
        assert!(text.contains(backend.name()), "{text}");
    }
    // What is asked for by the call does not depend on the variable.
    Poller::with_backend(Backend::Poll).unwrap();
}

#[test]
fn an_unknown_notifier_is_an_error_that_lists_the_known() {
    if !child::is_child() {
        let variables = [("WINDLASS_NOTIFIER", "telepathy")];
        return in_child(
            "an_unknown_notifier_is_an_error_that_lists_the_known",
            &variables,
        );
    }
    for error in [
        Poller::new().unwrap_err(),
        Poller::with_backend(Backend::Poll).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let text = error.to_string();
        assert!(
            text.contains("WINDLASS_NOTIFIER") && text.contains("telepathy"),
            "{text}"
        );
        for kind in NotifierKind::ALL {
            assert!(text.contains(kind.name()), "{text}");
        }
    }
    Poller::with_notifier(Backend::Poll, NotifierKind::Pipe).unwrap();
}

#[test]
fn what_is_not_available_is_an_error_that_lists_what_is() {
    let available = Backend::available();
    for backend in Backend::ALL {
        if available.contains(backend) {
            continue;
        }
        let text = Poller::with_backend(*backend).unwrap_err().to_string();
        assert!(text.contains(backend.name()), "{text}");
        for other in &available {
            assert!(text.contains(other.name()), "{text}");
        }
    }
}

#[test]
fn a_notifier_that_does_not_work_is_an_error_that_lists_those_that_do() {
    for backend in Backend::available() {
        let works = |kind: &NotifierKind| Poller::with_notifier(backend, *kind).is_ok();
        let (works, others): (Vec<_>, Vec<_>) =
            NotifierKind::ALL.iter().partition(|kind| works(kind));
        assert!(works.contains(&&NotifierKind::Pipe));
        assert!(backend == Backend::Kqueue || others.contains(&&NotifierKind::User));
        for kind in others {
            let text = Poller::with_notifier(backend, *kind)
                .unwrap_err()
                .to_string();
            let (start, list) = text.split_once("available are: ").unwrap();
            assert!(
                start.contains(kind.name()) && start.contains(backend.name()),
                "{text}"
            );
            let names: Vec<_> = works.iter().map(|kind| kind.name()).collect();
            assert_eq!(list.split(", ").collect::<Vec<_>>(), names);
        }
    }
}

#[test]
fn kqueue_takes_its_own_event_or_else_a_pipe() {
    if !Backend::available().contains(&Backend::Kqueue) {
        return println!("skipped: there is no kqueue here");
    }
    if !child::is_child() {
        return in_child("kqueue_takes_its_own_event_or_else_a_pipe", &[]);
    }
    let has_user = Poller::with_notifier(Backend::Kqueue, NotifierKind::User).is_ok();
    let expected = if has_user {
        NotifierKind::User
    } else {
        NotifierKind::Pipe
    };
    assert_eq!(
        Poller::with_backend(Backend::Kqueue).unwrap().notifier(),
        expected
    );
}
