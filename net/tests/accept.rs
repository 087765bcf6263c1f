//! Accepting: by one task or many, through faults of the peer, as a stream.

mod common;

use common::{Count, LIMIT, MOMENT, assert_leaves_no_descriptor, listen, reset, run};
use futures::StreamExt;
use futures::future::{join, join_all};
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use windlass_net::{AcceptBackoff, TcpListener, TcpStream};
use windlass_reactor::time::timeout;

#[test]
fn an_accepted_stream_does_not_block_and_is_closed_on_exec() {
    run(async {
        let (_client, server) = common::pair().await;
        let flags = rustix::io::fcntl_getfd(&server).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
        let flags = rustix::fs::fcntl_getfl(&server).unwrap();
        assert!(flags.contains(rustix::fs::OFlags::NONBLOCK));
    });
}

#[test]
fn several_tasks_accept_from_one_listener() {
    run(async {
        let listener = listen().await;
        let accepting = join_all((0..8).map(|_| listener.accept()));
        let connecting = async {
            // The tasks wait before the first connection comes.
            windlass_reactor::time::sleep(MOMENT).await;
            let address = listener.local_addr().unwrap();
            join_all((0..8).map(|_| TcpStream::connect(address))).await
        };
        let (accepted, connected) = join(accepting, connecting).await;
        let mut peers = accepted
            .into_iter()
            .map(|one| one.unwrap().1)
            .collect::<Vec<_>>();
        let mut clients = Vec::new();
        for stream in connected {
            clients.push(stream.unwrap().local_addr().unwrap());
        }
        peers.sort();
        clients.sort();
        assert_eq!(peers, clients);
    });
}

#[test]
fn a_cancelled_accept_takes_no_connection() {
    run(async {
        let listener = listen().await;
        for _ in 0..20 {
            assert!(timeout(MOMENT / 30, listener.accept()).await.is_err());
            let client = TcpStream::connect(listener.local_addr().unwrap())
                .await
                .unwrap();
            let (_server, address) = listener.accept().await.unwrap();
            assert_eq!(address, client.local_addr().unwrap());
        }
    });
}

/// Whether the system passes a dead connection on or over, accepting goes on.
#[test]
fn connections_reset_before_they_are_accepted_do_no_harm() {
    run(async {
        let listener = listen().await;
        let address = listener.local_addr().unwrap();
        for _ in 0..100 {
            reset(TcpStream::connect(address).await.unwrap());
        }
        let alive = TcpStream::connect(address).await.unwrap();
        loop {
            let (_server, peer) = listener.accept().await.unwrap();
            if peer == alive.local_addr().unwrap() {
                break;
            }
        }
    });
}

#[test]
fn incoming_is_a_stream() {
    run(async {
        let listener = listen().await;
        let address = listener.local_addr().unwrap();
        let clients = join_all((0..5).map(|_| TcpStream::connect(address)));
        let (_clients, accepted) = join(clients, listener.incoming().take(5).count()).await;
        assert_eq!(accepted, 5);
        let mut incoming = listener.incoming();
        let (client, server) = join(TcpStream::connect(address), incoming.next()).await;
        let (_, peer) = server.unwrap().unwrap();
        assert_eq!(peer, client.unwrap().local_addr().unwrap());
    });
}

#[test]
fn poll_accept_wakes_the_latest() {
    run(async {
        let listener = listen().await;
        let (old, old_waker) = Count::waker();
        let (new, new_waker) = Count::waker();
        for waker in [&old_waker, &new_waker] {
            let polled = listener.poll_accept(&mut Context::from_waker(waker));
            assert!(polled.is_pending());
        }
        let client = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        common::wait_until(|| new.get() > 0);
        assert_eq!(old.get(), 0);
        match listener.poll_accept(&mut Context::from_waker(&new_waker)) {
            Poll::Ready(Ok((_, address))) => assert_eq!(address, client.local_addr().unwrap()),
            other => panic!("{other:?}"),
        }
    });
}

/// A listener and a stream that block are taken, and don't.
#[test]
fn sockets_of_the_standard_library_are_taken() {
    run(async {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let listener = TcpListener::from_std(listener).unwrap();
        assert!(timeout(MOMENT, listener.accept()).await.is_err());
        let client = std::net::TcpStream::connect(address).unwrap();
        let client = TcpStream::from_std(client).unwrap();
        let (server, _) = listener.accept().await.unwrap();
        assert!(timeout(MOMENT, client.read(&mut [0; 8])).await.is_err());
        assert!(timeout(MOMENT, server.read(&mut [0; 8])).await.is_err());
        server.write_all(b"hello").await.unwrap();
        let mut space = [0; 8];
        assert_eq!(client.read(&mut space).await.unwrap(), 5);

        let back = server.into_std().unwrap();
        back.set_nonblocking(false).unwrap();
        client.write_all(b"back").await.unwrap();
        let count = std::io::Read::read(&mut &back, &mut space).unwrap();
        assert_eq!(&space[..count], b"back");
    });
}

