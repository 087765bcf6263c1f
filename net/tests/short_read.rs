//! Reads that fill their space only in part: what comes after them is never missed.
//!
//! Each case runs on a stream that isn't registered with a reactor yet, and on one that is: the
//! first finds out by registering what is there, the second by an event.

mod common;

use common::{MOMENT, pair, pair_with_std, pattern, read_to_end, run, std_write_all};
use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::net::TcpStream as StdTcpStream;
use std::os::fd::AsFd;
use windlass_net::{Shutdown, TcpStream};
use windlass_reactor::Poller;
use windlass_reactor::time::timeout;

/// Runs `case` on a stream that has never waited, and on one that has.
fn on_both(case: &impl AsyncFn(&TcpStream, &StdTcpStream)) {
    run(async {
        let (stream, peer) = pair_with_std().await;
        case(&stream, &peer).await;
        let (stream, peer) = pair_with_std().await;
        register(&stream).await;
        case(&stream, &peer).await;
    });
}

/// Says whether a short read counts as all there was: it does not where urgent data, at which reads
/// end, come without being told of, since what is behind them may be no new event.
fn short_reads_count() -> bool {
    let features = Poller::new().unwrap().features();
    features.priority || !features.native_edges
}

/// Has the stream wait once, so that the reactor knows it.
async fn register(stream: &TcpStream) {
    assert!(
        timeout(MOMENT / 10, stream.read(&mut [0; 8]))
            .await
            .is_err()
    );
}

async fn expect(stream: &TcpStream, bytes: &[u8]) {
    let mut space = [0; 64];
    let count = stream.read(&mut space).await.unwrap();
    assert_eq!(&space[..count], bytes);
}

/// Data, a short read, and again.
#[test]
fn data_after_a_short_read_wakes() {
    on_both(&async |stream, peer| {
        for _ in 0..100 {
            std_write_all(peer, b"0123456789");
            expect(stream, b"0123456789").await;
        }
    });
}

#[test]
fn a_wait_after_a_short_read_ends_with_the_next_data() {
    on_both(&async |stream, peer| {
        std_write_all(peer, b"first");
        expect(stream, b"first").await;
        assert!(timeout(MOMENT, stream.read(&mut [0; 8])).await.is_err());
        std_write_all(peer, b"second");
        expect(stream, b"second").await;
    });
}

/// The end comes right behind the data, before they are read.
#[test]
fn the_end_right_after_data_is_seen() {
    for length in [5, 64] {
        on_both(&async |stream, peer| {
            std_write_all(peer, &pattern(length));
            peer.shutdown(Shutdown::Write).unwrap();
            std::thread::sleep(MOMENT / 10);
            expect(stream, &pattern(length)).await;
            expect(stream, b"").await;
        });
    }
}

#[test]
fn the_end_after_a_short_read_is_seen() {
    on_both(&async |stream, peer| {
        std_write_all(peer, b"data");
        expect(stream, b"data").await;
        peer.shutdown(Shutdown::Write).unwrap();
        expect(stream, b"").await;
    });
}

/// Reads stop short at urgent data, with more behind them.
#[test]
fn urgent_data_do_not_hide_what_is_behind() {
    on_both(&async |stream, peer| {
        let socket = socket2::SockRef::from(peer);
        std_write_all(peer, b"before");
        socket.send_out_of_band(b"!").unwrap();
        std_write_all(peer, b"behind");
        std::thread::sleep(MOMENT / 10);
        expect(stream, b"before").await;
        expect(stream, b"behind").await;
        std_write_all(peer, b"later");
        expect(stream, b"later").await;
    });
}

