//! /dev/poll as the next in order, on an emulation: opened, missing, unreadable.

#[path = "../support/devpoll.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod emulation;

use crate::refusal::{EPOLL_CREATE, EVENTFD};
use crate::use_of::expect_works;
use crate::{available, expect_refusal};
use emulation::is_emulated;
use windlass_reactor::{Backend, NotifierKind, Poller, Reactor};

const VARIANTS: [&str; 2] = ["illumos", "solaris"];

#[test]
fn it_serves_without_epoll() {
    if !is_emulated("device::it_serves_without_epoll", &VARIANTS, "") {
        return;
    }
    assert_eq!(available(), ["epoll", "devpoll", "poll"]);
    assert_eq!(Poller::new().unwrap().backend(), Backend::Epoll);
    EPOLL_CREATE.refuse(libc::ENOSYS);
    let poller = Poller::new().unwrap();
    assert_eq!(poller.backend(), Backend::DevPoll);
    assert_eq!(poller.notifier(), NotifierKind::Eventfd);
    let reactor = Reactor::new().unwrap();
    assert_eq!(reactor.handle().backend(), Backend::DevPoll);
    expect_works(|| Poller::new().unwrap());
}

#[test]
fn it_serves_without_epoll_and_eventfd() {
    let name = "device::it_serves_without_epoll_and_eventfd";
    if !is_emulated(name, &VARIANTS, "") {
        return;
    }
    EPOLL_CREATE.refuse(libc::EPERM);
    EVENTFD.refuse(libc::EPERM);
    let poller = Poller::new().unwrap();
    assert_eq!(poller.backend(), Backend::DevPoll);
    assert_eq!(poller.notifier(), NotifierKind::Pipe);
    expect_works(|| Poller::new().unwrap());
}

/// It can't be opened: forcing it is an error, and without epoll poll serves.
fn expect_passed_over(error: i32) {
    assert_eq!(available(), ["epoll", "poll"]);
    assert_eq!(Poller::new().unwrap().backend(), Backend::Epoll);
    for refused in [
        Poller::with_backend(Backend::DevPoll).unwrap_err(),
        Reactor::with_backend(Backend::DevPoll).unwrap_err(),
    ] {
        expect_refusal(&refused, error, "the back end devpoll", &available());
    }
    EPOLL_CREATE.refuse(libc::ENOSYS);
    assert_eq!(Poller::new().unwrap().backend(), Backend::Poll);
    let refused = Poller::with_backend(Backend::DevPoll).unwrap_err();
    expect_refusal(&refused, error, "the back end devpoll", &["poll"]);
    expect_works(|| Poller::new().unwrap());
}

#[test]
fn missing_it_is_passed_over() {
    let variants = ["open=fail:ENOENT"];
    if is_emulated("device::missing_it_is_passed_over", &variants, "") {
        expect_passed_over(libc::ENOENT);
    }
}

#[test]
fn unreadable_it_is_passed_over() {
    let variants = ["open=fail:EACCES"];
    if is_emulated("device::unreadable_it_is_passed_over", &variants, "") {
        expect_passed_over(libc::EACCES);
    }
}
