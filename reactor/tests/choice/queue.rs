//! kqueue as the next in order, on an emulation: made, refused.

#![cfg(windlass_kqueue)]

#[path = "../support/kqueue.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod emulation;

use crate::refusal::{EPOLL_CREATE, EVENTFD};
use crate::use_of::expect_works;
use crate::{available, expect_refusal};
use emulation::is_emulated;
use windlass_reactor::{Backend, NotifierKind, Poller, Reactor};

#[test]
fn it_serves_without_epoll_and_eventfd() {
    let name = "queue::it_serves_without_epoll_and_eventfd";
    if !is_emulated(name, &["freebsd", "macos", "netbsd"]) {
        return;
    }
    assert_eq!(available(), ["epoll", "kqueue", "poll"]);
    EPOLL_CREATE.refuse(libc::ENOSYS);
    EVENTFD.refuse(libc::ENOSYS);
    let poller = Poller::new().unwrap();
    assert_eq!(poller.backend(), Backend::Kqueue);
    assert_eq!(poller.notifier(), NotifierKind::User);
    let reactor = Reactor::new().unwrap();
    assert_eq!(reactor.handle().backend(), Backend::Kqueue);
    expect_works(|| Poller::new().unwrap());
}

#[test]
fn without_an_event_of_its_own_it_has_the_pipe() {
    let name = "queue::without_an_event_of_its_own_it_has_the_pipe";
    if !is_emulated(name, &["nouser"]) {
        return;
    }
    EPOLL_CREATE.refuse(libc::EPERM);
    let poller = Poller::new().unwrap();
    assert_eq!(poller.backend(), Backend::Kqueue);
    assert_eq!(poller.notifier(), NotifierKind::Pipe);
    expect_works(|| Poller::new().unwrap());
}

#[test]
fn refused_it_is_passed_over() {
    if !is_emulated("queue::refused_it_is_passed_over", &["open=fail:EPERM"]) {
        return;
    }
    EPOLL_CREATE.refuse(libc::ENOSYS);
    let poller = Poller::new().unwrap();
    assert_eq!(poller.backend(), Backend::Poll);
    for refused in [
        Poller::with_backend(Backend::Kqueue).unwrap_err(),
        Reactor::with_backend(Backend::Kqueue).unwrap_err(),
    ] {
        expect_refusal(&refused, libc::EPERM, "the back end kqueue", &["poll"]);
    }
}