/// No descriptor is left of thousands of connections, and none is refused.
#[test]
fn thousands_of_connections_leave_nothing() {
    if !common::is_child() {
        return common::assert_passes_in_child("thousands_of_connections_leave_nothing");
    }
    run(async {
        let listener = listen().await;
        let round = async || {
            let client = TcpStream::connect(listener.local_addr().unwrap())
                .await
                .unwrap();
            let (server, _) = listener.accept().await.unwrap();
            client.write_all(b"ping").await.unwrap();
            let mut space = [0; 64];
            assert_eq!(server.read(&mut space).await.unwrap(), 4);
            drop(client);
            assert_eq!(server.read(&mut space).await.unwrap(), 0);
        };
        assert_leaves_no_descriptor(3000, round).await;
    });
}

/// In a process of its own, since the limit is the process's.
#[test]
fn a_shortage_of_descriptors_is_told_once_and_waited_out() {
    if !common::is_child() {
        return common::assert_passes_in_child(
            "a_shortage_of_descriptors_is_told_once_and_waited_out",
        );
    }
    run(async {
        let listener = listen().await;
        let address = listener.local_addr().unwrap();
        // The reactor of the process is there before there are no descriptors for it.
        assert!(timeout(MOMENT, listener.accept()).await.is_err());
        const CLIENTS: usize = 40;
        let clients = join_all((0..CLIENTS).map(|_| TcpStream::connect(address))).await;
        let old = leave_descriptors(10);

        let (mut accepted, mut told) = (Vec::new(), 0);
        let naive_loop = async {
            while accepted.len() < 20 {
                match listener.accept().await {
                    Ok(connection) => accepted.push(connection),
                    Err(error) => {
                        assert_eq!(
                            error.raw_os_error(),
                            Some(rustix::io::Errno::MFILE.raw_os_error())
                        );
                        told += 1;
                    }
                }
            }
        };
        let used = processor_time();
        assert!(timeout(MOMENT * 20, naive_loop).await.is_err());
        let used = processor_time() - used;
        assert_eq!(told, 1, "the shortage is told once");
        assert!(accepted.len() <= 10 && !accepted.is_empty());
        assert!(used < MOMENT * 5, "it has spun: {used:?}");

        // The same with a stream of connections, which doesn't tell it at all.
        assert!(
            timeout(MOMENT * 5, listener.incoming().next())
                .await
                .is_err()
        );
        assert!(listener.accept_shortages() > 1, "attempts are counted");
        let (_, waker) = Count::waker();
        let polled = listener.poll_accept(&mut Context::from_waker(&waker));
        assert!(polled.is_pending(), "poll_accept waits, too");

        // One that is closed makes room for one.
        drop(accepted.pop());
        let mut next = pin!(listener.incoming());
        timeout(LIMIT, next.next()).await.unwrap().unwrap().unwrap();
        rustix::process::setrlimit(rustix::process::Resource::Nofile, old).unwrap();
        for _ in accepted.len() + 2..CLIENTS {
            accepted.push(listener.accept().await.unwrap());
        }
        drop(clients);
    });
}

/// Pauses are as long as they were said to be, and whoever wants to know is told once.
#[test]
fn a_shortage_is_waited_out_as_told() {
    if !common::is_child() {
        return common::assert_passes_in_child("a_shortage_is_waited_out_as_told");
    }
    run(async {
        let listener = listen().await;
        let address = listener.local_addr().unwrap();
        assert!(timeout(MOMENT, listener.accept()).await.is_err());
        let _clients = join_all((0..4).map(|_| TcpStream::connect(address))).await;
        let old = leave_descriptors(0);
        let hour = std::time::Duration::from_secs(3600);
        listener.set_accept_backoff(AcceptBackoff::new().shortest(MOMENT / 10).longest(hour));
        let told = Arc::new(AtomicUsize::new(0));
        let count = told.clone();
        let mut incoming = listener.incoming().on_shortage(move |error| {
            let expected = rustix::io::Errno::MFILE.raw_os_error();
            assert_eq!(error.raw_os_error(), Some(expected));
            count.fetch_add(1, Ordering::SeqCst);
        });
        // Pauses of 3, 6, 12, 24, 48 and 96 ms.
        let limit = MOMENT * 6;
        assert!(timeout(limit, incoming.next()).await.is_err());
        assert_eq!(told.load(Ordering::SeqCst), 1);
        let failed = listener.accept_shortages();
        assert!((2..=7).contains(&failed), "{failed} attempts");
        rustix::process::setrlimit(rustix::process::Resource::Nofile, old).unwrap();
        incoming.next().await.unwrap().unwrap();
    });
}

/// What can't be accepted from is an error, and is not tried for ever as if connections were at fault.
#[test]
fn a_socket_that_is_no_listener_is_told() {
    run(async {
        let udp = OwnedFd::from(std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
        let listener = TcpListener::from_std(udp.into()).unwrap();
        let error = listener.accept().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        let tcp = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let listener = TcpListener::from_std(tcp.into()).unwrap();
        let error = listener.accept().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    });
}

/// Lowers the limit so that at most `count` more descriptors can be opened; returns the limit
/// before.
fn leave_descriptors(count: u64) -> rustix::process::Rlimit {
    use rustix::process::{Resource, getrlimit, setrlimit};
    // Numbers are given out from the lowest that is free, and the limit is on the number.
    let lowest = std::fs::File::open("/dev/null").unwrap().as_raw_fd();
    let old = getrlimit(Resource::Nofile);
    let mut new = old;
    new.current = Some(lowest as u64 + count);
    setrlimit(Resource::Nofile, new).unwrap();
    old
}

fn processor_time() -> std::time::Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    std::time::Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
