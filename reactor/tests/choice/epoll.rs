//! Where no epoll set can be made.

use crate::refusal::EPOLL_CREATE;
use crate::use_of::expect_works;
use crate::{available, expect_refusal, refused_with};
use std::ffi::c_int;
use windlass_reactor::{Backend, Poller, Reactor};

/// Has epoll refused; returns what works without it.
fn without_epoll(error: c_int) -> Vec<&'static str> {
    let mut others = available();
    assert_eq!(others.remove(0), "epoll");
    EPOLL_CREATE.refuse(error);
    assert_eq!(available(), others);
    others
}

#[test]
fn the_next_that_works_serves() {
    let Some(error) = refused_with("epoll::the_next_that_works_serves", &[]) else {
        return;
    };
    let others = without_epoll(error);
    let poller = Poller::new().unwrap();
    assert_eq!(poller.backend().name(), others[0]);
    let reactor = Reactor::new().unwrap();
    assert_eq!(reactor.handle().backend().name(), others[0]);
    expect_works(|| Poller::new().unwrap());
}

#[test]
fn forced_by_the_call_it_is_an_error() {
    let Some(error) = refused_with("epoll::forced_by_the_call_it_is_an_error", &[]) else {
        return;
    };
    let others = without_epoll(error);
    for refused in [
        Poller::with_backend(Backend::Epoll).unwrap_err(),
        Reactor::with_backend(Backend::Epoll).unwrap_err(),
    ] {
        expect_refusal(&refused, error, "the back end epoll", &others);
    }
}

#[test]
fn forced_by_the_variable_it_is_an_error_but_the_call_beats_it() {
    let name = "epoll::forced_by_the_variable_it_is_an_error_but_the_call_beats_it";
    let Some(error) = refused_with(name, &[("WINDLASS_BACKEND", "epoll")]) else {
        return;
    };
    let others = without_epoll(error);
    for refused in [Poller::new().unwrap_err(), Reactor::new().unwrap_err()] {
        expect_refusal(&refused, error, "the back end epoll", &others);
    }
    for other in others {
        let backend = other.parse().unwrap();
        assert_eq!(Poller::with_backend(backend).unwrap().backend(), backend);
        let reactor = Reactor::with_backend(backend).unwrap();
        assert_eq!(reactor.handle().backend(), backend);
    }
}
