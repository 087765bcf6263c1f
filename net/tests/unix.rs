//! Unix streams and their listeners: names, ends, halves, and who is at the other end.

mod common;

use common::unix::{Folder, error_of};
use common::{Count, MOMENT, assert_leaves_no_descriptor, pattern, run};
use futures::future::{join, join_all};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::task::{Context, Poll};
use windlass_net::{
    UnixAddr, UnixAddrError, UnixDatagram, UnixListener, UnixSeqpacket, UnixStream,
};
use windlass_reactor::signal::{Signal, SignalKind};
use windlass_reactor::time::timeout;

async fn read_to_end(stream: &UnixStream) -> io::Result<Vec<u8>> {
    let (mut all, mut space) = (Vec::new(), [0; 1000]);
    loop {
        match stream.read(&mut space).await? {
            0 => return Ok(all),
            count => all.extend_from_slice(&space[..count]),
        }
    }
}

/// Writes until there is no more room; returns how many bytes went.
async fn fill(stream: &UnixStream) -> usize {
    let bytes = vec![7; 1 << 14];
    let mut total = 0;
    while let Ok(written) = timeout(MOMENT, stream.write(&bytes)).await {
        total += written.unwrap();
    }
    total
}

#[test]
fn much_goes_both_ways_at_once() {
    run(async {
        let folder = Folder::new();
        let listener = UnixListener::bind(folder.path("s")).unwrap();
        let connecting = UnixStream::connect(folder.path("s"));
        let (client, accepted) = join(connecting, listener.accept()).await;
        let (client, (server, _)) = (client.unwrap(), accepted.unwrap());
        let bytes = pattern(3 << 20);
        let echoing = async {
            let (reader, writer) = server.split();
            let mut space = [0; 4096];
            loop {
                match reader.read(&mut space).await.unwrap() {
                    0 => break,
                    count => writer.write_all(&space[..count]).await.unwrap(),
                }
            }
            writer.shutdown().unwrap();
        };
        let there = async {
            client.write_all(&bytes).await.unwrap();
            client.shutdown(Shutdown::Write).unwrap();
        };
        let ((), (), back) = futures::join!(echoing, there, read_to_end(&client));
        assert!(back.unwrap() == bytes);
    });
}

/// A short read, and then a wait, on what comes in pieces: nothing sleeps over what is there.
#[test]
fn pieces_are_read_as_they_come() {
    run(async {
        let (client, server) = UnixStream::pair().unwrap();
        let bytes = pattern(20_000);
        let writing = async {
            for piece in bytes.chunks(37) {
                client.write_all(piece).await.unwrap();
                if piece[0] % 16 == 0 {
                    windlass_reactor::time::sleep(MOMENT / 100).await;
                }
            }
            drop(client);
        };
        let ((), all) = join(writing, read_to_end(&server)).await;
        assert!(all.unwrap() == bytes);
    });
}

/// A read stops where descriptors were passed, so that a short one says nothing of what is left.
#[test]
fn a_short_read_before_a_descriptor_leaves_the_rest_to_be_read() {
    run(async {
        let (client, server) = UnixStream::pair().unwrap();
        let mut space = [0; 64];
        // The server has been waited for, so that its readiness is known.
        let first = join(server.read(&mut space), client.write_all(b"-")).await;
        assert_eq!(first.0.unwrap(), 1);
        client.write_all(b"before").await.unwrap();
        let fd = client.as_fd();
        assert_eq!(client.send_fds(b"with", &[fd]).await.unwrap(), 4);
        client.write_all(b"after").await.unwrap();
        let (mut all, mut reads) = (Vec::new(), 0);
        while all.len() < 15 {
            let count = timeout(MOMENT * 20, server.read(&mut space)).await;
            all.extend_from_slice(&space[..count.expect("it slept over bytes").unwrap()]);
            reads += 1;
        }
        assert_eq!(all, b"beforewithafter");
        if cfg!(target_os = "linux") {
            assert!(reads > 1, "the system has glued them after all");
        }
    });
}

