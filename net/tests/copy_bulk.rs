//! Copying in bulk, which goes on within the kernel: nothing is lost or doubled, however it ends, is
//! interrupted, or has to go back to a buffer.

mod common;

use common::{LIMIT, MOMENT, open_descriptors, pair, pattern, read_to_end, reset, run};
use futures::future::{join, join3};
use std::io::ErrorKind;
use std::time::Duration;
use windlass_net::io::{copy, copy_bidirectional};
use windlass_net::{Shutdown, TcpStream};
use windlass_reactor::time::{sleep, timeout};

/// A proxy between two connections: what runs it, and its outer ends.
async fn proxied() -> (TcpStream, (TcpStream, TcpStream), TcpStream) {
    let ((client, a), (b, server)) = (pair().await, pair().await);
    (client, (a, b), server)
}

/// Lengths that go up and down: from one byte to what several buffers hold.
fn lengths(seed: u32) -> impl Iterator<Item = usize> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let bits = (state >> 8) % 19;
        1 + (state >> 12) as usize % (1 << bits)
    })
}

/// Writes all, in pieces of any length and with pauses, and then the end.
async fn send(stream: &TcpStream, bytes: &[u8], seed: u32) {
    let mut rest = bytes;
    for (length, pause) in lengths(seed).zip(0_u32..) {
        let (piece, later) = rest.split_at(length.min(rest.len()));
        stream.write_all(piece).await.unwrap();
        rest = later;
        if rest.is_empty() {
            break;
        }
        if pause % 64 == 63 {
            sleep(Duration::from_millis(1)).await;
        }
    }
    stream.shutdown(Shutdown::Write).unwrap();
}

/// Reads to the end, in pieces of any length and with pauses.
async fn receive(stream: &TcpStream, seed: u32) -> Vec<u8> {
    let (mut all, mut space) = (Vec::new(), vec![0; 1 << 19]);
    for (length, pause) in lengths(seed).zip(0_u32..) {
        match stream.read(&mut space[..length]).await.unwrap() {
            0 => return all,
            count => all.extend_from_slice(&space[..count]),
        }
        if pause % 64 == 63 {
            sleep(Duration::from_millis(1)).await;
        }
    }
    unreachable!("there are lengths without end")
}

#[test]
fn pieces_of_any_length_arrive_in_order_both_ways() {
    for seed in [1, 2, 3] {
        run(async {
            let (client, (a, b), server) = proxied().await;
            let (up, down) = (pattern(12 << 20), pattern((9 << 20) + 17));
            let outer = join(
                join(send(&client, &up, seed), receive(&client, seed + 10)),
                join(send(&server, &down, seed + 20), receive(&server, seed + 30)),
            );
            let ((((), got_down), ((), got_up)), moved) =
                join(outer, copy_bidirectional(&a, &b)).await;
            assert!(got_up == up && got_down == down);
            assert_eq!(moved.unwrap(), (up.len() as u64, down.len() as u64));
        });
    }
}

/// Whichever side ends first, the other direction goes on in bulk.
#[test]
fn a_direction_goes_on_in_bulk_when_the_other_has_ended() {
    for client_is_first in [true, false] {
        run(async {
            let (client, (a, b), server) = proxied().await;
            let (first, second) = if client_is_first {
                (&client, &server)
            } else {
                (&server, &client)
            };
            let (much, more) = (pattern(2 << 20), pattern(8 << 20));
            let one = async {
                first.write_all(&much).await.unwrap();
                first.shutdown(Shutdown::Write).unwrap();
                read_to_end(first).await.unwrap()
            };
            let other = async {
                let got = read_to_end(second).await.unwrap();
                second.write_all(&more).await.unwrap();
                second.shutdown(Shutdown::Write).unwrap();
                got
            };
            let (got_more, got_much, moved) = join3(one, other, copy_bidirectional(&a, &b)).await;
            assert!(got_much == much && got_more == more);
            let (there, back) = moved.unwrap();
            let firsts = if client_is_first { there } else { back };
            assert_eq!(firsts, much.len() as u64);
            assert_eq!(there + back, (much.len() + more.len()) as u64);
        });
    }
}

