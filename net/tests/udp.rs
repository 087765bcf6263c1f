//! UDP sockets, for IPv4 and IPv6.

mod common;

use common::udp::{connected, connected_to_nobody};
use common::{Count, MOMENT, locals, run};
use futures::future::join;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use windlass_net::{BindError, UdpSocket};
use windlass_reactor::time::timeout;

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

/// What doesn't fit is told to be lost, and what comes next is whole.
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

/// That nobody is there is told once, to whoever waits, and the socket goes on.
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

/// A server that answers somebody who is gone hears nothing of it.
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

/// That an address is taken is told, with the address.
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

/// A socket of std doesn't hold up the thread.
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

/// Readable and writable at once, and whoever is woken first drops the socket.
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
