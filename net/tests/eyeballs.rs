//! Connecting to several addresses at once, with options, by resolvers of one's own.

mod common;

use common::{LIMIT, MOMENT, has_v6, listen, open_descriptors, run, silent};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use windlass_net::{
    ConnectError, Connector, LookingUp, LookupError, Resolver, SystemResolver, TcpListener,
    TcpStream, lookup_host_by,
};
use windlass_reactor::time::timeout;

/// Knows one host, by the name `host`.
struct Known(Vec<SocketAddr>);

impl Resolver for Known {
    fn look_up<'a>(&'a self, host: &'a str, port: u16) -> LookingUp<'a> {
        Box::pin(async move {
            if host != "host" {
                return Err(io::Error::from(ErrorKind::NotFound));
            }
            let with_port = |address: &SocketAddr| SocketAddr::new(address.ip(), port);
            Ok(self.0.iter().map(with_port).collect())
        })
    }
}

/// An address that does not answer costs the delay, not the minutes that the system would wait.
#[test]
fn an_address_that_does_not_answer_is_not_waited_for() {
    run(async {
        let (_listener, _waiting, silent) = silent("127.0.0.1:0");
        let live = listen().await;
        let began = Instant::now();
        let addresses = [silent, live.local_addr().unwrap()];
        let stream = TcpStream::connect(addresses).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), addresses[1]);
        assert!(began.elapsed() >= Duration::from_millis(240));
    });
}

#[test]
fn the_other_family_is_tried_next() {
    if !has_v6() {
        return;
    }
    run(async {
        let (_listener, _waiting, silent) = silent("[::1]:0");
        // Two of the first family come before the other one, which is tried second all the same.
        let (_second_listener, _second_waiting, second) = common::silent("[::1]:0");
        let live = listen().await.local_addr().unwrap();
        let live = TcpListener::bind(live).await.unwrap();
        let delay = Duration::from_millis(50);
        let connector = Connector::new().attempt_delay(delay);
        let began = Instant::now();
        let addresses = [silent, second, live.local_addr().unwrap()];
        let stream = connector.connect(addresses).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), addresses[2]);
        assert!(began.elapsed() >= delay);
    });
}

/// A failure is no reason to wait for the delay.
#[test]
fn a_refusal_has_the_next_tried_at_once() {
    run(async {
        let refusing = listen().await.local_addr().unwrap();
        let live = listen().await;
        let connector = Connector::new().attempt_delay(Duration::MAX);
        let addresses = [refusing, refusing, live.local_addr().unwrap()];
        let stream = connector.connect(addresses).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), addresses[2]);
    });
}

/// The loser may come first in the end: it still is closed.
#[test]
fn the_attempts_that_lost_are_closed() {
    if !common::is_child() {
        return common::assert_passes_in_child("the_attempts_that_lost_are_closed");
    }
    run(async {
        let (_listener, _waiting, silent) = silent("127.0.0.1:0");
        let live = listen().await;
        let connector = Connector::new().attempt_delay(MOMENT / 10);
        let addresses = [silent, silent, live.local_addr().unwrap()];
        let connect = async || {
            let client = connector.connect(addresses).await.unwrap();
            let (server, _) = live.accept().await.unwrap();
            drop((client, server));
        };
        connect().await;
        let before = open_descriptors();
        for _ in 0..5 {
            connect().await;
        }
        // So are those that are given up.
        for _ in 0..5 {
            let given_up = timeout(MOMENT, connector.connect([silent, silent])).await;
            assert!(given_up.is_err());
        }
        assert_eq!(open_descriptors(), before);
    });
}

#[test]
fn a_limit_ends_it_and_names_all() {
    run(async {
        let (_listener, _waiting, silent) = silent("127.0.0.1:0");
        let refusing = listen().await.local_addr().unwrap();
        let connector = Connector::new().timeout(MOMENT * 3);
        for addresses in [&[silent][..], &[refusing, silent], &[silent, refusing]] {
            let error = connector.connect(addresses).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            for address in addresses {
                assert!(error.to_string().contains(&address.to_string()), "{error}");
            }
            let error = error.get_ref().unwrap().downcast_ref::<ConnectError>();
            assert_eq!(error.unwrap().failures().count(), addresses.len());
        }
        let endless = Connector::new().timeout(Duration::MAX);
        let live = listen().await;
        endless.connect(live.local_addr().unwrap()).await.unwrap();
    });
}

