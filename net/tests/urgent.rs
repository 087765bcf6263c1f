//! Urgent data: the byte itself, the mark, and what is waited for when there is none.

mod common;

use common::{MOMENT, pair, run};
use futures::future::join;
use std::io::ErrorKind;
use std::net::Shutdown;
use windlass_net::TcpStream;
use windlass_reactor::time::timeout;

/// What the back end that serves these tests can tell.
fn features() -> windlass_reactor::Features {
    windlass_reactor::Poller::new().unwrap().features()
}

/// Whoever waits for urgent data gets them, whatever is unread before them.
#[test]
fn the_urgent_byte_overtakes() {
    if !features().priority {
        return eprintln!("skipped: this back end doesn't tell of urgent data");
    }
    run(async {
        let (client, server) = pair().await;
        let sending = async {
            windlass_reactor::time::sleep(MOMENT).await;
            client.write_all(b"before").await.unwrap();
            client.send_oob(b'!').await.unwrap();
            client.write_all(b"after").await.unwrap();
        };
        let (urgent, ()) = join(server.recv_oob(), sending).await;
        assert_eq!(urgent.unwrap(), Some(b'!'));
        let mut space = [0; 64];
        let count = server.read(&mut space).await.unwrap();
        assert_eq!(&space[..count], b"before");
        assert!(server.at_mark().unwrap());
        let count = server.read(&mut space).await.unwrap();
        assert_eq!(&space[..count], b"after");
        assert!(!server.at_mark().unwrap());
        let none = server.try_recv_oob().unwrap_err();
        assert_eq!(none.kind(), ErrorKind::WouldBlock);
        assert!(timeout(MOMENT, server.recv_oob()).await.is_err());
    });
}

#[test]
fn one_byte_after_the_other_is_told() {
    if !features().priority {
        return eprintln!("skipped: this back end doesn't tell of urgent data");
    }
    run(async {
        let (client, server) = pair().await;
        for byte in 0..50 {
            client.send_oob(byte).await.unwrap();
            assert_eq!(server.recv_oob().await.unwrap(), Some(byte));
        }
    });
}

#[test]
fn urgent_data_in_line_are_read_at_the_mark() {
    run(async {
        let (client, server) = pair().await;
        server.set_oob_inline(true).unwrap();
        client.write_all(b"ab").await.unwrap();
        client.send_oob(b'!').await.unwrap();
        client.write_all(b"cd").await.unwrap();
        let mut space = [0; 64];
        let count = server.read(&mut space).await.unwrap();
        assert_eq!(&space[..count], b"ab");
        assert!(server.at_mark().unwrap());
        let mut rest = [0; 3];
        server.read_exact(&mut rest).await.unwrap();
        assert_eq!(&rest, b"!cd");
        let error = timeout(common::LIMIT, server.recv_oob()).await.unwrap();
        assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidInput);
    });
}

async fn waits_until(end: impl FnOnce(TcpStream) -> Option<TcpStream>, unread: &[u8]) {
    let (client, server) = pair().await;
    client.write_all(unread).await.unwrap();
    let mut space = [0; 64];
    if !unread.is_empty() {
        assert_eq!(server.peek(&mut space).await.unwrap(), unread.len());
    }
    // Nothing is known before the first attempt, which is what waiting begins with.
    let none = server.try_recv_oob().unwrap_err();
    assert_eq!(none.kind(), ErrorKind::WouldBlock);
    assert!(timeout(MOMENT, server.priority()).await.is_err());
    let ending = async {
        windlass_reactor::time::sleep(MOMENT).await;
        end(client)
    };
    let (told, client) = join(server.priority(), ending).await;
    told.unwrap();
    assert_eq!(server.try_recv_oob().unwrap(), None);
    assert_eq!(server.recv_oob().await.unwrap(), None);
    drop(client);
}

/// Where the system tells of the end by itself, whoever waits for urgent data hears of it.
#[test]
fn the_end_is_told_to_who_waits_for_urgent_data() {
    if !features().read_closed {
        return eprintln!("skipped: this back end doesn't tell when a peer sends no more");
    }
    fn half_close(client: TcpStream) -> Option<TcpStream> {
        client.shutdown(Shutdown::Write).unwrap();
        Some(client)
    }
    run(async {
        waits_until(half_close, b"").await;
        waits_until(half_close, b"unread").await;
    });
}

#[test]
fn a_reset_is_told_to_who_waits_for_urgent_data() {
    fn reset(client: TcpStream) -> Option<TcpStream> {
        client.reset().unwrap();
        None
    }
    run(async {
        waits_until(reset, b"").await;
        waits_until(reset, b"unread").await;
    });
}
