//! Datagrams that failed, kept for who asks for them.

mod common;

use common::udp::{connected, connected_to_nobody};
use common::{MOMENT, locals, run, unless_lacking};
use futures::future::join;
use std::future::{Future, poll_fn};
use std::io::ErrorKind;
use std::pin::pin;
use windlass_net::UdpSocket;
use windlass_reactor::time::timeout;

/// What failed is kept with whom it was for, and a socket that serves many goes on.
#[test]
fn what_failed_is_kept_and_the_socket_goes_on() {
    run(async {
        for local in locals() {
            let server = UdpSocket::bind(local).await.unwrap();
            if !unless_lacking("RECVERR", server.set_keep_failed(true)) {
                return;
            }
            let mut space = [0; 64];
            assert!(server.take_failed(&mut space).unwrap().is_none());
            let (client, gone) = connected_to_nobody(local).await;
            let sending = async {
                windlass_reactor::time::sleep(MOMENT).await;
                server.send_to(b"lost answer", gone).await.unwrap();
            };
            let (told, ()) = join(server.recv_from(&mut space), sending).await;
            assert_eq!(told.unwrap_err().kind(), ErrorKind::ConnectionRefused);
            let mut small = [0; 4];
            let failed = server.take_failed(&mut small).unwrap().unwrap();
            assert_eq!(failed.error().kind(), ErrorKind::ConnectionRefused);
            assert_eq!(failed.to(), Some(gone));
            assert_eq!(failed.offender(), Some(gone.ip()));
            let unreachable_port = if gone.is_ipv4() { (3, 3) } else { (1, 4) };
            assert_eq!(failed.icmp(), Some(unreachable_port));
            assert_eq!(failed.mtu(), None);
            assert_eq!(&small[..failed.received().length], b"lost");
            assert!(failed.received().truncated);
            assert!(server.take_failed(&mut small).unwrap().is_none());

            client.connect(server.local_addr().unwrap()).await.unwrap();
            client.send(b"question").await.unwrap();
            assert_eq!(server.recv(&mut space).await.unwrap().length, 8);
        }
    });
}

/// Failures that nobody takes don't make waits end for nothing, where an error that is not read
/// is reported over and over.
#[test]
fn what_is_not_taken_does_not_spin() {
    run(async {
        for local in locals() {
            let server = UdpSocket::bind(local).await.unwrap();
            if !unless_lacking("RECVERR", server.set_keep_failed(true)) {
                return;
            }
            let (client, gone) = connected_to_nobody(local).await;
            let (mut space, mut small) = ([0; 64], [0; 64]);
            for _ in 0..2 {
                server.send_to(b"lost", gone).await.unwrap();
                let told = server.recv_from(&mut space).await.unwrap_err();
                assert_eq!(told.kind(), ErrorKind::ConnectionRefused);
            }
            let mut polls = 0;
            let mut receiving = pin!(server.recv_from(&mut space));
            let counting = poll_fn(|context| {
                polls += 1;
                receiving.as_mut().poll(context)
            });
            assert!(timeout(4 * MOMENT, counting).await.is_err());
            assert!(polls <= 4, "it was polled {polls} times while nothing came");

            client.connect(server.local_addr().unwrap()).await.unwrap();
            client.send(b"question").await.unwrap();
            assert_eq!(receiving.await.unwrap().0.length, 8);
            for _ in 0..2 {
                let failed = server.take_failed(&mut small).unwrap().unwrap();
                assert_eq!(failed.to(), Some(gone));
                assert_eq!(&small[..failed.received().length], b"lost");
            }
            assert!(server.take_failed(&mut small).unwrap().is_none());
        }
    });
}

/// Of failures that nobody takes some are kept, and each is told of.
#[test]
fn failures_that_nobody_takes_are_bounded() {
    run(async {
        let local = "127.0.0.1:0".parse().unwrap();
        let server = UdpSocket::bind(local).await.unwrap();
        if !unless_lacking("RECVERR", server.set_keep_failed(true)) {
            return;
        }
        let (_client, gone) = connected_to_nobody(local).await;
        let mut space = [0; 64];
        for _ in 0..100 {
            server.send_to(b"lost", gone).await.unwrap();
            assert!(server.recv(&mut space).await.is_err());
        }
        let mut small = [0; 2];
        for _ in 0..64 {
            let failed = server.take_failed(&mut small).unwrap().unwrap();
            assert!(failed.received().truncated);
            assert_eq!(&small[..failed.received().length], b"lo");
        }
        assert!(server.take_failed(&mut space).unwrap().is_none());
        server.send_to(b"lost", gone).await.unwrap();
        assert!(server.recv(&mut space).await.is_err());
        server.set_keep_failed(false).unwrap();
        assert!(server.take_failed(&mut space).unwrap().is_none());
    });
}

/// A queue of failures takes nothing from those who wait for datagrams.
#[test]
fn looking_for_failures_disturbs_nobody() {
    run(async {
        let (a, b) = connected("127.0.0.1:0".parse().unwrap()).await;
        if !unless_lacking("IP_RECVERR", b.set_keep_failed(true)) {
            return;
        }
        let mut space = [0; 64];
        assert!(timeout(MOMENT, b.recv(&mut space)).await.is_err());
        for _ in 0..20 {
            a.send(b"one").await.unwrap();
            b.readable().await.unwrap();
            assert!(b.take_failed(&mut space).unwrap().is_none());
            assert_eq!(b.recv(&mut space).await.unwrap().length, 3);
        }
    });
}
