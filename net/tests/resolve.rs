//! Looking names up, on threads that no executor knows of.

mod common;

use common::{LIMIT, run};
use futures::FutureExt;
use futures::future::join_all;
use std::error::Error;
use std::future::Future;
use std::io::ErrorKind;
use std::net::{Ipv6Addr, SocketAddr};
use std::panic::panic_any;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use windlass_net::{LookupError, lookup_host};
use windlass_reactor::time::{self, timeout};
use windlass_reactor::{Poller, Reactor};

#[test]
fn addresses_are_answered_at_once() {
    let address = "127.0.0.1:80".parse::<SocketAddr>().unwrap();
    let answers = [
        lookup_host("127.0.0.1:80").now_or_never(),
        lookup_host(("127.0.0.1", 80)).now_or_never(),
        lookup_host(address).now_or_never(),
        lookup_host([address]).now_or_never(),
    ];
    for answer in answers {
        assert_eq!(answer.unwrap().unwrap(), [address]);
    }
    let local = lookup_host("[::1]:9").now_or_never().unwrap().unwrap();
    assert_eq!(local[0].ip(), Ipv6Addr::LOCALHOST);
}

#[test]
fn names_are_looked_up_many_at_a_time() {
    let lookups = (1..=100).map(|port| lookup_host(("localhost", port)));
    for (port, found) in (1..).zip(run(join_all(lookups))) {
        for address in found.unwrap() {
            assert!(address.ip().is_loopback() && address.port() == port);
        }
    }
}

/// Wakes by ending the turn of a reactor.
struct EndTurn(windlass_reactor::Handle);

impl Wake for EndTurn {
    fn wake(self: Arc<Self>) {
        self.0.notify().unwrap();
    }
}

/// The thread that looks a name up is not seen by the clock.
#[test]
fn a_paused_clock_stands_while_a_name_is_looked_up() {
    let hour = Duration::from_secs(3600);
    for _ in 0..20 {
        let mut reactor = Reactor::with_paused_clock(Poller::new().unwrap());
        let handle = reactor.handle().clone();
        let waker = Waker::from(Arc::new(EndTurn(handle.clone())));
        let mut context = Context::from_waker(&waker);
        let mut lookup = pin!(handle.enter(|| timeout(hour, lookup_host("localhost:80"))));
        let begin = handle.enter(time::now);
        let found = loop {
            match handle.enter(|| lookup.as_mut().poll(&mut context)) {
                Poll::Ready(found) => break found,
                Poll::Pending => drop(reactor.turn(Some(LIMIT)).unwrap()),
            }
        };
        found.expect("the time has moved").unwrap();
        assert_eq!(handle.enter(time::now), begin);
        // And then it moves again.
        let mut sleep = handle.enter(|| Box::pin(time::sleep(hour)));
        while handle
            .enter(|| sleep.as_mut().poll(&mut context))
            .is_pending()
        {
            reactor.turn(Some(LIMIT)).unwrap();
        }
        assert_eq!(handle.enter(time::now) - begin, hour);
    }
}

/// The zone of an address may be given by its name, which the system knows.
#[test]
fn a_zone_may_be_named() {
    let Ok(found) = run(lookup_host("[fe80::1%lo]:9")) else {
        return eprintln!("skipped: this system has no interface `lo` with IPv6");
    };
    match found[0] {
        SocketAddr::V6(address) => assert_ne!(address.scope_id(), 0),
        SocketAddr::V4(address) => panic!("{address}"),
    }
}

/// The name has an empty part, so that no name server is asked.
#[test]
fn what_cannot_be_found_is_named() {
    let error = run(lookup_host("no..such.host:80")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("cannot find the host `no..such.host`"),
        "{error}"
    );
    let inner = error.get_ref().unwrap();
    let inner = inner.downcast_ref::<LookupError>().unwrap();
    assert_eq!(inner.host(), "no..such.host");
    assert!(inner.source().is_some());
}

#[test]
fn what_is_no_name_is_refused() {
    for text in ["localhost", "localhost:", ":1", "localhost:port", "a b", ""] {
        let error = lookup_host(text).now_or_never().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text}");
    }
    let none: Vec<SocketAddr> = Vec::new();
    let error = lookup_host(none).now_or_never().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

/// What a panic may carry: it panics itself when it is dropped.
struct Second;

impl Drop for Second {
    fn drop(&mut self) {
        panic!("what a waker panicked with panics, as the test wants it to");
    }
}

/// Tells that it was woken, and panics.
struct Panics(Sender<()>);

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        self.0.send(()).unwrap();
        panic_any(Second);
    }
}

#[test]
fn threads_outlive_wakers_that_panic() {
    let (sender, woken) = mpsc::channel();
    let waker = Waker::from(Arc::new(Panics(sender)));
    // More than there are threads; some lookups may be so fast that they need no waker.
    let mut left = 20;
    for port in 1..=2000 {
        let mut lookup = pin!(lookup_host(("localhost", port)));
        let polled = lookup.as_mut().poll(&mut Context::from_waker(&waker));
        if polled.is_pending() {
            woken.recv_timeout(LIMIT).unwrap();
            left -= 1;
        }
        if left == 0 {
            break;
        }
    }
    assert_eq!(left, 0, "hardly a lookup has waited");
    assert!(run(timeout(LIMIT, lookup_host(("localhost", 1)))).is_ok_and(|found| found.is_ok()));
}
