//! The halves of a stream: what ends when which of them is dropped, and putting them together.

mod common;

use common::{MOMENT, pair, pattern, read_to_end, run};
use futures::future::join;
use windlass_net::TcpStream;
use windlass_reactor::time::timeout;

async fn is_open(stream: &TcpStream) -> bool {
    timeout(MOMENT, stream.read(&mut [0; 8])).await.is_err()
}

#[test]
fn borrowed_halves_work_at_once_and_shut_nothing_down() {
    run(async {
        let (client, server) = pair().await;
        let bytes = pattern(1 << 20);
        let (reader, writer) = client.split();
        let echoing = async {
            let (reader, writer) = server.split();
            let mut space = [0; 4096];
            let mut left = bytes.len();
            while left > 0 {
                let count = reader.read(&mut space).await.unwrap();
                writer.write_all(&space[..count]).await.unwrap();
                left -= count;
            }
        };
        let mut back = vec![0; bytes.len()];
        let here = join(writer.write_all(&bytes), reader.read_exact(&mut back));
        let ((wrote, read), ()) = join(here, echoing).await;
        wrote.unwrap();
        read.unwrap();
        assert!(back == bytes);
        assert!(is_open(&server).await);
    });
}

/// The owned half that writes ends its direction, and only that.
#[test]
fn dropping_the_writing_half_ends_its_direction() {
    run(async {
        let (client, server) = pair().await;
        let (reader, writer) = client.into_split();
        writer.write_all(b"last").await.unwrap();
        drop(writer);
        assert_eq!(read_to_end(&server).await.unwrap(), b"last");
        server.write_all(b"answer").await.unwrap();
        let mut space = [0; 6];
        reader.read_exact(&mut space).await.unwrap();
        assert_eq!(&space, b"answer");
    });
}

/// Dropping the half that reads ends nothing.
#[test]
fn dropping_the_reading_half_ends_nothing() {
    run(async {
        let (client, server) = pair().await;
        let (reader, writer) = client.into_split();
        drop(reader);
        assert!(is_open(&server).await);
        writer.write_all(b"still").await.unwrap();
        assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 5);
    });
}

/// A half that is forgotten ends nothing, until the other one is gone, too.
#[test]
fn forgetting_the_writing_half_ends_nothing() {
    run(async {
        let (client, server) = pair().await;
        let (reader, writer) = client.into_split();
        writer.forget();
        assert!(is_open(&server).await);
        drop(reader);
        assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 0);
    });
}

/// A stream that is whole again ends nothing when it was put together.
#[test]
fn reuniting_ends_nothing() {
    run(async {
        let (client, server) = pair().await;
        let (reader, writer) = client.into_split();
        let client = reader.reunite(writer).unwrap();
        assert!(is_open(&server).await);
        let (reader, writer) = client.into_split();
        let client = writer.reunite(reader).unwrap();
        assert!(is_open(&server).await);
        client.write_all(b"whole").await.unwrap();
        assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 5);
    });
}

/// Halves of different streams stay what they are, and are given back.
#[test]
fn halves_of_different_streams_are_given_back() {
    run(async {
        let ((one, one_peer), (two, two_peer)) = (pair().await, pair().await);
        let (one_reader, one_writer) = one.into_split();
        let (two_reader, two_writer) = two.into_split();
        let error = one_reader.reunite(two_writer).unwrap_err();
        assert!(error.to_string().contains("different streams"));
        let (one_reader, two_writer) = (error.0, error.1);
        assert!(is_open(&one_peer).await && is_open(&two_peer).await);
        one_writer.reunite(one_reader).unwrap();
        drop((two_reader, two_writer));
        assert_eq!(two_peer.read(&mut [0; 8]).await.unwrap(), 0);
    });
}

#[test]
fn halves_live_on_different_threads() {
    run(async {
        let (client, server) = pair().await;
        let bytes = pattern(300_000);
        let (reader, writer) = client.into_split();
        let writing = std::thread::spawn({
            let bytes = bytes.clone();
            move || run(async { writer.write_all(&bytes).await.unwrap() })
        });
        let echoing = async {
            let bytes = read_to_end(&server).await.unwrap();
            server.write_all(&bytes).await.unwrap();
            drop(server);
        };
        let mut back = Vec::new();
        let reading = async {
            let mut space = [0; 5000];
            loop {
                match reader.read(&mut space).await.unwrap() {
                    0 => break,
                    count => back.extend_from_slice(&space[..count]),
                }
            }
        };
        join(echoing, reading).await;
        assert!(back == bytes);
        writing.join().unwrap();
    });
}

/// Closing by the traits of futures-io ends the direction, for the whole and for halves.
#[cfg(feature = "futures-io")]
#[test]
fn closing_by_futures_io_ends_the_direction() {
    use futures::{AsyncReadExt, AsyncWriteExt};
    run(async {
        let (mut client, server) = pair().await;
        AsyncWriteExt::write_all(&mut client, b"bye").await.unwrap();
        client.close().await.unwrap();
        assert_eq!(read_to_end(&server).await.unwrap(), b"bye");

        let mut by_reference = &server;
        AsyncWriteExt::write_all(&mut by_reference, b"bye")
            .await
            .unwrap();
        let (_reader, mut writer) = server.into_split();
        writer.close().await.unwrap();
        let mut all = Vec::new();
        client.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, b"bye");
        // Once more is no error.
        writer.close().await.unwrap();
    });
}

/// What a task may hold is sendable, and small: each connection has one.
#[test]
fn streams_and_their_futures_are_sendable_and_small() {
    fn assert_sendable<T: Send>(_: &T) {}
    run(async {
        let (client, server) = pair().await;
        let mut space = [0; 8];
        let read = client.read(&mut space);
        let write = server.write_all(b"x");
        assert_sendable(&read);
        assert_sendable(&write);
        assert_sendable(&TcpStream::connect("127.0.0.1:1"));
        assert!(size_of::<TcpStream>() <= 32);
        assert!(size_of_val(&read) <= 32, "{}", size_of_val(&read));
        assert!(size_of_val(&write) <= 32, "{}", size_of_val(&write));
    });
}
