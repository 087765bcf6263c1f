//! UDP sockets, for IPv4 and IPv6.

mod common;

use common::{Count, MOMENT, has_v6, run};
use futures::future::join;
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use windlass_net::{BindError, Inbound, Outbound, UdpSocket};
use windlass_reactor::time::timeout;

/// Addresses of this machine, of each family that it has.
fn locals() -> impl Iterator<Item = SocketAddr> {
    let v6 = has_v6().then(|| "[::1]:0".parse().unwrap());
    std::iter::once("127.0.0.1:0".parse().unwrap()).chain(v6)
}

/// Two sockets that are connected to each other.
async fn connected(local: SocketAddr) -> (UdpSocket, UdpSocket) {
    let a = UdpSocket::bind(local).await.unwrap();
    let b = UdpSocket::bind(local).await.unwrap();
    a.connect(b.local_addr().unwrap()).await.unwrap();
    b.connect(a.local_addr().unwrap()).await.unwrap();
    (a, b)
}

/// A socket, and another that is connected to where nobody is any more.
async fn connected_to_nobody(local: SocketAddr) -> (UdpSocket, SocketAddr) {
    let gone = UdpSocket::bind(local).await.unwrap();
    let address = gone.local_addr().unwrap();
    let socket = UdpSocket::bind(local).await.unwrap();
    socket.connect(address).await.unwrap();
    (socket, address)
}

/// Passes over an option that this system lacks, if the error names it.
#[track_caller]
fn unless_lacking(option: &str, done: io::Result<()>) -> bool {
    match done {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{option}: {error}");
            assert!(error.to_string().contains(option), "{error}");
            false
        }
    }
}

#[test]
fn whoever_waits_gets_the_datagram_and_its_sender() {
    run(async {
        for local in locals() {
            let server = UdpSocket::bind(local).await.unwrap();
            let client = UdpSocket::bind(local).await.unwrap();
            let here = client.local_addr().unwrap();
            let there = server.local_addr().unwrap();
            let mut space = [0; 64];
            let sending = async {
                windlass_reactor::time::sleep(MOMENT).await;
                assert_eq!(client.send_to(b"hello", there).await.unwrap(), 5);
            };
            let (got, ()) = join(server.recv_from(&mut space), sending).await;
            let (received, from) = got.unwrap();
            assert_eq!((received.length, received.truncated), (5, false));
            assert_eq!((&space[..5], from), (&b"hello"[..], here));
        }
    });
}

#[test]
fn a_connected_socket_hears_of_its_peer_only() {
    run(async {
        for local in locals() {
            let (a, b) = connected(local).await;
            assert_eq!(a.peer_addr().unwrap(), b.local_addr().unwrap());
            let stranger = UdpSocket::bind(local).await.unwrap();
            let told = stranger.peer_addr().unwrap_err();
            assert_eq!(told.kind(), ErrorKind::NotConnected);
            let address = a.local_addr().unwrap();
            stranger.send_to(b"stranger", address).await.unwrap();
            b.send(b"peer").await.unwrap();
            let mut space = [0; 64];
            let received = a.recv(&mut space).await.unwrap();
            assert_eq!(&space[..received.length], b"peer");
            let none = a.try_recv(&mut space).unwrap_err();
            assert_eq!(none.kind(), ErrorKind::WouldBlock);
        }
    });
}

/// E17: what doesn't fit is told to be lost, and what comes next is whole.
#[test]
fn truncation_is_told() {
    run(async {
        for local in locals() {
            let (a, b) = connected(local).await;
            let mut space = [0; 10];
            for (length, truncated) in [(100, true), (10, false), (11, true), (9, false)] {
                a.send(&vec![7; length]).await.unwrap();
                let peeked = b.peek(&mut space).await.unwrap();
                assert_eq!(peeked.length, length.min(10));
                assert_eq!(peeked.truncated, truncated);
                assert_eq!(b.peek_from(&mut space).await.unwrap().0, peeked);
                let (received, from) = b.recv_from(&mut space).await.unwrap();
                assert_eq!(received, peeked);
                assert_eq!(from, a.local_addr().unwrap());
            }
            a.send(b"no space at all").await.unwrap();
            let received = b.recv(&mut []).await.unwrap();
            assert_eq!((received.length, received.truncated), (0, true));
        }
    });
}

/// An empty datagram is one like any other, and not the end.
#[test]
fn empty_datagrams_are_datagrams() {
    run(async {
        for local in locals() {
            let (a, b) = connected(local).await;
            assert_eq!(a.send(b"").await.unwrap(), 0);
            a.send(b"after").await.unwrap();
            a.send(b"").await.unwrap();
            let mut space = [0; 64];
            let lengths = [0, 5, 0];
            for length in lengths {
                let received = b.recv(&mut space).await.unwrap();
                assert_eq!((received.length, received.truncated), (length, false));
            }
            assert!(timeout(MOMENT, b.recv(&mut space)).await.is_err());
        }
    });
}

