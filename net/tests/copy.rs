//! Copying, in one direction and both: what ends when, what is flushed, and what is never lost.

mod common;

use common::{LIMIT, MOMENT, assert_copies, fill, listen, pair, pattern, read_to_end, reset, run};
use futures::future::{join, join3};
use std::io::ErrorKind;
use std::time::{Duration, Instant};
use windlass_net::io::{CopyFrom, CopyTo, copy, copy_bidirectional};
use windlass_net::{Shutdown, TcpStream};
use windlass_reactor::time::{sleep, timeout};

#[test]
fn copying_one_way_counts_and_leaves_the_writer_open() {
    run(async {
        let ((from, a), (b, to)) = (pair().await, pair().await);
        assert_copies(&from, (&a, &b), &to, 3 << 20).await;
        assert!(timeout(MOMENT, to.read(&mut [0; 8])).await.is_err());
    });
}

/// A proxy between two connections: what runs it, and its outer ends.
async fn proxied() -> (TcpStream, (TcpStream, TcpStream), TcpStream) {
    let ((client, a), (b, server)) = (pair().await, pair().await);
    (client, (a, b), server)
}

/// The client ends its direction after the request; all of the answer is delivered.
#[test]
fn a_direction_that_ends_first_does_not_cut_the_other() {
    run(async {
        let (client, (a, b), server) = proxied().await;
        let answer = pattern(1 << 20);
        let asking = async {
            client.write_all(b"request").await.unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            read_to_end(&client).await.unwrap()
        };
        let answering = async {
            assert_eq!(read_to_end(&server).await.unwrap(), b"request");
            server.write_all(&answer).await.unwrap();
            server.shutdown(Shutdown::Write).unwrap();
        };
        let (got, (), moved) = join3(asking, answering, copy_bidirectional(&a, &b)).await;
        assert!(got == answer);
        assert_eq!(moved.unwrap(), (7, answer.len() as u64));
    });
}

/// Whichever side ends first, with data pending in the other direction.
#[test]
fn it_finishes_whichever_side_ends_first() {
    for client_is_first in [true, false] {
        run(async {
            let (client, (a, b), server) = proxied().await;
            let (first, second) = if client_is_first {
                (client, server)
            } else {
                (server, client)
            };
            second.write_all(&pattern(100_000)).await.unwrap();
            first.write_all(b"end").await.unwrap();
            first.shutdown(Shutdown::Write).unwrap();
            let ending = async {
                assert_eq!(read_to_end(&second).await.unwrap(), b"end");
                second.shutdown(Shutdown::Write).unwrap();
                assert!(read_to_end(&first).await.unwrap() == pattern(100_000));
            };
            let (moved, ()) = join(copy_bidirectional(a, b), ending).await;
            let (there, back) = moved.unwrap();
            let expected = if client_is_first {
                (3, 100_000)
            } else {
                (100_000, 3)
            };
            assert_eq!((there, back), expected);
        });
    }
}

/// Both sides send all they can before they read, through a proxy that is full both ways.
#[test]
fn both_directions_at_full_speed_lose_nothing() {
    run(async {
        let (client, (a, b), server) = proxied().await;
        let (up, down) = (pattern(8 << 20), pattern(6 << 20));
        let end = async |stream: &TcpStream, bytes: &[u8]| {
            let writing = async {
                stream.write_all(bytes).await.unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
            };
            join(writing, read_to_end(stream)).await.1.unwrap()
        };
        let ends = join(end(&client, &up), end(&server, &down));
        let ((got_down, got_up), moved) = join(ends, copy_bidirectional(&a, &b)).await;
        assert!(got_down == down && got_up == up);
        assert_eq!(moved.unwrap(), (up.len() as u64, down.len() as u64));
    });
}

