//! What this system doesn't have, where nothing is refused.

use crate::support::child;
use crate::{available, expect_refusal};
use futures::executor::block_on;
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use windlass_reactor::time::sleep;
use windlass_reactor::{Async, Backend, NotifierKind, Poller, Reactor};

/// Runs the test `name` in a child with `WINDLASS_BACKEND` set; says whether this is it.
fn with_variable(name: &str, value: &str) -> bool {
    if !child::is_child() {
        let mut command = child::command(name);
        child::expect_success(command.env("WINDLASS_BACKEND", value));
    }
    child::is_child()
}

#[test]
fn the_order_is_from_fast_to_slow() {
    let names: Vec<_> = Backend::ALL.iter().map(|backend| backend.name()).collect();
    assert_eq!(names, ["epoll", "kqueue", "devpoll", "poll"]);
    let works = available();
    let mut order = names.iter();
    assert!(works.iter().all(|name| order.any(|next| next == name)));
    assert_eq!((works[0], works[works.len() - 1]), ("epoll", "poll"));
}

#[test]
fn a_device_that_is_missing_is_an_error() {
    let works = available();
    if std::path::Path::new("/dev/poll").exists() || works.contains(&"devpoll") {
        return println!("skipped: there is a device here");
    }
    for refused in [
        Poller::with_backend(Backend::DevPoll).unwrap_err(),
        Reactor::with_backend(Backend::DevPoll).unwrap_err(),
    ] {
        expect_refusal(&refused, libc::ENOENT, "the back end devpoll", &works);
    }
}

#[test]
fn a_device_that_is_missing_is_an_error_by_the_variable() {
    if available().contains(&"devpoll") {
        return println!("skipped: there is a device here");
    }
    let name = "forced::a_device_that_is_missing_is_an_error_by_the_variable";
    if with_variable(name, "devpoll") {
        let works = available();
        for refused in [Poller::new().unwrap_err(), Reactor::new().unwrap_err()] {
            expect_refusal(&refused, libc::ENOENT, "the back end devpoll", &works);
        }
        let poller = Poller::with_backend(Backend::Poll).unwrap();
        assert_eq!(poller.backend(), Backend::Poll);
    }
}

#[test]
fn a_notifier_of_another_back_end_says_what_is_wanting() {
    for backend in [Backend::Epoll, Backend::Poll] {
        let refused = Poller::with_notifier(backend, NotifierKind::User).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        let expected = format!(
            "the notifier user does not work with the back end {backend} here: it has no events of \
             the program's own; available are: eventfd, pipe"
        );
        assert_eq!(refused.to_string(), expected);
    }
}

// Where nobody turns a reactor, one is made behind the scenes.
#[test]
fn an_unknown_name_is_an_error_of_waits_without_a_reactor() {
    let name = "forced::an_unknown_name_is_an_error_of_waits_without_a_reactor";
    if with_variable(name, "select") {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let ours = Async::new(ours).unwrap();
        let read = ours.read_with(|mut stream| stream.read(&mut [0; 8]));
        let error = block_on(read).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        for backend in Backend::ALL {
            assert!(error.to_string().contains(backend.name()), "{error}");
        }
        // A timer can't return an error; it does without.
        let (start, pause) = (Instant::now(), Duration::from_millis(20));
        block_on(sleep(pause));
        assert!(start.elapsed() >= pause);
    }
}
