//! Descriptors that are passed between Unix sockets: each arrives once, marked to be closed on exec,
//! and none is left open.

mod common;

use common::{MOMENT, open_descriptors, pattern, run};
use futures::future::join;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use windlass_net::{UnixDatagram, UnixSeqpacket, UnixStream};
use windlass_reactor::time::timeout;

/// Runs `test` as the test `name` in a process of its own, so that descriptors can be counted.
fn alone(name: &str, test: impl AsyncFnOnce()) {
    if !common::is_child() {
        return common::assert_passes_in_child(name);
    }
    run(async {
        // The reactor of the process opens what it needs.
        windlass_reactor::time::sleep(MOMENT / 30).await;
        test().await;
    });
}

fn is_closed_on_exec(fd: &OwnedFd) -> bool {
    let flags = rustix::io::fcntl_getfd(fd).unwrap();
    flags.contains(rustix::io::FdFlags::CLOEXEC)
}

/// Checks that `fd` is the read end of the pipe that `writer` is the other of.
fn assert_reads_from(fd: OwnedFd, writer: &mut impl Write) {
    writer.write_all(b"!").unwrap();
    let mut byte = [0];
    File::from(fd).read_exact(&mut byte).unwrap();
    assert_eq!(&byte, b"!");
}

/// On sockets of all kinds, what comes is what was sent, and is closed on exec.
#[test]
fn descriptors_arrive_on_all_kinds_of_sockets() {
    run(async {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let fds = [reader.as_fd(), reader.as_fd()];
        let mut space = [0; 16];

        let (one, other) = UnixStream::pair().unwrap();
        assert_eq!(one.send_fds(b"two", &fds).await.unwrap(), 3);
        let stream = other.recv_fds(&mut space, 5).await.unwrap();
        let (one, other) = UnixDatagram::pair().unwrap();
        assert_eq!(one.send_fds(b"two", &fds).await.unwrap(), 3);
        let datagram = other.recv_fds(&mut space, 5).await.unwrap();
        let mut all = vec![stream, datagram];
        match UnixSeqpacket::pair() {
            Err(error) => eprintln!("skipped in part: {error}"),
            Ok((one, other)) => {
                assert_eq!(one.send_fds(b"two", &fds).await.unwrap(), 3);
                all.push(other.recv_fds(&mut space, 5).await.unwrap());
            }
        }
        for received in all {
            assert_eq!(&space[..received.length], b"two");
            assert!(!received.truncated && !received.fds_lost);
            assert_eq!(received.fds.len(), 2);
            for fd in received.fds {
                assert!(is_closed_on_exec(&fd));
                assert_reads_from(fd, &mut writer);
            }
        }
    });
}