#[test]
fn a_reset_ends_it_with_its_error() {
    run(async {
        let (client, (a, b), _server) = proxied().await;
        let resetting = async {
            sleep(MOMENT).await;
            reset(client);
        };
        let (copied, ()) = join(copy_bidirectional(&a, &b), resetting).await;
        assert_eq!(copied.unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}

/// The limit counts from the last byte, in either direction.
#[test]
fn idle_connections_are_ended() {
    const IDLE: Duration = Duration::from_millis(200);
    run(async {
        let (client, (a, b), server) = proxied().await;
        let began = Instant::now();
        let mut copying = copy_bidirectional(&a, &b).idle_timeout(IDLE);
        let talking = async {
            for round in 0..8 {
                let (from, to) = if round % 2 == 0 {
                    (&client, &server)
                } else {
                    (&server, &client)
                };
                from.write_all(b"x").await.unwrap();
                assert_eq!(to.read(&mut [0; 8]).await.unwrap(), 1);
                sleep(IDLE / 4).await;
            }
            Instant::now()
        };
        let (ended, last) = join(&mut copying, talking).await;
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(copying.moved(), (4, 4));
        assert!(began.elapsed() >= IDLE / 4 * 7 + IDLE);
        assert!(last.elapsed() < LIMIT);
    });
}

#[test]
fn a_limit_that_is_never_reached_changes_nothing() {
    run(async {
        let (client, (a, b), server) = proxied().await;
        drop((client, server));
        let copying = copy_bidirectional(&a, &b).idle_timeout(Duration::MAX);
        assert_eq!(copying.await.unwrap(), (0, 0));
    });
}

/// What has been read is not lost when the future is put aside and taken up again.
#[test]
fn it_can_be_interrupted_and_go_on() {
    run(async {
        let (client, (a, b), server) = proxied().await;
        let bytes = pattern(4 << 20);
        let sending = async {
            client.write_all(&bytes).await.unwrap();
            client.shutdown(Shutdown::Write).unwrap();
        };
        let copying = async {
            let mut copying = copy(&a, &b);
            loop {
                match timeout(Duration::from_micros(200), &mut copying).await {
                    Ok(done) => break done.unwrap(),
                    Err(_interrupted) => sleep(Duration::from_micros(100)).await,
                }
            }
        };
        let reading = async {
            let mut received = vec![0; bytes.len()];
            server.read_exact(&mut received).await.unwrap();
            received
        };
        let ((), moved, received) = join3(sending, copying, reading).await;
        assert_eq!(moved, bytes.len() as u64);
        assert!(received == bytes);
    });
}

/// A blocked writer holds up its direction, and nothing is read on its behalf meanwhile.
#[test]
fn a_blocked_writer_is_waited_for() {
    run(async {
        let ((from, a), (b, to)) = (pair().await, pair().await);
        let filled = fill(&b).await;
        from.write_all(b"behind").await.unwrap();
        from.shutdown(Shutdown::Write).unwrap();
        let mut copying = copy(&a, &b);
        assert!(timeout(MOMENT, &mut copying).await.is_err());
        assert_eq!(copying.moved(), 0);
        let mut before = vec![0; filled];
        let (copied, read) = join(copying, to.read_exact(&mut before)).await;
        assert_eq!(copied.unwrap(), 6);
        read.unwrap();
        assert_eq!(to.read(&mut [0; 8]).await.unwrap(), 6);
    });
}

/// A writer that gathers is flushed when the reader has nothing for the moment.
#[cfg(feature = "futures-io")]
#[test]
fn a_gathering_writer_is_flushed_when_idle() {
    use futures::io::BufWriter;
    use windlass_net::io::FuturesIo;
    run(async {
        let ((from, a), (b, to)) = (pair().await, pair().await);
        let gathering = BufWriter::with_capacity(1 << 16, b);
        let talking = async {
            for _ in 0..5 {
                from.write_all(b"line").await.unwrap();
                let mut space = [0; 8];
                assert_eq!(to.read(&mut space).await.unwrap(), 4);
            }
            from.shutdown(Shutdown::Write).unwrap();
        };
        let (copied, ()) = join(copy(FuturesIo(a), FuturesIo(gathering)), talking).await;
        assert_eq!(copied.unwrap(), 20);
    });
}

/// A writer that takes nothing, and doesn't wait either, is an error and no endless loop.
#[test]
fn a_writer_that_takes_nothing_is_an_error() {
    use std::io;
    use std::task::{Context, Poll};
    struct Stuck;
    impl CopyTo for Stuck {
        fn poll_write(&mut self, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(0))
        }
        fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
        fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
    run(async {
        let (from, a) = pair().await;
        from.write_all(b"x").await.unwrap();
        let error = copy(&a, Stuck).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteZero);
    });
}

/// An endless source doesn't keep the other tasks of its thread from running.
#[test]
fn an_endless_source_gives_others_a_turn() {
    use std::io;
    use std::task::{Context, Poll};
    struct Endless;
    impl CopyFrom for Endless {
        fn poll_read(&mut self, _: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(space.len()))
        }
    }
    impl CopyTo for Endless {
        fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(bytes.len()))
        }
        fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
        fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
    run(async {
        let copying = copy(Endless, Endless);
        assert!(timeout(MOMENT, copying).await.is_err());
    });
}

/// Idle proxied connections hold no buffer: 64 KiB each would show.
#[test]
fn idle_pairs_hold_no_buffer() {
    if !common::is_child() {
        return common::assert_passes_in_child("idle_pairs_hold_no_buffer");
    }
    const PAIRS: usize = 500;
    run(async {
        let listener = listen().await;
        let address = listener.local_addr().unwrap();
        let mut outer = Vec::new();
        let mut copies = Vec::new();
        let resident_before = resident();
        for _ in 0..PAIRS {
            let mut ends = Vec::new();
            for _ in 0..2 {
                outer.push(TcpStream::connect(address).await.unwrap());
                ends.push(listener.accept().await.unwrap().0);
            }
            let (b, a) = (ends.pop().unwrap(), ends.pop().unwrap());
            let mut copying = copy_bidirectional(a, b);
            // One message each way, and then nothing.
            let talk = async {
                let (one, two) = (&outer[outer.len() - 2], &outer[outer.len() - 1]);
                for (from, to) in [(one, two), (two, one)] {
                    from.write_all(&[1; 1000]).await.unwrap();
                    to.read_exact(&mut [0; 1000]).await.unwrap();
                }
            };
            futures::select_biased! {
                ended = futures::FutureExt::fuse(&mut copying) => panic!("{ended:?}"),
                () = futures::FutureExt::fuse(Box::pin(talk)) => {}
            }
            copies.push(copying);
        }
        let grown = resident() - resident_before;
        assert!(grown / PAIRS < 4096, "{} bytes a pair", grown / PAIRS);
    });
}

/// How many bytes of memory the process has in use.
fn resident() -> usize {
    let told = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages = told.split(' ').nth(1).unwrap().parse::<usize>().unwrap();
    pages * 4096
}
