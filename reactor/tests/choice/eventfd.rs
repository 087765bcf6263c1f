//! Where no eventfd can be made.

use crate::refusal::{EPOLL_CREATE, EVENTFD};
use crate::use_of::expect_works;
use crate::{available, expect_refusal, refused_with};
use std::io::ErrorKind;
use windlass_reactor::NotifierKind::{Eventfd, Pipe, User};
use windlass_reactor::{Backend, NotifierKind, Poller, Reactor};

/// The notifiers that work with `backend` once there is no eventfd.
fn others(backend: Backend) -> Vec<&'static str> {
    let works = |kind: &&NotifierKind| Poller::with_notifier(backend, **kind).is_ok();
    let works = [User, Pipe].iter().filter(works).map(|kind| kind.name());
    works.collect()
}

#[test]
fn the_pipe_serves_on_every_back_end() {
    let Some(error) = refused_with("eventfd::the_pipe_serves_on_every_back_end", &[]) else {
        return;
    };
    let before = available();
    EVENTFD.refuse(error);
    assert_eq!(available(), before);
    for backend in Backend::available() {
        let others = others(backend);
        let poller = Poller::with_backend(backend).unwrap();
        assert_eq!(poller.notifier().name(), others[0]);
        assert!(backend == Backend::Kqueue || others == ["pipe"]);
        println!("{backend} with {}", poller.notifier());
        expect_works(|| Poller::with_backend(backend).unwrap());
        expect_works(|| Poller::with_notifier(backend, Pipe).unwrap());
    }
    assert_eq!(Poller::new().unwrap().backend().name(), before[0]);
}

#[test]
fn without_epoll_either_the_rest_serves() {
    let Some(error) = refused_with("eventfd::without_epoll_either_the_rest_serves", &[]) else {
        return;
    };
    EPOLL_CREATE.refuse(error);
    EVENTFD.refuse(error);
    let poller = Poller::new().unwrap();
    assert_ne!(poller.backend(), Backend::Epoll);
    assert_ne!(poller.notifier(), Eventfd);
    expect_works(|| Poller::new().unwrap());
}

#[test]
fn forced_by_the_call_it_is_an_error() {
    let Some(error) = refused_with("eventfd::forced_by_the_call_it_is_an_error", &[]) else {
        return;
    };
    EVENTFD.refuse(error);
    for backend in Backend::available() {
        let refused = Poller::with_notifier(backend, Eventfd).unwrap_err();
        expect_refusal(&refused, error, "the notifier eventfd", &others(backend));
        assert!(refused.to_string().contains(backend.name()), "{refused}");
    }
}

#[test]
fn forced_by_the_variable_it_is_an_error_but_the_call_beats_it() {
    let name = "eventfd::forced_by_the_variable_it_is_an_error_but_the_call_beats_it";
    let Some(error) = refused_with(name, &[("WINDLASS_NOTIFIER", "eventfd")]) else {
        return;
    };
    EVENTFD.refuse(error);
    let first = Backend::available()[0];
    for refused in [Poller::new().unwrap_err(), Reactor::new().unwrap_err()] {
        expect_refusal(&refused, error, "the notifier eventfd", &others(first));
    }
    for backend in Backend::available() {
        for refused in [
            Poller::with_backend(backend).unwrap_err(),
            Reactor::with_backend(backend).unwrap_err(),
        ] {
            expect_refusal(&refused, error, "the notifier eventfd", &others(backend));
        }
        let poller = Poller::with_notifier(backend, Pipe).unwrap();
        assert_eq!(poller.notifier(), Pipe);
    }
}

#[test]
fn an_unknown_name_is_an_error_also_there() {
    let name = "eventfd::an_unknown_name_is_an_error_also_there";
    let unknown = [("WINDLASS_NOTIFIER", "telepathy")];
    let Some(error) = refused_with(name, &unknown) else {
        return;
    };
    EVENTFD.refuse(error);
    let refused = Poller::new().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    for kind in NotifierKind::ALL {
        assert!(refused.to_string().contains(kind.name()), "{refused}");
    }
}