/// Has `copying` moved into bulk and stopped by a reader that doesn't read: returns what was sent.
async fn stuck_in_bulk(
    from: &TcpStream,
    copying: &mut windlass_net::io::Copy<&TcpStream, &TcpStream>,
) -> Vec<u8> {
    // Made of a piece again and again, whose length fits into no buffer evenly.
    let bytes = pattern(1_000_003).repeat(64);
    let (mut sent, mut waits) = (0, 0);
    let sending = async {
        while sent < bytes.len() {
            let piece = &bytes[sent..(sent + (1 << 18)).min(bytes.len())];
            match timeout(MOMENT, from.write(piece)).await {
                Ok(count) => (sent, waits) = (sent + count.unwrap(), 0),
                // The copy has its turn before each wait: on a slow machine one is not enough.
                Err(_full) if waits < 4 => waits += 1,
                Err(_full) => return,
            }
        }
        panic!("64 MiB went into what nobody reads from");
    };
    futures::select_biased! {
        ended = futures::FutureExt::fuse(copying) => panic!("{ended:?}"),
        () = futures::FutureExt::fuse(Box::pin(sending)) => {}
    }
    bytes[..sent].into()
}

/// What is in the pipe is handed back when copying is given up.
#[test]
fn what_was_read_and_not_written_is_handed_back() {
    run(async {
        let ((from, a), (b, to)) = (pair().await, pair().await);
        let mut copying = copy(&a, &b);
        let sent = stuck_in_bulk(&from, &mut copying).await;
        let moved = usize::try_from(copying.moved()).unwrap();
        let unwritten = copying.take_unwritten().unwrap();
        assert!(!unwritten.is_empty());
        assert!(copying.take_unwritten().unwrap().is_empty());
        assert_eq!(copying.moved(), moved as u64);

        // By hand: what was moved, what was handed back, and what was never read.
        from.shutdown(Shutdown::Write).unwrap();
        let mut received = vec![0; moved];
        to.read_exact(&mut received).await.unwrap();
        received.extend(unwritten);
        received.extend(read_to_end(&a).await.unwrap());
        assert!(received == sent);
    });
}

/// Put aside in bulk and taken up again, also without what was handed back.
#[test]
fn it_goes_on_after_an_interruption() {
    for hands_back in [false, true] {
        run(async {
            let ((from, a), (b, to)) = (pair().await, pair().await);
            let mut copying = copy(&a, &b);
            let sent = stuck_in_bulk(&from, &mut copying).await;
            let moved = usize::try_from(copying.moved()).unwrap();
            let unwritten = match hands_back {
                true => copying.take_unwritten().unwrap(),
                false => Vec::new(),
            };
            from.shutdown(Shutdown::Write).unwrap();
            let reading = async {
                let mut received = vec![0; sent.len() - unwritten.len()];
                to.read_exact(&mut received).await.unwrap();
                received.splice(moved..moved, unwritten.iter().copied());
                received
            };
            let (copied, received) = join(copying, reading).await;
            assert_eq!(copied.unwrap(), (sent.len() - unwritten.len()) as u64);
            assert!(received == sent);
        });
    }
}

#[test]
fn an_idle_limit_holds_in_bulk() {
    run(async {
        let (client, (a, b), server) = proxied().await;
        let bytes = pattern(6 << 20);
        let mut copying = copy_bidirectional(&a, &b).idle_timeout(MOMENT * 5);
        let sending = client.write_all(&bytes);
        let mut received = vec![0; bytes.len()];
        let reading = server.read_exact(&mut received);
        let (sent, read, ended) = join3(sending, reading, &mut copying).await;
        sent.unwrap();
        read.unwrap();
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(copying.moved(), (bytes.len() as u64, 0));
        assert!(received == bytes);
    });
}

