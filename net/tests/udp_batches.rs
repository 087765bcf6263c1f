//! Batches of datagrams in one call, and what may go with each of them.

mod common;

use common::udp::{connected, connected_to_nobody};
use common::{Count, MOMENT, has_v6, locals, run, unless_lacking};
use futures::future::join;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll, Waker};
use windlass_net::{Inbound, Outbound, UdpSocket};
use windlass_reactor::budget::Budget;
use windlass_reactor::time::timeout;

/// Sends all of a batch, in as many calls as that takes.
async fn send_all(socket: &UdpSocket, mut datagrams: &[Outbound<'_>]) {
    while !datagrams.is_empty() {
        let count = socket.send_many(datagrams).await.unwrap();
        assert!(count > 0);
        datagrams = &datagrams[count..];
    }
}

#[test]
fn batches_come_in_order_and_truncation_is_told_of_each() {
    run(async {
        for local in locals() {
            let sender = UdpSocket::bind(local).await.unwrap();
            let receiver = UdpSocket::bind(local).await.unwrap();
            let there = receiver.local_addr().unwrap();
            // More than one call takes; of lengths from 0 to beyond the space.
            let all = (0..100).map(|n| vec![n as u8; n % 12]).collect::<Vec<_>>();
            let outbound = all.iter().map(|bytes| Outbound::new(bytes).to(there));
            let outbound = outbound.collect::<Vec<_>>();
            let mut spaces = [[0; 10]; 40];
            let mut next = 0;
            let receiving = async {
                while next < all.len() {
                    let mut places = spaces.each_mut().map(|space| Inbound::new(space));
                    let count = receiver.recv_many(&mut places).await.unwrap();
                    assert!((1..=32).contains(&count));
                    for place in &places[..count] {
                        let expected = &all[next];
                        assert_eq!(place.bytes(), &expected[..expected.len().min(10)]);
                        assert_eq!(place.received().truncated, expected.len() > 10);
                        assert_eq!(place.received().length, place.bytes().len());
                        assert_eq!(place.from(), Some(sender.local_addr().unwrap()));
                        assert_eq!((place.to(), place.tos()), (None, None));
                        assert_eq!(place.segments().count(), 1);
                        next += 1;
                    }
                    assert_eq!(places.get(count).and_then(Inbound::from), None);
                }
            };
            join(receiving, send_all(&sender, &outbound)).await;
            let mut space = [0; 8];
            let none = receiver.try_recv_many(&mut [Inbound::new(&mut space)]);
            assert_eq!(none.unwrap_err().kind(), ErrorKind::WouldBlock);
            assert_eq!(receiver.recv_many(&mut []).await.unwrap(), 0);
            assert_eq!(sender.send_many(&[]).await.unwrap(), 0);
        }
    });
}

/// What went before a datagram that can't go is counted, and the rest isn't given up.
#[test]
fn a_batch_goes_as_far_as_it_can() {
    run(async {
        for local in locals() {
            let (a, b) = connected(local).await;
            let long = vec![0; 70_000];
            let batch = [&b"one"[..], &long, b"three"].map(Outbound::new);
            assert_eq!(a.send_many(&batch).await.unwrap(), 1);
            let error = a.try_send_many(&batch[1..]).unwrap_err();
            let expected = rustix::io::Errno::MSGSIZE.raw_os_error();
            assert_eq!(error.raw_os_error(), Some(expected));
            assert_eq!(a.send_many(&batch[2..]).await.unwrap(), 1);
            let mut space = [0; 8];
            for length in [3, 5] {
                assert_eq!(b.recv(&mut space).await.unwrap().length, length);
            }
        }
    });
}

/// A refusal is told once for batches, too.
#[test]
fn a_refusal_is_told_once_for_batches() {
    run(async {
        for local in locals() {
            let (socket, _) = connected_to_nobody(local).await;
            let mut space = [0; 8];
            let mut places = [Inbound::new(&mut space)];
            let sending = async {
                windlass_reactor::time::sleep(MOMENT).await;
                let batch = [Outbound::new(b"anybody?")];
                assert_eq!(socket.send_many(&batch).await.unwrap(), 1);
            };
            let (told, ()) = join(socket.recv_many(&mut places), sending).await;
            assert_eq!(told.unwrap_err().kind(), ErrorKind::ConnectionRefused);
            let again = timeout(MOMENT, socket.recv_many(&mut places)).await;
            assert!(again.is_err());
        }
    });
}

#[test]
fn batches_are_polled_by_hand() {
    run(async {
        let (a, b) = connected("127.0.0.1:0".parse().unwrap()).await;
        let (count, waker) = Count::waker();
        let mut context = Context::from_waker(&waker);
        let mut space = [0; 8];
        let mut places = [Inbound::new(&mut space)];
        assert!(b.poll_recv_many(&mut context, &mut places).is_pending());
        let Poll::Ready(Ok(1)) = a.poll_send_many(&mut context, &[Outbound::new(b"one")]) else {
            panic!("there is room");
        };
        common::wait_until(|| count.get() > 0);
        assert!(b.poll_recv_many(&mut context, &mut places).is_ready());
        assert_eq!(places[0].bytes(), b"one");
    });
}

/// Each datagram of a batch counts, and so do the bytes of one that is long: a task that has done its
/// share gives way, whatever is there.
#[test]
fn batches_and_long_datagrams_take_from_the_budget() {
    run(async {
        let (a, b) = connected("127.0.0.1:0".parse().unwrap()).await;
        let mut context = Context::from_waker(Waker::noop());
        let batch = [Outbound::new(b"one"); 20];
        Budget::of(30).scope(|| {
            // 20 of 30, and what is left is enough to begin.
            for _ in 0..2 {
                assert!(a.poll_send_many(&mut context, &batch).is_ready());
            }
            assert!(a.poll_send_many(&mut context, &batch).is_pending());
        });
        Budget::of(30).scope(|| {
            let mut received = 0;
            while received < 30 {
                let mut spaces = [[0; 8]; 20];
                let mut places = spaces.each_mut().map(|space| Inbound::new(space));
                match b.poll_recv_many(&mut context, &mut places) {
                    Poll::Ready(count) => received += count.unwrap(),
                    Poll::Pending => panic!("30 are there, and {received} were received"),
                }
            }
            let mut space = [0; 8];
            assert!(b.poll_recv(&mut context, &mut space).is_pending());
        });
        let long = vec![7; 40_000];
        let mut space = vec![0; long.len()];
        while b.try_recv(&mut space).is_ok() {}
        Budget::of(5).scope(|| {
            assert!(a.poll_send(&mut context, &long).is_ready());
            assert!(a.poll_send(&mut context, &long).is_pending());
        });
        a.send(b"short").await.unwrap();
        b.readable().await.unwrap();
        Budget::of(5).scope(|| {
            assert!(b.poll_recv(&mut context, &mut space).is_ready());
            assert!(b.poll_recv(&mut context, &mut space).is_pending());
        });
    });
}

/// A server on all addresses learns which one was asked, and answers from there.
#[test]
fn a_request_is_answered_from_where_it_was_sent_to() {
    run(async {
        let mut asked = vec![("0.0.0.0:0", "127.0.0.1"), ("0.0.0.0:0", "127.0.0.3")];
        if has_v6() {
            asked.extend([("[::]:0", "::1"), ("[::]:0", "127.0.0.3")]);
        }
        for (everywhere, address) in asked {
            let everywhere = everywhere.parse::<SocketAddr>().unwrap();
            let address = address.parse::<IpAddr>().unwrap();
            let server = UdpSocket::for_address(everywhere).unwrap();
            if everywhere.is_ipv6() {
                server.set_only_v6(false).unwrap();
            }
            server.bind_to(everywhere).unwrap();
            if !unless_lacking("PKTINFO", server.set_packet_info(true)) {
                return;
            }
            let there = SocketAddr::new(address, server.local_addr().unwrap().port());
            let client = UdpSocket::for_address(there).unwrap();
            // A connected socket takes the answer only if it comes from there.
            client.connect(there).await.unwrap();
            client.send(b"question").await.unwrap();

            let mut space = [0; 64];
            let mut places = [Inbound::new(&mut space)];
            assert_eq!(server.recv_many(&mut places).await.unwrap(), 1);
            assert_eq!(places[0].to(), Some(address));
            assert_eq!(places[0].interface(), Some(1));
            let source = match (everywhere, address) {
                (SocketAddr::V6(_), IpAddr::V4(address)) => address.to_ipv6_mapped().into(),
                _ => address,
            };
            let answer = Outbound::new(b"answer");
            let answer = answer.to(places[0].from().unwrap()).source(source);
            assert_eq!(server.send_many(&[answer]).await.unwrap(), 1);
            assert_eq!(client.recv(&mut [0; 64]).await.unwrap().length, 6);
        }
    });
}

#[test]
fn congestion_is_told() {
    run(async {
        for local in locals() {
            let (a, b) = connected(local).await;
            if !unless_lacking("IP", b.set_recv_tos(true)) {
                return;
            }
            a.set_tos(0b10).unwrap();
            let batch = [
                Outbound::new(b"as set"),
                Outbound::new(b"congested").tos(0b11),
                Outbound::new(b"with a class").tos(0b1010_0001),
                Outbound::new(b"as set"),
            ];
            assert_eq!(a.send_many(&batch).await.unwrap(), batch.len());
            let mut spaces = [[0; 64]; 4];
            let mut places = spaces.each_mut().map(|space| Inbound::new(space));
            assert_eq!(b.recv_many(&mut places).await.unwrap(), 4);
            let told = places.map(|place| place.tos().unwrap());
            assert_eq!(told, [0b10, 0b11, 0b1010_0001, 0b10]);
        }
    });
}

/// One send becomes several datagrams, and several may be received as one.
#[test]
fn segments_are_cut_and_joined() {
    run(async {
        for local in locals() {
            for joined in [false, true] {
                let (a, b) = connected(local).await;
                if !unless_lacking("UDP_GRO", b.set_gro(joined)) {
                    return;
                }
                let bytes = common::pattern(1000);
                let batch = [Outbound::new(&bytes).segments(300)];
                assert_eq!(a.send_many(&batch).await.unwrap(), 1);
                a.send(b"").await.unwrap();
                let mut got = Vec::new();
                let mut space = vec![0; 1 << 16];
                let mut datagrams = 0;
                while got.len() < 5 {
                    let mut places = [Inbound::new(&mut space)];
                    assert_eq!(b.recv_many(&mut places).await.unwrap(), 1);
                    got.extend(places[0].segments().map(Vec::from));
                    datagrams += 1;
                }
                let lengths = got.iter().map(Vec::len).collect::<Vec<_>>();
                assert_eq!(lengths, [300, 300, 300, 100, 0]);
                assert_eq!(got.concat(), bytes);
                assert_eq!(datagrams, if joined { 2 } else { 5 });
            }
        }
    });
}
