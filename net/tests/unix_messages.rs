//! Unix sockets that keep messages apart: datagrams and records.

mod common;

use common::unix::{Folder, error_of};
use common::{Count, MOMENT, open_descriptors, run};
use futures::future::join;
use std::io::ErrorKind;
use std::net::Shutdown;
use std::task::{Context, Poll};
use std::time::Duration;
use windlass_net::{UnixAddr, UnixDatagram, UnixSeqpacket, UnixSeqpacketListener};
use windlass_reactor::time::{sleep, timeout};

/// Says whether this system has sockets of records.
fn has_records() -> bool {
    match UnixSeqpacket::pair() {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            eprintln!("skipped: {error}");
            false
        }
    }
}

#[test]
fn datagrams_are_answered() {
    run(async {
        let folder = Folder::new();
        let server = UnixDatagram::bind(folder.path("server")).unwrap();
        let client = UnixDatagram::bind(folder.path("client")).unwrap();
        client
            .send_to(b"ping", folder.path("server"))
            .await
            .unwrap();
        let mut space = [0; 64];
        let peeked = server.peek_from(&mut space).await.unwrap();
        let (received, from) = server.recv_from(&mut space).await.unwrap();
        assert_eq!(peeked, (received, from.clone()));
        assert_eq!(&space[..received.length], b"ping");
        assert_eq!(from, UnixAddr::from(&folder.path("client")));
        server.send_to(b"pong", &from).await.unwrap();
        let (received, from) = client.recv_from(&mut space).await.unwrap();
        assert_eq!((received.length, received.truncated), (4, false));
        assert_eq!(from, server.local_addr().unwrap());
        assert!(server.peer_addr().is_err());

        let nameless = UnixDatagram::unbound().unwrap();
        nameless.connect(folder.path("server")).await.unwrap();
        assert_eq!(nameless.peer_addr().unwrap(), server.local_addr().unwrap());
        nameless.send(b"hi").await.unwrap();
        let (_, from) = server.recv_from(&mut space).await.unwrap();
        assert!(from.is_unnamed());
    });
}

/// What didn't fit is told, of datagrams and of records.
#[test]
fn truncation_is_told() {
    run(async {
        let (one, other) = UnixDatagram::pair().unwrap();
        one.send(b"0123456789").await.unwrap();
        one.send(b"").await.unwrap();
        one.send(b"exact").await.unwrap();
        let mut space = [0; 5];
        let peeked = other.peek(&mut space).await.unwrap();
        assert_eq!((peeked.length, peeked.truncated), (5, true));
        for expected in [(5, true), (0, false), (5, false)] {
            let received = other.recv(&mut space).await.unwrap();
            assert_eq!((received.length, received.truncated), expected);
        }
        assert_eq!(&space, b"exact");
        let error = other.try_recv(&mut space).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);

        if !has_records() {
            return;
        }
        let (one, other) = UnixSeqpacket::pair().unwrap();
        one.send(b"0123456789").await.unwrap();
        one.send(b"next").await.unwrap();
        for expected in [(5, true), (4, false)] {
            let peeked = other.try_peek(&mut space).unwrap();
            let received = other.recv(&mut space).await.unwrap();
            assert_eq!((received.length, received.truncated), expected);
            assert_eq!(peeked, received);
        }
    });
}