/// Names come back as they were given.
#[test]
fn names_are_told_as_they_are() {
    run(async {
        let folder = Folder::new();
        let path = folder.path("listener");
        let listener = UnixListener::bind(&path).unwrap();
        assert_eq!(listener.local_addr().unwrap(), UnixAddr::from(&path));
        let client = UnixStream::connect(UnixAddr::from(&path)).await.unwrap();
        let (server, address) = listener.accept().await.unwrap();
        assert_eq!(address, UnixAddr::Unnamed);
        assert_eq!(client.local_addr().unwrap(), UnixAddr::Unnamed);
        assert_eq!(client.peer_addr().unwrap(), UnixAddr::from(&path));
        assert_eq!(server.local_addr().unwrap(), UnixAddr::from(&path));
        assert_eq!(server.peer_addr().unwrap(), UnixAddr::Unnamed);
        let (reader, writer) = server.into_split();
        assert_eq!(reader.local_addr().unwrap(), UnixAddr::from(&path));
        assert!(writer.peer_addr().unwrap().is_unnamed());

        // One that connects may have a name, too.
        let named = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None);
        let named = named.unwrap();
        let own = folder.path("client");
        named.bind(&socket2::SockAddr::unix(&own).unwrap()).unwrap();
        named
            .connect(&socket2::SockAddr::unix(&path).unwrap())
            .unwrap();
        let (_server, address) = listener.accept().await.unwrap();
        assert_eq!(address.as_path(), Some(own.as_path()));
    });
}

/// The longest there is, and one that fills all the room, as another program may choose it.
#[test]
fn long_names_do_no_harm() {
    run(async {
        let folder = Folder::new();
        let length = folder.as_ref().as_os_str().len();
        let long = folder.path(&"x".repeat(107 - length - 1));
        let listener = UnixListener::bind(&long).unwrap();
        let client = UnixStream::connect(&long).await.unwrap();
        assert_eq!(client.peer_addr().unwrap().as_path(), Some(long.as_path()));

        let longer = folder.path(&"y".repeat(108 - length - 1));
        let error = UnixListener::bind(&longer).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("107"), "{error}");
        if cfg!(target_os = "linux") {
            let name = rustix::net::SocketAddrUnix::new(&longer).unwrap();
            for datagrams in [false, true] {
                let kind = match datagrams {
                    false => rustix::net::SocketType::STREAM,
                    true => rustix::net::SocketType::DGRAM,
                };
                let socket =
                    rustix::net::socket(rustix::net::AddressFamily::UNIX, kind, None).unwrap();
                rustix::net::bind(&socket, &name).unwrap();
                if datagrams {
                    let receiver = UnixDatagram::bind(folder.path("r")).unwrap();
                    let to = rustix::net::SocketAddrUnix::new(folder.path("r")).unwrap();
                    let flags = rustix::net::SendFlags::empty();
                    rustix::net::sendto(&socket, b"hi", flags, &to).unwrap();
                    let (received, _) = receiver.recv_from(&mut [0; 8]).await.unwrap();
                    assert_eq!(received.length, 2);
                } else {
                    let to = rustix::net::SocketAddrUnix::new(&long).unwrap();
                    rustix::net::connect(&socket, &to).unwrap();
                    listener.accept().await.unwrap();
                    let (server, address) = listener.accept().await.unwrap();
                    assert_eq!(address.as_path(), Some(longer.as_path()));
                    assert_eq!(server.peer_addr().unwrap(), address);
                }
                std::fs::remove_file(&longer).unwrap();
            }
        }
    });
}

