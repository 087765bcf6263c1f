//! One direction ends while the other goes on; and ends that come by a reset.

mod common;

use common::{MOMENT, fill, pair, pattern, read_to_end, reset, run};
use futures::future::join;
use std::io::ErrorKind;
use windlass_net::{Shutdown, TcpStream};
use windlass_reactor::signal::{Signal, SignalKind};
use windlass_reactor::time::timeout;

#[test]
fn the_answer_comes_after_the_request_has_ended() {
    run(async {
        let (client, server) = pair().await;
        client.write_all(b"request").await.unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(read_to_end(&server).await.unwrap(), b"request");
        let answer = pattern(1 << 20);
        let sending = async {
            server.write_all(&answer).await.unwrap();
            server.shutdown(Shutdown::Write).unwrap();
        };
        let (read, ()) = join(read_to_end(&client), sending).await;
        assert!(read.unwrap() == answer);
    });
}

/// The end stays: each read says it again.
#[test]
fn the_end_is_told_again() {
    run(async {
        let (client, server) = pair().await;
        client.shutdown(Shutdown::Write).unwrap();
        for _ in 0..3 {
            assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 0);
            assert_eq!(server.peek(&mut [0; 8]).await.unwrap(), 0);
        }
    });
}

/// A writer whose peer has ended its own direction, and doesn't read, waits for room.
#[test]
fn a_half_closed_peer_that_does_not_read_is_waited_for() {
    run(async {
        let (client, server) = pair().await;
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 0);
        fill(&server).await;
        let mut attempts = 0;
        let writing = async {
            loop {
                server.writable().await.unwrap();
                attempts += 1;
                if server.try_write(&[0]).is_ok() {
                    break;
                }
            }
        };
        assert!(timeout(MOMENT, writing).await.is_err());
        assert!(attempts < 10, "it has spun: {attempts}");
        // Room comes when the peer reads.
        let reading = async {
            let mut space = vec![0; 1 << 16];
            while timeout(MOMENT, client.read(&mut space)).await.is_ok() {}
        };
        let (written, ()) = join(server.write_all(&[1; 1000]), reading).await;
        written.unwrap();
    });
}

#[test]
fn shutting_down_reads_ends_a_wait_for_one() {
    run(async {
        let (client, _server) = pair().await;
        let shutting = async {
            windlass_reactor::time::sleep(MOMENT).await;
            client.shutdown(Shutdown::Read).unwrap();
        };
        let mut space = [0; 8];
        let (read, ()) = join(client.read(&mut space), shutting).await;
        assert_eq!(read.unwrap(), 0);
    });
}

#[test]
fn a_reset_is_told_to_a_waiting_reader() {
    run(async {
        let (client, server) = pair().await;
        let resetting = async {
            windlass_reactor::time::sleep(MOMENT).await;
            reset(client);
        };
        let mut space = [0; 8];
        let (read, ()) = join(server.read(&mut space), resetting).await;
        assert_eq!(read.unwrap_err().kind(), ErrorKind::ConnectionReset);
        // An answer or an error, but neither a hang nor a panic.
        let _ = (server.peer_addr(), server.local_addr());
    });
}

#[test]
fn a_reset_is_told_to_a_waiting_writer() {
    run(async {
        let (client, server) = pair().await;
        fill(&server).await;
        let resetting = async {
            windlass_reactor::time::sleep(MOMENT).await;
            reset(client);
        };
        let (written, ()) = join(server.write_all(&[0; 100]), resetting).await;
        let kind = written.unwrap_err().kind();
        assert!(
            matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
            "{kind}"
        );
    });
}

/// After a reset there is nothing to shut down, which is no error.
#[test]
fn shutting_down_after_a_reset_succeeds() {
    run(async {
        let (client, server) = pair().await;
        reset(client);
        let error = server.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        for how in [Shutdown::Write, Shutdown::Read, Shutdown::Both] {
            server.shutdown(how).unwrap();
        }
    });
}

/// Writing to a peer that is gone is an error by every way, and no signal.
#[test]
fn no_write_raises_a_signal() {
    const BROKEN_PIPE: SignalKind = SignalKind::from_raw(13);
    run(async {
        let mut signals = Signal::new(BROKEN_PIPE).unwrap();
        let (client, server) = pair().await;
        reset(client);
        let _reset = server.read(&mut [0; 8]).await.unwrap_err();
        let bytes = [
            std::io::IoSlice::new(b"gone"),
            std::io::IoSlice::new(b"gone"),
        ];
        let expect_gone = |kind| assert_eq!(kind, ErrorKind::BrokenPipe);
        expect_gone(server.write(b"gone").await.unwrap_err().kind());
        expect_gone(server.write_all(b"gone").await.unwrap_err().kind());
        expect_gone(server.write_vectored(&bytes).await.unwrap_err().kind());
        expect_gone(server.try_write(b"gone").unwrap_err().kind());
        expect_gone(server.try_write_vectored(&bytes).unwrap_err().kind());
        assert!(
            timeout(MOMENT, signals.recv()).await.is_err(),
            "SIGPIPE was raised"
        );
    });
}

#[test]
fn the_end_before_the_space_is_full_is_an_error() {
    run(async {
        let (client, server) = pair().await;
        client.write_all(b"abc").await.unwrap();
        drop(client);
        let (mut space, mut filled) = ([0; 5], 0);
        let read = server.read_exact_from(&mut space, &mut filled).await;
        assert_eq!(read.unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(&space[..filled], b"abc");
    });
}

#[test]
fn every_client_killed_in_the_middle_of_a_write_is_noticed() {
    run(async {
        let listener = common::listen().await;
        let address = listener.local_addr().unwrap();
        let mut ends = Vec::new();
        for index in 0..200 {
            let client = TcpStream::connect(address).await.unwrap();
            let (server, _) = listener.accept().await.unwrap();
            client.write_all(&[1; 100]).await.unwrap();
            if index % 2 == 0 {
                reset(client);
            }
            ends.push(server);
        }
        for server in ends {
            let ended = timeout(MOMENT * 100, read_to_end(&server)).await.unwrap();
            if let Err(error) = ended {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            }
        }
    });
}