#[test]
fn records_stay_apart_and_end() {
    if !has_records() {
        return;
    }
    run(async {
        let folder = Folder::new();
        let path = folder.path("s");
        let mut listener = UnixSeqpacketListener::bind(&path).unwrap();
        listener.remove_file_on_drop().unwrap();
        let (client, accepted) = join(UnixSeqpacket::connect(&path), listener.accept()).await;
        let (client, (server, address)) = (client.unwrap(), accepted.unwrap());
        assert!(address.is_unnamed());
        assert!(server.peer_cred().is_ok() && client.peer_cred().is_ok());
        let sending = async {
            for length in 1..500_usize {
                client.send(&vec![length as u8; length]).await.unwrap();
            }
            let error = client.send(b"").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            client.shutdown(Shutdown::Write).unwrap();
        };
        let receiving = async {
            let mut space = [0; 512];
            for length in 1..500_usize {
                let received = server.recv(&mut space).await.unwrap();
                assert_eq!(received.length, length);
                assert!(space[..length].iter().all(|byte| *byte == length as u8));
            }
            assert_eq!(server.recv(&mut space).await.unwrap().length, 0);
            server.send(b"still").await.unwrap();
        };
        join(sending, receiving).await;
        assert_eq!(client.recv(&mut [0; 8]).await.unwrap().length, 5);
        drop(listener);
        assert!(!path.exists());
        let error = UnixSeqpacket::connect(&path).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);

        let back = UnixSeqpacket::from_fd(server.into_fd()).unwrap();
        drop(client);
        assert_eq!(back.recv(&mut [0; 8]).await.unwrap().length, 0);
    });
}

/// Whoever sends to a queue that is full waits, connected or not, and also if it is others who have
/// filled it; and it doesn't spin meanwhile.
#[test]
fn sending_waits_while_the_queue_is_full() {
    if !common::is_child() {
        return common::assert_passes_in_child("sending_waits_while_the_queue_is_full");
    }
    run(async {
        let folder = Folder::new();
        let path = folder.path("s");
        let receiver = UnixDatagram::bind(&path).unwrap();
        let others = UnixDatagram::unbound().unwrap();
        let mut count = 0;
        while others.try_send_to(b"fill", &path).is_ok() {
            count += 1;
        }
        assert!(count > 0);
        let sender = UnixDatagram::unbound().unwrap();
        let connected = UnixDatagram::unbound().unwrap();
        connected.connect(&path).await.unwrap();
        let before = processor_time();
        let both = join(sender.send_to(b"late", &path), connected.send(b"late"));
        let mut both = std::pin::pin!(both);
        assert!(timeout(MOMENT * 10, &mut both).await.is_err());
        let used = processor_time() - before;
        assert!(used < MOMENT * 5, "it has spun: {used:?}");
        let draining = async {
            let mut space = [0; 16];
            for _ in 0..count + 2 {
                receiver.recv(&mut space).await.unwrap();
                sleep(Duration::from_millis(1)).await;
            }
        };
        let ((one, two), ()) = join(both, draining).await;
        assert_eq!((one.unwrap(), two.unwrap()), (4, 4));
    });
}

/// A peer whose queue is full doesn't keep a socket from another peer.
#[test]
fn another_peer_is_connected_to_while_one_is_full() {
    run(async {
        let folder = Folder::new();
        let _full = UnixDatagram::bind(folder.path("full")).unwrap();
        let free = UnixDatagram::bind(folder.path("free")).unwrap();
        let sender = UnixDatagram::unbound().unwrap();
        sender.connect(folder.path("full")).await.unwrap();
        while timeout(MOMENT, sender.send(b"fill")).await.is_ok() {}
        sender.connect(folder.path("free")).await.unwrap();
        let sending = timeout(MOMENT * 20, sender.send(b"fill"));
        assert_eq!(sending.await.expect("it waits for the other").unwrap(), 4);
        assert_eq!(free.recv(&mut [0; 8]).await.unwrap().length, 4);
    });
}

fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