#[test]
fn it_connects_from_the_address_it_is_told() {
    run(async {
        let listener = listen().await;
        let address = listener.local_addr().unwrap();
        // All of 127/8 is this machine's on Linux; elsewhere only the first is sure to be.
        let here = if cfg!(target_os = "linux") {
            "127.0.0.2:0"
        } else {
            "127.0.0.1:0"
        };
        let here: SocketAddr = here.parse().unwrap();
        let connector = Connector::new().local_address(here);
        let _stream = connector.connect(address).await.unwrap();
        let (_, peer) = listener.accept().await.unwrap();
        assert_eq!(peer.ip(), here.ip());

        let of_other_family = Connector::new().local_address("[::1]:0".parse().unwrap());
        let error = of_other_family.connect(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);

        // An address that can't be had is told.
        let taken = Connector::new().local_address(address);
        let error = taken.connect(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
    });
}

#[test]
fn each_socket_is_prepared() {
    run(async {
        let refusing = listen().await.local_addr().unwrap();
        let live = listen().await;
        let prepared = Arc::new(AtomicUsize::new(0));
        let count = prepared.clone();
        let connector = Connector::new().prepare(move |socket| {
            count.fetch_add(1, Ordering::SeqCst);
            socket.set_nodelay(true)
        });
        let addresses = [refusing, live.local_addr().unwrap()];
        let stream = connector.connect(addresses).await.unwrap();
        assert!(stream.nodelay().unwrap());
        assert_eq!(prepared.load(Ordering::SeqCst), 2);

        let failing = Connector::new().prepare(|_| Err(ErrorKind::PermissionDenied.into()));
        let error = failing.connect(addresses[1]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    });
}

#[test]
fn a_resolver_of_ones_own_is_asked_for_names_only() {
    run(async {
        let live = listen().await;
        let port = live.local_addr().unwrap().port();
        let known = Known(vec!["127.0.0.1:0".parse().unwrap()]);
        let connector = Connector::new().resolver(known);
        for host in ["host", "127.0.0.1"] {
            let stream = connector.connect((host, port)).await.unwrap();
            assert_eq!(stream.peer_addr().unwrap(), live.local_addr().unwrap());
        }
        let error = connector.connect("elsewhere:80").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let inner = error.get_ref().unwrap().downcast_ref::<LookupError>();
        assert_eq!(inner.unwrap().host(), "elsewhere");

        let nothing = lookup_host_by(&Known(Vec::new()), "host:80").await;
        assert_eq!(nothing.unwrap_err().kind(), ErrorKind::NotFound);
        let found = lookup_host_by(&SystemResolver, "localhost:80")
            .await
            .unwrap();
        assert!(found.iter().all(|address| address.ip().is_loopback()));
    });
}

/// They may be awaited by tasks that move between threads.
#[test]
fn what_connects_is_send() {
    fn assert_send(_: impl Send) {}
    assert_send(TcpStream::connect("host:80"));
    assert_send(Connector::new().connect(vec![]));
    assert_send(lookup_host_by(&SystemResolver, "host:80"));
}

/// The limit is for the look-up, too, and ends it.
#[test]
fn a_look_up_is_cancelled() {
    struct Never(Arc<AtomicBool>);
    struct Told(Arc<AtomicBool>);

    impl Drop for Told {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    impl Resolver for Never {
        fn look_up<'a>(&'a self, _: &'a str, _: u16) -> LookingUp<'a> {
            let told = Told(self.0.clone());
            Box::pin(async move {
                let _told = told;
                std::future::pending().await
            })
        }
    }

    run(async {
        let is_dropped = Arc::new(AtomicBool::new(false));
        let never = Never(is_dropped.clone());
        let connector = Connector::new().resolver(never).timeout(MOMENT);
        let began = Instant::now();
        let error = connector.connect("host:80").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(began.elapsed() < LIMIT && is_dropped.load(Ordering::SeqCst));
    });
}