#[test]
fn a_reset_of_the_reader_ends_it() {
    run(async {
        let ((from, a), (b, to)) = (pair().await, pair().await);
        let mut copying = copy(&a, &b);
        stuck_in_bulk(&from, &mut copying).await;
        reset(from);
        // It is noticed when the writer lets it read again.
        let reading = async {
            let mut space = vec![0; 1 << 16];
            while timeout(LIMIT / 2, to.read(&mut space))
                .await
                .is_ok_and(|read| read.is_ok_and(|count| count > 0))
            {}
        };
        let reading = std::pin::pin!(reading);
        let copied = futures::future::select(copying, reading).await;
        let futures::future::Either::Left((copied, _)) = copied else {
            panic!("the reader has seen an end");
        };
        assert_eq!(copied.unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn a_reset_of_the_writer_ends_it_and_leaves_what_was_not_written() {
    run(async {
        let ((from, a), (b, to)) = (pair().await, pair().await);
        let mut copying = copy(&a, &b);
        stuck_in_bulk(&from, &mut copying).await;
        reset(to);
        let error = (&mut copying).await.unwrap_err().kind();
        assert!(
            matches!(error, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
            "{error:?}"
        );
        assert!(!copying.take_unwritten().unwrap().is_empty());
    });
}

/// Urgent data are skipped, as a plain read does, and aren't taken for the end.
#[test]
fn urgent_data_in_bulk_are_no_end() {
    run(async {
        let ((from, a), (b, to)) = (pair().await, pair().await);
        let (first, second) = (pattern(4 << 20), pattern(3 << 20));
        let sending = async {
            from.write_all(&first).await.unwrap();
            from.send_oob(b'!').await.unwrap();
            from.write_all(&second).await.unwrap();
            from.shutdown(Shutdown::Write).unwrap();
        };
        let mut received = vec![0; first.len() + second.len()];
        let reading = to.read_exact(&mut received);
        let ((), read, copied) = join3(sending, reading, copy(&a, &b)).await;
        read.unwrap();
        assert_eq!(copied.unwrap(), (first.len() + second.len()) as u64);
        assert!(received == [first, second].concat());
    });
}

/// Small messages after bulk get through one by one.
#[test]
fn small_messages_follow_bulk() {
    run(async {
        let (client, (a, b), server) = proxied().await;
        let talking = async {
            for _ in 0..3 {
                let bytes = pattern(2 << 20);
                let mut received = vec![0; bytes.len()];
                let (sent, read) =
                    join(client.write_all(&bytes), server.read_exact(&mut received)).await;
                sent.unwrap();
                read.unwrap();
                assert!(received == bytes);
                for _ in 0..20 {
                    server.write_all(b"and").await.unwrap();
                    client.read_exact(&mut [0; 3]).await.unwrap();
                    client.write_all(b"so on").await.unwrap();
                    server.read_exact(&mut [0; 5]).await.unwrap();
                }
            }
            drop((client, server));
        };
        let (moved, ()) = join(copy_bidirectional(&a, &b), talking).await;
        assert_eq!(moved.unwrap(), (3 * ((2 << 20) + 100), 3 * 60));
    });
}

/// Pipes are lent for as long as bytes are in them: connections that wait for more have none.
#[test]
fn waiting_connections_hold_no_pipe() {
    if !common::is_child() {
        return common::assert_passes_in_child("waiting_connections_hold_no_pipe");
    }
    const CONNECTIONS: usize = 40;
    run(async {
        let bytes = pattern(1 << 20);
        let mut ends = Vec::new();
        for _ in 0..CONNECTIONS {
            ends.push((pair().await, pair().await));
        }
        let before = open_descriptors();
        let mut copies = Vec::new();
        for ((from, a), (b, to)) in &ends {
            let mut copying = copy(a, b);
            let mut received = vec![0; bytes.len()];
            let passing = join(from.write_all(&bytes), to.read_exact(&mut received));
            futures::select_biased! {
                ended = futures::FutureExt::fuse(&mut copying) => panic!("{ended:?}"),
                _ = futures::FutureExt::fuse(Box::pin(passing)) => {}
            }
            assert!(received == bytes);
            copies.push(copying);
        }
        let grown = open_descriptors() - before;
        assert!(grown <= 2 * 4, "{grown} descriptors more");
    });
}