/// A read that leaves room behind it hasn't taken all there is.
#[test]
fn small_datagrams_that_came_together_are_all_received() {
    run(async {
        let (a, b) = connected("127.0.0.1:0".parse().unwrap()).await;
        let mut space = [0; 1500];
        // The first wait has it registered, so that the rest goes by edges.
        assert!(timeout(MOMENT, b.recv(&mut space)).await.is_err());
        for number in 0..50 {
            a.send(&[number]).await.unwrap();
        }
        for number in 0..50 {
            let received = b.recv(&mut space).await.unwrap();
            assert_eq!((received.length, space[0]), (1, number));
        }
    });
}

/// E14: that nobody is there is told once, to whoever waits, and the socket goes on.
#[test]
fn a_refusal_is_told_once() {
    run(async {
        for local in locals() {
            let (socket, address) = connected_to_nobody(local).await;
            let mut space = [0; 64];
            // Waits before the refusal comes, and after.
            for waits in [true, false] {
                let sending = async {
                    if waits {
                        windlass_reactor::time::sleep(MOMENT).await;
                    }
                    socket.send(b"anybody?").await.unwrap();
                };
                let (told, ()) = join(socket.recv(&mut space), sending).await;
                assert_eq!(told.unwrap_err().kind(), ErrorKind::ConnectionRefused);
                assert!(timeout(MOMENT, socket.recv(&mut space)).await.is_err());
            }
            let peer = UdpSocket::bind(address).await.unwrap();
            socket.send(b"now").await.unwrap();
            let (received, from) = peer.recv_from(&mut space).await.unwrap();
            assert_eq!(&space[..received.length], b"now");
            peer.send_to(b"yes", from).await.unwrap();
            assert_eq!(socket.recv(&mut space).await.unwrap().length, 3);
        }
    });
}

/// A refusal that nobody received is told to who sends next, once.
#[test]
fn a_refusal_is_told_to_who_sends() {
    run(async {
        for local in locals() {
            let (socket, _) = connected_to_nobody(local).await;
            socket.send(b"anybody?").await.unwrap();
            // On the loopback the answer is there when sending returns.
            let told = socket.send(b"anybody?").await.unwrap_err();
            assert_eq!(told.kind(), ErrorKind::ConnectionRefused);
            socket.send(b"anybody?").await.unwrap();
            let pending = socket.take_error().unwrap();
            assert_eq!(pending.unwrap().kind(), ErrorKind::ConnectionRefused);
            assert!(socket.take_error().unwrap().is_none());
        }
    });
}

/// E14: a server that answers somebody who is gone hears nothing of it.
#[test]
fn a_server_outlives_its_clients() {
    run(async {
        for local in locals() {
            let server = UdpSocket::bind(local).await.unwrap();
            let (client, gone) = connected_to_nobody(local).await;
            client.connect(server.local_addr().unwrap()).await.unwrap();
            for _ in 0..3 {
                server.send_to(b"answer", gone).await.unwrap();
            }
            let mut space = [0; 64];
            assert!(timeout(MOMENT, server.recv(&mut space)).await.is_err());
            client.send(b"question").await.unwrap();
            assert_eq!(server.recv(&mut space).await.unwrap().length, 8);
        }
    });
}

/// E12: that an address is taken is told, with the address.
#[test]
fn an_address_that_is_taken_is_told() {
    run(async {
        for local in locals() {
            let first = UdpSocket::bind(local).await.unwrap();
            let taken = first.local_addr().unwrap();
            let error = UdpSocket::bind(taken).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AddrInUse);
            let error = error.get_ref().unwrap().downcast_ref::<BindError>();
            assert_eq!(error.unwrap().address(), taken);
            // The next address is free.
            let second = UdpSocket::bind([taken, local]).await.unwrap();
            assert_ne!(second.local_addr().unwrap(), taken);
        }
    });
}