/// Abstract names have zeroes in them, and end where they end.
#[cfg(target_os = "linux")]
#[test]
fn abstract_names_have_any_bytes() {
    run(async {
        for tail in [&b""[..], b"\0", b"a\0b", b"\0\0end\0", &[0xff; 40]] {
            let process = std::process::id().to_string();
            let name = [b"windlass-test-", process.as_bytes(), tail].concat();
            let address = UnixAddr::abstract_name(&name);
            let listener = UnixListener::bind(&address).unwrap();
            let client = UnixStream::connect(&address).await.unwrap();
            listener.accept().await.unwrap();
            assert_eq!(client.peer_addr().unwrap(), address);
            assert_eq!(
                listener.local_addr().unwrap().as_abstract_name(),
                Some(&name[..])
            );
            drop(listener);
            let error = error_of(async || UnixStream::connect(&address).await).await;
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        }
    });
}

#[test]
fn what_is_wrong_with_a_name_is_told() {
    run(async {
        let folder = Folder::new();
        let path = folder.path("taken");
        let listener = UnixListener::bind(&path).unwrap();
        let error = UnixListener::bind(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        let inner = error.get_ref().unwrap().downcast_ref::<UnixAddrError>();
        assert_eq!(inner.unwrap().address(), &UnixAddr::from(&path));
        drop(listener);
        let error = error_of(async || UnixStream::connect(&path).await).await;
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert!(error.to_string().contains("nobody listens"), "{error}");
        let error = UnixStream::connect(folder.path("none")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        for nothing in ["", "a\0b"] {
            let error = UnixStream::connect(nothing).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            let error = UnixListener::bind(nothing).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
        }
        let error = UnixStream::connect(UnixAddr::Unnamed).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn the_file_stays_unless_asked_for() {
    run(async {
        let folder = Folder::new();
        let path = folder.path("s");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        std::fs::remove_file(&path).unwrap();

        let mut listener = UnixListener::bind(&path).unwrap();
        listener.remove_file_on_drop().unwrap();
        drop(listener);
        assert!(!path.exists());

        // What somebody else has put in its place is left.
        let mut listener = UnixListener::bind(&path).unwrap();
        listener.remove_file_on_drop().unwrap();
        std::fs::rename(&path, folder.path("old")).unwrap();
        let next = UnixListener::bind(&path).unwrap();
        drop(listener);
        UnixStream::connect(&path).await.unwrap();
        drop(next);
        std::fs::remove_file(&path).unwrap();

        let mut listener = UnixListener::bind(&path).unwrap();
        listener.remove_file_on_drop().unwrap();
        let listener = listener.into_std().unwrap();
        drop(listener);
        assert!(path.exists());

        let mut nameless = UnixDatagram::unbound().unwrap();
        nameless.remove_file_on_drop().unwrap();
    });
}

/// While the queue is full, connecting waits; it neither fails nor hangs for ever.
#[test]
fn connecting_waits_while_the_queue_is_full() {
    run(async {
        let folder = Folder::new();
        let path = folder.path("s");
        let listener = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None);
        let listener = listener.unwrap();
        listener
            .bind(&socket2::SockAddr::unix(&path).unwrap())
            .unwrap();
        listener.listen(0).unwrap();
        let mut clients = Vec::new();
        while let Ok(client) = timeout(MOMENT * 3, UnixStream::connect(&path)).await {
            clients.push(client.unwrap());
            assert!(clients.len() < 100, "the queue has no end");
        }
        let listener = UnixListener::from_std(listener.into()).unwrap();
        let connecting = UnixStream::connect(&path);
        let (client, accepted) = join(connecting, listener.accept()).await;
        clients.push(client.unwrap());
        drop(accepted.unwrap());
        for _ in 1..clients.len() {
            listener.accept().await.unwrap();
        }
    });
}

#[test]
fn a_listener_accepts_as_tcp_does() {
    run(async {
        let folder = Folder::new();
        let path = folder.path("s");
        let listener = UnixListener::bind(&path).unwrap();
        assert!(timeout(MOMENT, listener.accept()).await.is_err());
        let (old, old_waker) = Count::waker();
        let (new, new_waker) = Count::waker();
        for waker in [&old_waker, &new_waker] {
            let polled = listener.poll_accept(&mut Context::from_waker(waker));
            assert!(polled.is_pending());
        }
        let _client = UnixStream::connect(&path).await.unwrap();
        common::wait_until(|| new.get() > 0);
        assert_eq!(old.get(), 0);
        match listener.poll_accept(&mut Context::from_waker(&new_waker)) {
            Poll::Ready(Ok((_, address))) => assert!(address.is_unnamed()),
            other => panic!("{other:?}"),
        }
        let clients = join_all((0..5).map(|_| UnixStream::connect(&path)));
        let accepting = futures::StreamExt::take(listener.incoming(), 5);
        let (_clients, accepted) = join(clients, futures::StreamExt::count(accepting)).await;
        assert_eq!(accepted, 5);
        let mut incoming = listener.incoming();
        let (client, server) = join(UnixStream::connect(&path), incoming.next()).await;
        let (_server, _address) = server.unwrap().unwrap();
        client.unwrap();
    });
}

/// A shortage of descriptors is told once, and waited out.
#[test]
fn a_shortage_of_descriptors_is_told_once() {
    if !common::is_child() {
        return common::assert_passes_in_child("a_shortage_of_descriptors_is_told_once");
    }
    run(async {
        let folder = Folder::new();
        let path = folder.path("s");
        let listener = UnixListener::bind(&path).unwrap();
        assert!(timeout(MOMENT, listener.accept()).await.is_err());
        let _client = UnixStream::connect(&path).await.unwrap();
        let old = leave_descriptors(0);
        let error = listener.accept().await.unwrap_err();
        let expected = rustix::io::Errno::MFILE.raw_os_error();
        assert_eq!(error.raw_os_error(), Some(expected));
        assert!(timeout(MOMENT, listener.accept()).await.is_err());
        assert!(listener.accept_shortages() >= 1);
        rustix::process::setrlimit(rustix::process::Resource::Nofile, old).unwrap();
        listener.accept().await.unwrap();
    });
}

/// Lowers the limit so that at most `count` more descriptors can be opened; returns the limit
/// before.
fn leave_descriptors(count: u64) -> rustix::process::Rlimit {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let lowest = std::fs::File::open("/dev/null").unwrap().as_raw_fd();
    let old = getrlimit(Resource::Nofile);
    let mut new = old;
    new.current = Some(lowest as u64 + count);
    setrlimit(Resource::Nofile, new).unwrap();
    old
}

/// The owned half that writes ends its direction, unless it is forgotten or reunited.
#[test]
fn halves_end_what_they_should() {
    run(async {
        let (client, server) = UnixStream::pair().unwrap();
        let (reader, writer) = client.into_split();
        writer.write_all(b"last").await.unwrap();
        drop(writer);
        assert_eq!(read_to_end(&server).await.unwrap(), b"last");
        server.write_all(b"answer").await.unwrap();
        let mut space = [0; 6];
        reader.read_exact(&mut space).await.unwrap();
        assert_eq!(&space, b"answer");

        let (client, server) = UnixStream::pair().unwrap();
        let (reader, writer) = client.into_split();
        let client = reader.reunite(writer).unwrap();
        assert!(timeout(MOMENT, server.read(&mut space)).await.is_err());
        let (reader, writer) = client.into_split();
        writer.forget();
        assert!(timeout(MOMENT, server.read(&mut space)).await.is_err());
        drop(reader);
        assert_eq!(server.read(&mut space).await.unwrap(), 0);

        let (one, other) = UnixStream::pair().unwrap();
        let ((reader, _w), (_r, writer)) = (one.into_split(), other.into_split());
        let error = reader.reunite(writer).unwrap_err();
        assert!(error.to_string().contains("different streams"));
    });
}

#[test]
fn vectors_peeks_and_tries_work() {
    run(async {
        let (client, server) = UnixStream::pair().unwrap();
        let would_block = server.try_read(&mut [0; 8]).unwrap_err();
        assert_eq!(would_block.kind(), ErrorKind::WouldBlock);
        let buffers = [IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cde")];
        assert_eq!(client.write_vectored(&buffers).await.unwrap(), 5);
        let mut space = [0; 8];
        for _ in 0..2 {
            assert_eq!(server.peek(&mut space).await.unwrap(), 5);
            assert_eq!(&space[..5], b"abcde");
        }
        let (mut one, mut two) = ([0; 1], [0; 9]);
        let spaces = &mut [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
        assert_eq!(server.read_vectored(spaces).await.unwrap(), 5);
        assert_eq!((&one, &two[..4]), (b"a", &b"bcde"[..]));

        let filled = fill(&client).await;
        assert!(filled > 0);
        let would_block = client.try_write(b"more").unwrap_err();
        assert_eq!(would_block.kind(), ErrorKind::WouldBlock);
        let mut rest = filled;
        let mut space = vec![0; 1 << 14];
        while rest > 0 {
            server.readable().await.unwrap();
            match server.try_read(&mut space) {
                Ok(count) => rest -= count,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
        client.writable().await.unwrap();
        assert_eq!(client.try_write(b"more").unwrap(), 4);
        assert_eq!(server.read(&mut space).await.unwrap(), 4);
    });
}

#[test]
fn the_traits_of_futures_work() {
    run(async {
        let (mut client, mut server) = UnixStream::pair().unwrap();
        client.write_all(b"hello").await.unwrap();
        futures::AsyncWriteExt::flush(&mut client).await.unwrap();
        futures::AsyncWriteExt::close(&mut client).await.unwrap();
        let mut all = Vec::new();
        futures::AsyncReadExt::read_to_end(&mut server, &mut all)
            .await
            .unwrap();
        assert_eq!(all, b"hello");
        let (mut reader, mut writer) = server.into_split();
        futures::AsyncWriteExt::write_all(&mut writer, b"back")
            .await
            .unwrap();
        futures::AsyncWriteExt::close(&mut writer).await.unwrap();
        let mut space = [0; 4];
        futures::AsyncReadExt::read_exact(&mut client, &mut space)
            .await
            .unwrap();
        assert_eq!(&space, b"back");
        assert_eq!(
            futures::AsyncReadExt::read(&mut reader, &mut space)
                .await
                .unwrap(),
            0
        );
    });
}

/// Sockets of the standard library that block are taken, and don't.
#[test]
fn sockets_of_the_standard_library_are_taken() {
    run(async {
        let folder = Folder::new();
        let path = folder.path("s");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let listener = UnixListener::from_std(listener).unwrap();
        assert!(timeout(MOMENT, listener.accept()).await.is_err());
        let client = UnixStream::from_std(StdUnixStream::connect(&path).unwrap()).unwrap();
        let (server, _) = listener.accept().await.unwrap();
        assert!(timeout(MOMENT, client.read(&mut [0; 8])).await.is_err());
        let mut back = server.into_std().unwrap();
        back.set_nonblocking(false).unwrap();
        client.write_all(b"back").await.unwrap();
        let mut space = [0; 4];
        back.read_exact(&mut space).unwrap();
        back.write_all(b"forth").unwrap();
        assert_eq!(client.read(&mut [0; 8]).await.unwrap(), 5);
    });
}

#[test]
fn the_peer_is_known() {
    run(async {
        let (one, _other) = UnixStream::pair().unwrap();
        let peer = one.peer_cred().unwrap();
        assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
        assert_eq!(peer.gid, rustix::process::getegid().as_raw());
        if cfg!(target_os = "linux") {
            assert_eq!(peer.pid, Some(std::process::id()));
        }
        let alone = UnixDatagram::unbound().unwrap();
        let error = alone.peer_cred().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotConnected);
    });
}

/// Programs that are started get none of them.
#[test]
fn all_sockets_are_closed_on_exec() {
    run(async {
        let folder = Folder::new();
        let path = folder.path("s");
        let listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let (one, other) = UnixStream::pair().unwrap();
        let (first, second) = UnixDatagram::pair().unwrap();
        let alone = UnixDatagram::unbound().unwrap();
        for fd in [
            listener.as_fd(),
            client.as_fd(),
            server.as_fd(),
            one.as_fd(),
            other.as_fd(),
            first.as_fd(),
            second.as_fd(),
            alone.as_fd(),
        ] {
            let flags = rustix::io::fcntl_getfd(fd).unwrap();
            assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
            let flags = rustix::fs::fcntl_getfl(fd).unwrap();
            assert!(flags.contains(rustix::fs::OFlags::NONBLOCK));
        }
    });
}

/// A peer that is gone is an error or the end, and no signal.
#[test]
fn a_peer_that_is_gone_raises_no_signal() {
    if !common::is_child() {
        return common::assert_passes_in_child("a_peer_that_is_gone_raises_no_signal");
    }
    const BROKEN_PIPE: SignalKind = SignalKind::from_raw(13);
    run(async {
        let mut signals = Signal::new(BROKEN_PIPE).unwrap();
        let (client, server) = UnixStream::pair().unwrap();
        drop(server);
        let fd = client.as_fd();
        let buffers = [IoSlice::new(b"x")];
        for error in [
            client.write(b"x").await.unwrap_err(),
            client.write_vectored(&buffers).await.unwrap_err(),
            client.write_all(b"x").await.unwrap_err(),
            client.send_fds(b"x", &[fd]).await.unwrap_err(),
            client.try_write(b"x").unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        }
        assert_eq!(client.read(&mut [0; 8]).await.unwrap(), 0);
        client.shutdown(Shutdown::Both).unwrap();
        client.local_addr().unwrap();
        if UnixSeqpacket::pair().is_ok() {
            let (one, other) = UnixSeqpacket::pair().unwrap();
            drop(other);
            assert_eq!(
                one.send(b"x").await.unwrap_err().kind(),
                ErrorKind::BrokenPipe
            );
        }
        let (one, other) = UnixDatagram::pair().unwrap();
        drop(other);
        one.send(b"x").await.unwrap_err();
        assert!(
            timeout(MOMENT, signals.recv()).await.is_err(),
            "SIGPIPE was raised"
        );
    });
}

/// Futures that are dropped take nothing and leave nothing.
#[test]
fn cancelled_futures_lose_nothing() {
    run(async {
        let (client, server) = UnixStream::pair().unwrap();
        let bytes = pattern(2000);
        let writing = async {
            for piece in bytes.chunks(7) {
                client.write_all(piece).await.unwrap();
                windlass_reactor::time::sleep(MOMENT / 600).await;
            }
        };
        let reading = async {
            let (mut all, mut space) = (Vec::new(), [0; 5]);
            while all.len() < bytes.len() {
                let read = timeout(MOMENT / 500, server.read(&mut space)).await;
                if let Ok(count) = read {
                    all.extend_from_slice(&space[..count.unwrap()]);
                }
            }
            all
        };
        let ((), all) = join(writing, reading).await;
        assert!(all == bytes);

        let folder = Folder::new();
        let listener = UnixListener::bind(folder.path("s")).unwrap();
        for _ in 0..20 {
            let accepting = timeout(MOMENT / 30, listener.accept());
            assert!(accepting.await.is_err());
        }
        let _client = UnixStream::connect(folder.path("s")).await.unwrap();
        listener.accept().await.unwrap();
    });
}

#[test]
fn thousands_of_connections_leave_nothing() {
    if !common::is_child() {
        return common::assert_passes_in_child("thousands_of_connections_leave_nothing");
    }
    run(async {
        let folder = Folder::new();
        let path = folder.path("s");
        let listener = UnixListener::bind(&path).unwrap();
        let round = async || {
            let client = UnixStream::connect(&path).await.unwrap();
            let (server, _) = listener.accept().await.unwrap();
            client.write_all(b"ping").await.unwrap();
            let mut space = [0; 64];
            assert_eq!(server.read(&mut space).await.unwrap(), 4);
            drop(client);
            assert_eq!(server.read(&mut space).await.unwrap(), 0);
        };
        assert_leaves_no_descriptor(2000, round).await;
    });
}