/// More than there is room for: told, and none of them is left open; the first ones arrive.
#[test]
fn what_there_is_no_room_for_is_closed() {
    alone("what_there_is_no_room_for_is_closed", async || {
        let (one, other) = UnixStream::pair().unwrap();
        let (reader, mut writer) = std::io::pipe().unwrap();
        let before = open_descriptors();
        for count in 1..20_usize {
            let fds = vec![reader.as_fd(); count];
            for most in 0..=count {
                one.send_fds(b"x", &fds).await.unwrap();
                let received = other.recv_fds(&mut [0; 8], most).await.unwrap();
                assert_eq!(received.fds.len(), most, "of {count}");
                assert_eq!(received.fds_lost, most < count);
                assert_eq!(open_descriptors(), before + most);
                for fd in received.fds {
                    assert!(is_closed_on_exec(&fd));
                    assert_reads_from(fd, &mut writer);
                }
            }
        }
        // Who reads without any room closes them, and so does who drops the socket.
        one.send_fds(b"x", &[reader.as_fd()]).await.unwrap();
        assert_eq!(other.read(&mut [0; 8]).await.unwrap(), 1);
        assert_eq!(open_descriptors(), before);
        drop(reader);
        let error = writer.write_all(b"x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    });
}

/// When the process may not open any more, what came is told to be incomplete, and the bytes are
/// there.
#[test]
fn a_shortage_loses_descriptors_and_says_so() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    alone("a_shortage_loses_descriptors_and_says_so", async || {
        let (one, other) = UnixStream::pair().unwrap();
        let reader = File::open("/dev/null").unwrap();
        let old = getrlimit(Resource::Nofile);
        for left in [0, 1, 2] {
            one.send_fds(b"three", &[reader.as_fd(); 3]).await.unwrap();
            // The free numbers, in their order: with so many below the limit.
            let free: Vec<_> = (0..=left)
                .map(|_| File::open("/dev/null").unwrap())
                .collect();
            let mut new = old;
            new.current = Some(free[left].as_raw_fd() as u64);
            drop(free);
            setrlimit(Resource::Nofile, new).unwrap();
            let received = other.recv_fds(&mut [0; 8], 3).await;
            setrlimit(Resource::Nofile, old).unwrap();
            let received = received.unwrap();
            assert_eq!(received.length, 5);
            assert_eq!(received.fds.len(), left);
            assert!(received.fds_lost);
        }
    });
}

#[test]
fn what_can_not_be_sent_is_told() {
    alone("what_can_not_be_sent_is_told", async || {
        let (one, other) = UnixStream::pair().unwrap();
        let fd = one.as_fd();
        let error = one.send_fds(b"", &[fd]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let error = one.send_fds(b"x", &vec![fd; 254]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("253"), "{error}");

        let before = open_descriptors();
        one.send_fds(b"x", &vec![fd; 253]).await.unwrap();
        let received = other.recv_fds(&mut [0; 8], usize::MAX).await.unwrap();
        assert_eq!(received.fds.len(), 253);
        drop(received);
        assert_eq!(open_descriptors(), before);
        let error = other.try_recv_fds(&mut [0; 8], 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        // No descriptors are none.
        assert_eq!(one.send_fds(b"plain", &[]).await.unwrap(), 5);
        let received = other.recv_fds(&mut [0; 8], 1).await.unwrap();
        assert_eq!((received.length, received.fds.len()), (5, 0));
        assert!(!received.fds_lost);
        drop(one);
        assert_eq!(other.recv_fds(&mut [0; 8], 1).await.unwrap().length, 0);
    });
}

/// What is sent in part has sent its descriptors once; the rest follows without them.
#[test]
fn a_send_in_parts_sends_descriptors_once() {
    alone("a_send_in_parts_sends_descriptors_once", async || {
        let (one, other) = UnixStream::pair().unwrap();
        let bytes = pattern(1 << 20);
        let (reader, mut writer) = std::io::pipe().unwrap();
        let before = open_descriptors();
        let sending = async {
            let sent = one.send_fds(&bytes, &[reader.as_fd()]).await.unwrap();
            assert!(0 < sent && sent < bytes.len(), "{sent} went at once");
            one.write_all(&bytes[sent..]).await.unwrap();
            one.send_all_fds(&bytes, &[reader.as_fd()]).await.unwrap();
            one.shutdown(std::net::Shutdown::Write).unwrap();
        };
        let receiving = async {
            let (mut all, mut fds) = (Vec::new(), Vec::new());
            let mut space = vec![0; 9999];
            loop {
                let received = other.recv_fds(&mut space, 4).await.unwrap();
                assert!(!received.fds_lost);
                fds.extend(received.fds);
                match received.length {
                    0 => return (all, fds),
                    length => all.extend_from_slice(&space[..length]),
                }
            }
        };
        let ((), (all, fds)) = join(sending, receiving).await;
        assert!(all == [&bytes[..], &bytes].concat());
        assert_eq!(fds.len(), 2);
        for fd in fds {
            assert_reads_from(fd, &mut writer);
        }
        assert_eq!(open_descriptors(), before);
    });
}

/// A future that waits for room or for descriptors and is dropped has passed none.
#[test]
fn cancelled_futures_pass_nothing() {
    alone("cancelled_futures_pass_nothing", async || {
        let (one, other) = UnixStream::pair().unwrap();
        let mut space = vec![0; 1 << 16];
        assert!(
            timeout(MOMENT, other.recv_fds(&mut space, 1))
                .await
                .is_err()
        );
        let mut filled = 0;
        while let Ok(count) = one.try_write(&space) {
            filled += count;
        }
        let before = open_descriptors();
        let fds = [one.as_fd()];
        assert!(timeout(MOMENT, one.send_fds(b"x", &fds)).await.is_err());
        while filled > 0 {
            let received = other.recv_fds(&mut space, 1).await.unwrap();
            assert!(received.fds.is_empty());
            filled -= received.length;
        }
        assert_eq!(one.send_fds(b"x", &fds).await.unwrap(), 1);
        let received = other.recv_fds(&mut space, 1).await.unwrap();
        assert_eq!((received.length, received.fds.len()), (1, 1));
        drop(received);
        assert_eq!(open_descriptors(), before);
    });
}

/// What is lent to be sent is still ours afterwards.
#[test]
fn what_was_sent_stays_open_here() {
    run(async {
        let (one, other) = UnixDatagram::pair().unwrap();
        let file = File::open("/dev/null").unwrap();
        let fd: BorrowedFd<'_> = file.as_fd();
        one.send_fds(b"", &[fd]).await.unwrap();
        let received = other.recv_fds(&mut [0; 1], 1).await.unwrap();
        assert_eq!((received.length, received.fds.len()), (0, 1));
        drop(received);
        rustix::io::fcntl_getfd(&file).unwrap();
        one.send_fds(b"longer", &[fd]).await.unwrap();
        let received = other.recv_fds(&mut [0; 1], 1).await.unwrap();
        assert!(received.truncated && !received.fds_lost);
        assert_eq!(received.fds.len(), 1);
    });
}

/// Descriptors that come on the way of a copy are closed, through a buffer and within the kernel.
#[test]
fn what_comes_while_copying_is_closed() {
    alone("what_comes_while_copying_is_closed", async || {
        let (client, a) = UnixStream::pair().unwrap();
        let (b, server) = common::pair().await;
        let (reader, mut writer) = std::io::pipe().unwrap();
        let before = open_descriptors();
        let bytes = pattern(4 << 20);
        let sending = async {
            for piece in bytes.chunks(50_000) {
                let fds = [reader.as_fd(); 3];
                client.send_all_fds(piece, &fds).await.unwrap();
            }
            drop(client);
        };
        let copying = async {
            windlass_net::io::copy(&a, &b).await.unwrap();
            b.shutdown(std::net::Shutdown::Write).unwrap();
        };
        let receiving = common::read_to_end(&server);
        let ((), (), got) = futures::join!(sending, copying, receiving);
        assert!(got.unwrap() == bytes);
        // The client is gone; pipes that are lent for splicing may be kept for the next.
        assert!(open_descriptors() <= before - 1 + 4);
        drop(reader);
        let error = writer.write_all(b"x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    });
}