#[test]
fn a_socket_that_was_not_bound_gets_an_address_when_it_connects() {
    run(async {
        for local in locals() {
            let server = UdpSocket::bind(local).await.unwrap();
            let client = UdpSocket::for_address(local).unwrap();
            let there = server.local_addr().unwrap();
            // An IPv4 socket has no way to the first.
            let elsewhere = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], there.port()));
            let there = match local.is_ipv4() {
                true => vec![elsewhere, there],
                false => vec![there],
            };
            client.connect(there).await.unwrap();
            client.send(b"hello").await.unwrap();
            let (_, from) = server.recv_from(&mut [0; 64]).await.unwrap();
            assert_eq!(from, client.local_addr().unwrap());
        }
        let none = UdpSocket::new_v4().unwrap();
        let error = none.connect(Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn what_is_too_long_is_refused_and_the_socket_goes_on() {
    run(async {
        for local in locals() {
            let (a, b) = connected(local).await;
            let error = a.send(&vec![0; 70_000]).await.unwrap_err();
            assert_eq!(
                error.raw_os_error(),
                Some(rustix::io::Errno::MSGSIZE.raw_os_error())
            );
            a.send(b"short").await.unwrap();
            assert_eq!(b.recv(&mut [0; 64]).await.unwrap().length, 5);
        }
    });
}

/// E13: a socket of std doesn't hold up the thread.
#[test]
fn sockets_of_std_are_taken_and_given_back() {
    run(async {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::from_std(socket).unwrap();
        assert!(timeout(MOMENT, socket.recv(&mut [0; 8])).await.is_err());
        let given_back = socket.into_std().unwrap();
        let error = given_back.recv(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    });
}

#[test]
fn polling_by_hand_wakes_and_trying_does_not_wait() {
    run(async {
        let (a, b) = connected("127.0.0.1:0".parse().unwrap()).await;
        let (count, waker) = Count::waker();
        let mut context = Context::from_waker(&waker);
        let mut space = [0; 64];
        assert!(b.poll_recv(&mut context, &mut space).is_pending());
        assert!(a.poll_writable(&mut context).is_ready());
        let Poll::Ready(Ok(4)) = a.poll_send(&mut context, b"poll") else {
            panic!("there is room");
        };
        common::wait_until(|| count.get() > 0);
        assert!(b.poll_peek_from(&mut context, &mut space).is_ready());
        assert_eq!(b.try_peek(&mut space).unwrap().length, 4);
        assert_eq!(b.try_peek_from(&mut space).unwrap().0.length, 4);
        let Poll::Ready(Ok((received, from))) = b.poll_recv_from(&mut context, &mut space) else {
            panic!("a datagram is there");
        };
        assert_eq!(
            (received.length, from),
            (4, b.peer_addr().unwrap()),
            "{received:?}"
        );
        assert!(b.poll_readable(&mut context).is_pending() || b.try_recv(&mut space).is_err());
        assert_eq!(a.try_send(b"try").unwrap(), 3);
        b.readable().await.unwrap();
        assert_eq!(b.try_recv_from(&mut space).unwrap().0.length, 3);
        a.writable().await.unwrap();
    });
}

/// One task sends while another receives, and a wait that is given up loses no datagram.
#[test]
fn a_wait_given_up_loses_nothing() {
    run(async {
        let (a, b) = connected("127.0.0.1:0".parse().unwrap()).await;
        let mut space = [0; 8];
        for number in 0..100_u8 {
            {
                let mut waiting = std::pin::pin!(b.recv(&mut space));
                assert!(futures::poll!(waiting.as_mut()).is_pending());
                a.send(&[number]).await.unwrap();
            }
            assert_eq!(b.recv(&mut space).await.unwrap().length, 1);
            assert_eq!(space[0], number);
        }
    });
}

/// B31: readable and writable at once, and whoever is woken first drops the socket.
#[test]
fn a_socket_may_go_while_it_is_ready() {
    run(async {
        for _ in 0..20 {
            let (a, b) = connected("127.0.0.1:0".parse().unwrap()).await;
            let b = Arc::new(b);
            let other = b.clone();
            let receiving = async move {
                other.recv(&mut [0; 8]).await.unwrap();
                drop(other);
            };
            let sending = async move {
                b.writable().await.unwrap();
                drop(b);
                a.send(b"go").await.unwrap();
            };
            join(receiving, sending).await;
        }
    });
}

#[test]
fn options_are_set_and_told() {
    run(async {
        for local in locals() {
            let socket = UdpSocket::for_address(local).unwrap();
            socket.set_reuse_address(true).unwrap();
            assert!(socket.reuse_address().unwrap());
            if unless_lacking("SO_REUSEPORT", socket.set_reuse_port(true)) {
                assert!(socket.reuse_port().unwrap());
            }
            socket.bind_to(local).unwrap();
            let again = socket.bind_to(local).unwrap_err();
            assert_eq!(again.kind(), ErrorKind::InvalidInput);
            socket.set_broadcast(true).unwrap();
            assert!(socket.broadcast().unwrap());
            socket.set_ttl(42).unwrap();
            assert_eq!(socket.ttl().unwrap(), 42);
            socket.set_receive_buffer_size(50_000).unwrap();
            let told = socket.receive_buffer_size().unwrap();
            assert!((50_000..=100_000).contains(&told));
            if unless_lacking("IP", socket.set_tos(0b1010_0010)) {
                assert_eq!(socket.tos().unwrap(), 0b1010_0010);
                assert_eq!(socket.dscp().unwrap(), 0b10_1000);
            }
            socket.set_multicast_loop(false).unwrap();
            assert!(!socket.multicast_loop().unwrap());
            socket.set_multicast_ttl(7).unwrap();
            assert_eq!(socket.multicast_ttl().unwrap(), 7);
            if unless_lacking("SO_BINDTODEVICE", socket.device().map(drop)) {
                let error = socket.bind_device(Some("no such device")).unwrap_err();
                assert_ne!(error.kind(), ErrorKind::Unsupported);
            }
        }
    });
}

/// E30: with and without IPv4 on an IPv6 socket, as it was told.
#[test]
fn an_ipv6_socket_takes_ipv4_if_told_so() {
    if !has_v6() {
        return;
    }
    run(async {
        for only in [true, false] {
            let socket = UdpSocket::new_v6().unwrap();
            socket.set_only_v6(only).unwrap();
            assert_eq!(socket.only_v6().unwrap(), only);
            socket.bind_to("[::]:0".parse().unwrap()).unwrap();
            let port = socket.local_addr().unwrap().port();
            let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            client.connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
            client.send(b"hello").await.unwrap();
            let mut space = [0; 8];
            let got = timeout(MOMENT, socket.recv_from(&mut space)).await;
            assert_eq!(got.is_err(), only);
        }
    });
}

#[test]
fn broadcasts_need_leave() {
    run(async {
        let server = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        let everybody = SocketAddr::from(([127, 255, 255, 255], port));
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let error = client.send_to(b"all", everybody).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        client.set_broadcast(true).unwrap();
        client.send_to(b"all", everybody).await.unwrap();
        assert_eq!(server.recv(&mut [0; 8]).await.unwrap().length, 3);
    });
}

#[test]
fn a_group_is_joined_and_left_over_ipv4() {
    run(async {
        let group = Ipv4Addr::new(239, 255, 77, 3);
        let member = UdpSocket::bind("0.0.0.0:0").await.unwrap();
        let to = SocketAddr::from((group, member.local_addr().unwrap().port()));
        member
            .join_multicast_v4(group, Ipv4Addr::LOCALHOST)
            .unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        sender
            .set_multicast_interface_v4(Ipv4Addr::LOCALHOST)
            .unwrap();
        let told = sender.multicast_interface_v4().unwrap();
        assert_eq!(told, Ipv4Addr::LOCALHOST);
        sender.send_to(b"members", to).await.unwrap();
        assert_eq!(member.recv(&mut [0; 64]).await.unwrap().length, 7);
        member
            .leave_multicast_v4(group, Ipv4Addr::LOCALHOST)
            .unwrap();
        sender.send_to(b"nobody", to).await.unwrap();
        let mut space = [0; 64];
        assert!(timeout(MOMENT, member.recv(&mut space)).await.is_err());
        let error = member.leave_multicast_v4(group, Ipv4Addr::LOCALHOST);
        assert_eq!(error.unwrap_err().kind(), ErrorKind::AddrNotAvailable);
    });
}

#[test]
fn a_group_is_joined_and_left_over_ipv6() {
    if !has_v6() {
        return;
    }
    run(async {
        let loopback = 1;
        let group = "ff01::7703".parse().unwrap();
        let member = UdpSocket::bind("[::]:0").await.unwrap();
        let to = SocketAddr::from((group, member.local_addr().unwrap().port()));
        let sender = UdpSocket::bind("[::1]:0").await.unwrap();
        sender.set_multicast_interface_v6(loopback).unwrap();
        assert_eq!(sender.multicast_interface_v6().unwrap(), loopback);
        member.join_multicast_v6(group, loopback).unwrap();
        match sender.send_to(b"members", to).await {
            Err(error) if error.kind() == ErrorKind::NetworkUnreachable => {
                return eprintln!("skipped: no route to groups on the loopback");
            }
            sent => sent.unwrap(),
        };
        assert_eq!(member.recv(&mut [0; 64]).await.unwrap().length, 7);
        member.leave_multicast_v6(group, loopback).unwrap();
        sender.send_to(b"nobody", to).await.unwrap();
        let mut space = [0; 64];
        assert!(timeout(MOMENT, member.recv(&mut space)).await.is_err());
    });
}

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

/// E16: what went before a datagram that can't go is counted, and the rest isn't given up.
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

/// E14: a refusal is told once for batches, too.
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

/// E14: what failed is kept with whom it was for, and a socket that serves many goes on.
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

/// E14: failures that nobody takes don't make waits end for nothing, where an error that is not read
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