#[test]
fn a_peer_that_is_gone_is_an_error() {
    run(async {
        let folder = Folder::new();
        let path = folder.path("s");
        let server = UnixDatagram::bind(&path).unwrap();
        let client = UnixDatagram::unbound().unwrap();
        client.connect(&path).await.unwrap();
        drop(server);
        let error = error_of(async || client.send(b"x").await).await;
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let error = client.send_to(b"x", &path).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let error = client.send_to(b"x", folder.path("none")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let error = client.connect(folder.path("none")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let error = client.send_to(b"x", "").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn poll_methods_wake_the_latest() {
    run(async {
        let (one, other) = UnixDatagram::pair().unwrap();
        let (old, old_waker) = Count::waker();
        let (new, new_waker) = Count::waker();
        let mut space = [0; 8];
        for waker in [&old_waker, &new_waker] {
            let polled = other.poll_recv(&mut Context::from_waker(waker), &mut space);
            assert!(polled.is_pending());
        }
        one.send(b"late").await.unwrap();
        common::wait_until(|| new.get() > 0);
        assert_eq!(old.get(), 0);
        match other.poll_recv_from(&mut Context::from_waker(&new_waker), &mut space) {
            Poll::Ready(Ok((received, from))) => {
                assert_eq!(received.length, 4);
                assert!(from.is_unnamed());
            }
            polled => panic!("{polled:?}"),
        }
        let polled = one.poll_send(&mut Context::from_waker(&new_waker), b"x");
        assert!(matches!(polled, Poll::Ready(Ok(1))));
        other.readable().await.unwrap();
        other.writable().await.unwrap();
    });
}

/// A hand-written future is woken for another attempt, though no event tells of room.
#[test]
fn poll_send_to_is_woken_when_there_may_be_room() {
    run(async {
        let folder = Folder::new();
        let address = UnixAddr::from(&folder.path("s"));
        let receiver = UnixDatagram::bind(&address).unwrap();
        let others = UnixDatagram::unbound().unwrap();
        while others.try_send_to(b"fill", &address).is_ok() {}
        let sender = UnixDatagram::unbound().unwrap();
        let (count, waker) = Count::waker();
        let mut context = Context::from_waker(&waker);
        let polled = sender.poll_send_to(&mut context, b"late", &address);
        assert!(polled.is_pending());
        assert_eq!(count.get(), 0);
        receiver.recv(&mut [0; 8]).await.unwrap();
        common::wait_until(|| count.get() > 0);
        match sender.poll_send_to(&mut context, b"late", &address) {
            Poll::Ready(sent) => assert_eq!(sent.unwrap(), 4),
            Poll::Pending => panic!("there is room"),
        }
    });
}

/// Futures that are dropped take nothing.
#[test]
fn cancelled_futures_lose_nothing() {
    run(async {
        let (one, other) = UnixDatagram::pair().unwrap();
        let sending = async {
            for number in 0..300_u32 {
                one.send(&number.to_ne_bytes()).await.unwrap();
                sleep(MOMENT / 300).await;
            }
        };
        let receiving = async {
            let (mut next, mut space) = (0_u32, [0; 4]);
            while next < 300 {
                let received = timeout(MOMENT / 500, other.recv(&mut space)).await;
                if let Ok(received) = received {
                    assert_eq!(received.unwrap().length, 4);
                    assert_eq!(u32::from_ne_bytes(space), next);
                    next += 1;
                }
            }
        };
        join(sending, receiving).await;
    });
}

/// A socket of the standard library that blocks is taken, and doesn't; its file is kept.
#[test]
fn sockets_of_the_standard_library_are_taken() {
    run(async {
        let folder = Folder::new();
        let path = folder.path("s");
        let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        let mut socket = UnixDatagram::try_from(socket).unwrap();
        assert!(timeout(MOMENT, socket.recv(&mut [0; 8])).await.is_err());
        socket.remove_file_on_drop().unwrap();
        drop(socket.into_std().unwrap());
        assert!(path.exists());
        std::fs::remove_file(&path).unwrap();
        let mut socket = UnixDatagram::bind(&path).unwrap();
        socket.remove_file_on_drop().unwrap();
        drop(socket);
        assert!(!path.exists());
    });
}

/// Names that can't be had leave no socket behind.
#[test]
fn failures_leave_no_descriptor() {
    if !common::is_child() {
        return common::assert_passes_in_child("failures_leave_no_descriptor");
    }
    run(async {
        let folder = Folder::new();
        let path = folder.path("taken");
        let _socket = UnixDatagram::bind(&path).unwrap();
        sleep(MOMENT / 30).await;
        let before = open_descriptors();
        for _ in 0..100 {
            UnixDatagram::bind(&path).unwrap_err();
            UnixDatagram::bind("").unwrap_err();
            UnixSeqpacket::connect(&path).await.unwrap_err();
            UnixSeqpacketListener::bind(&path).unwrap_err();
        }
        assert_eq!(open_descriptors(), before);
    });
}