/// The same while the reader waits, and many times, so that events and reads meet in any order.
#[test]
fn urgent_data_in_between_lose_nothing() {
    on_both(&async |stream, peer| {
        const ROUNDS: usize = 300;
        let writer = peer.try_clone().unwrap();
        let writing = std::thread::spawn(move || {
            for _ in 0..ROUNDS {
                std_write_all(&writer, b"abcd");
                socket2::SockRef::from(&writer)
                    .send_out_of_band(b"!")
                    .unwrap();
                std_write_all(&writer, b"efgh");
            }
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let read = read_to_end(stream).await.unwrap();
        // Urgent bytes that the next ones overtake become ordinary ones.
        let ordinary = read
            .into_iter()
            .filter(|byte| *byte != b'!')
            .collect::<Vec<_>>();
        assert_eq!(ordinary, b"abcdefgh".repeat(ROUNDS));
        writing.join().unwrap();
    });
}

/// Whoever has the descriptor may have urgent data come in line: then reads end at the mark.
#[test]
fn urgent_data_in_line_lose_nothing() {
    on_both(&async |stream, peer| {
        let by_descriptor = socket2::SockRef::from(stream);
        by_descriptor.set_out_of_band_inline(true).unwrap();
        std_write_all(peer, b"before");
        socket2::SockRef::from(peer).send_out_of_band(b"!").unwrap();
        std_write_all(peer, b"behind");
        std::thread::sleep(MOMENT / 10);
        let mut all = [0; 13];
        stream.read_exact(&mut all).await.unwrap();
        assert_eq!(&all, b"before!behind");
    });
}

/// A short read counts as all there was, unless somebody else has had the descriptor, or that of
/// the listener: then the next read has to ask.
#[test]
fn only_sockets_that_nobody_else_has_seen_count_as_drained() {
    async fn counts_as_drained(stream: &TcpStream, peer: &StdTcpStream) -> bool {
        register(stream).await;
        std_write_all(peer, b"data");
        expect(stream, b"data").await;
        timeout(MOMENT, stream.readable()).await.is_err()
    }
    run(async {
        let (stream, peer) = pair_with_std().await;
        let counts = counts_as_drained(&stream, &peer).await;
        assert_eq!(counts, short_reads_count());
        stream.as_fd();
        assert!(!counts_as_drained(&stream, &peer).await);

        let (stream, peer) = pair_with_std().await;
        let stream = TcpStream::from_std(stream.into_std().unwrap()).unwrap();
        assert!(!counts_as_drained(&stream, &peer).await);

        let listener = common::listen().await;
        listener.as_fd();
        let peer = StdTcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        assert!(!counts_as_drained(&stream, &peer).await);
    });
}

/// Peeking takes nothing, so that it never makes the stream count as drained.
#[test]
fn peeking_leaves_all_there() {
    on_both(&async |stream, peer| {
        std_write_all(peer, b"peeked");
        let mut space = [0; 64];
        for _ in 0..3 {
            assert_eq!(stream.peek(&mut space).await.unwrap(), 6);
        }
        stream.readable().await.unwrap();
        expect(stream, b"peeked").await;
        assert!(timeout(MOMENT, stream.peek(&mut space)).await.is_err());
        std_write_all(peer, b"more");
        assert_eq!(stream.peek(&mut space).await.unwrap(), 4);
        expect(stream, b"more").await;
    });
}

#[test]
fn an_empty_space_takes_nothing() {
    on_both(&async |stream, peer| {
        std_write_all(peer, b"data");
        std::thread::sleep(MOMENT / 10);
        assert_eq!(stream.read(&mut []).await.unwrap(), 0);
        assert_eq!(stream.read_vectored(&mut []).await.unwrap(), 0);
        expect(stream, b"data").await;
    });
}

#[test]
fn a_space_that_is_filled_leaves_the_rest() {
    on_both(&async |stream, peer| {
        std_write_all(peer, b"abcdef");
        std::thread::sleep(MOMENT / 10);
        let mut space = [0; 3];
        assert_eq!(stream.read(&mut space).await.unwrap(), 3);
        assert_eq!(stream.read(&mut space).await.unwrap(), 3);
        assert!(timeout(MOMENT, stream.read(&mut space)).await.is_err());
    });
}

#[test]
fn several_spaces_count_together() {
    on_both(&async |stream, peer| {
        let (mut one, mut two) = ([0; 4], [0; 4]);
        for bytes in [&b"abcdefgh"[..], b"abcdef", b"ab"] {
            std_write_all(peer, bytes);
            std::thread::sleep(MOMENT / 10);
            let mut spaces = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
            assert_eq!(
                stream.read_vectored(&mut spaces).await.unwrap(),
                bytes.len()
            );
            let all = [one, two].concat();
            assert_eq!(&all[..bytes.len()], bytes);
        }
        let mut spaces = [IoSliceMut::new(&mut one), IoSliceMut::new(&mut two)];
        let waiting = stream.read_vectored(&mut spaces);
        assert!(timeout(MOMENT, waiting).await.is_err());
    });
}

/// More spaces than one call uses: those that it left empty say nothing of what is there.
#[test]
fn more_spaces_than_a_call_uses_hide_nothing() {
    on_both(&async |stream, peer| {
        let sent = pattern(3000);
        std_write_all(peer, &sent);
        let mut received = Vec::new();
        while received.len() < sent.len() {
            let mut bytes = vec![[0]; 3000];
            let mut spaces = bytes
                .iter_mut()
                .map(|byte| IoSliceMut::new(byte))
                .collect::<Vec<_>>();
            let count = stream.read_vectored(&mut spaces).await.unwrap();
            received.extend(bytes[..count].iter().map(|[byte]| *byte));
        }
        assert!(received == sent);
    });
}

/// Whatever is tried without waiting counts as well.
#[test]
fn trying_and_waiting_go_together() {
    on_both(&async |stream, peer| {
        let mut space = [0; 64];
        assert_eq!(
            stream.try_read(&mut space).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
        for _ in 0..20 {
            std_write_all(peer, b"tried");
            loop {
                stream.readable().await.unwrap();
                match stream.try_read(&mut space) {
                    Ok(count) => break assert_eq!(&space[..count], b"tried"),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                }
            }
        }
        // After a short read there is nothing, and so no readiness.
        let silent = timeout(MOMENT, stream.readable()).await.is_err();
        assert!(silent || !short_reads_count());
    });
}

/// An operation of one's own counts.
#[test]
fn an_operation_of_ones_own_counts() {
    on_both(&async |stream, peer| {
        let take = || {
            let mut space = [0; 64];
            let flags = rustix::net::RecvFlags::empty();
            Ok(rustix::net::recv(stream.as_fd(), &mut space, flags)?.0)
        };
        for _ in 0..20 {
            std_write_all(peer, b"own");
            loop {
                stream.readable().await.unwrap();
                match stream.try_io(windlass_net::Direction::Read, take) {
                    Ok(count) => break assert_eq!(count, 3),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                }
            }
        }
    });
}

/// Pieces of all sizes, sent at all paces, with an end right behind them, come through whole.
#[test]
fn nothing_is_lost_at_any_pace() {
    on_both(&async |stream, peer| {
        let sent = pattern(200_000);
        let writer = peer.try_clone().unwrap();
        let bytes = sent.clone();
        let writing = std::thread::spawn(move || {
            let mut rest = &bytes[..];
            let mut size = 1;
            while !rest.is_empty() {
                size = (size * 7 + 3) % 1999 + 1;
                let (piece, more) = rest.split_at(size.min(rest.len()));
                std_write_all(&writer, piece);
                rest = more;
                if size % 3 == 0 {
                    std::thread::yield_now();
                }
            }
            writer.shutdown(Shutdown::Write).unwrap();
        });
        assert!(read_to_end(stream).await.unwrap() == sent);
        writing.join().unwrap();
    });
}

#[test]
fn vectored_writes_come_in_order() {
    run(async {
        let (client, server) = pair().await;
        let parts = [
            IoSlice::new(b"one"),
            IoSlice::new(b""),
            IoSlice::new(b"two"),
        ];
        assert_eq!(client.write_vectored(&parts).await.unwrap(), 6);
        expect(&server, b"onetwo").await;
        // More than one call may take is no error.
        let many = (0..3000).map(|_| IoSlice::new(b"x")).collect::<Vec<_>>();
        let count = client.write_vectored(&many).await.unwrap();
        assert!((1..=3000).contains(&count));
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(read_to_end(&server).await.unwrap(), vec![b'x'; count]);
    });
}
