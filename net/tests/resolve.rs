//! Looking names up, on threads that no executor knows of.

mod common;

use common::run;
use futures::FutureExt;
use futures::future::join_all;
use std::error::Error;
use std::io::ErrorKind;
use std::net::{Ipv6Addr, SocketAddr};
use windlass_net::{LookupError, lookup_host};

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

/// E30: the zone of an address may be given by its name, which the system knows.
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
