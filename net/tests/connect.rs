//! Connecting: to one address or many, to whom refuses, to names.

mod common;

use common::{listen, run};
use std::io::ErrorKind;
use std::net::SocketAddr;
use windlass_net::{ConnectError, TcpListener, TcpStream};

/// An address on which nobody listens.
async fn refusing() -> SocketAddr {
    listen().await.local_addr().unwrap()
}

/// The system's own error, wherever the system tells it.
#[test]
fn a_refusal_keeps_its_cause() {
    run(async {
        let error = TcpStream::connect(refusing().await).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let expected = rustix::io::Errno::CONNREFUSED.raw_os_error();
        assert_eq!(error.raw_os_error(), Some(expected));
    });
}

#[test]
fn addresses_are_tried_in_turn() {
    run(async {
        let (first, second) = (listen().await, listen().await);
        let addresses = [
            refusing().await,
            first.local_addr().unwrap(),
            second.local_addr().unwrap(),
        ];
        let stream = TcpStream::connect(&addresses[..]).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), addresses[1]);
        let (accepted, address) = first.accept().await.unwrap();
        assert_eq!(address, stream.local_addr().unwrap());
        assert_eq!(accepted.local_addr().unwrap(), addresses[1]);
    });
}

#[test]
fn the_error_that_tells_most_is_told_if_all_fail() {
    run(async {
        // A link-local address without a zone is refused by the system itself.
        let (refusing, zoneless) = (refusing().await, "[fe80::1]:9".parse().unwrap());
        for addresses in [[zoneless, refusing], [refusing, zoneless]] {
            let error = TcpStream::connect(addresses).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            for address in addresses {
                assert!(error.to_string().contains(&address.to_string()), "{error}");
            }
            let error = error.get_ref().unwrap().downcast_ref::<ConnectError>();
            let tried: Vec<_> = error.unwrap().failures().map(|one| one.0).collect();
            assert_eq!(tried, addresses);
        }
    });
}

#[test]
fn what_is_no_address_is_refused() {
    run(async {
        for (text, what) in [
            ("foo", "no port"),
            ("1.2.3.4:99999", "not a number from 0 to 65535"),
            (":80", "no host"),
        ] {
            for error in [
                TcpStream::connect(text).await.unwrap_err(),
                TcpListener::bind(text).await.unwrap_err(),
            ] {
                assert_eq!(error.kind(), ErrorKind::InvalidInput);
                assert!(error.to_string().contains(what), "{error}");
                assert!(error.to_string().contains("host:port"), "{error}");
            }
        }
        let none: &[SocketAddr] = &[];
        let error = TcpStream::connect(none).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let error = TcpListener::bind(none).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn names_are_connected_to() {
    run(async {
        let listener = listen().await;
        let port = listener.local_addr().unwrap().port();
        // The name may have an IPv6 address as well, which refuses and is passed over.
        let by_text = TcpStream::connect(format!("localhost:{port}"))
            .await
            .unwrap();
        let by_parts = TcpStream::connect(("localhost", port)).await.unwrap();
        for stream in [by_text, by_parts] {
            assert_eq!(stream.peer_addr().unwrap(), listener.local_addr().unwrap());
        }
    });
}

/// The zone of a link-local address is not lost on the way to the system.
#[test]
fn the_zone_of_an_address_is_kept() {
    run(async {
        let no_such_zone = "[fe80::1%4000000]:9";
        let error = TcpStream::connect(no_such_zone).await.unwrap_err();
        assert_ne!(error.kind(), ErrorKind::InvalidInput, "{error}");
    });
}

#[test]
fn a_port_in_use_is_named() {
    run(async {
        let listener = listen().await;
        let address = listener.local_addr().unwrap();
        let error = TcpListener::bind(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        let text = error.to_string();
        assert!(text.contains(&address.to_string()), "{text}");
        assert!(text.contains("choose another port"), "{text}");
    });
}

/// Of several addresses, the listener has the first that is free.
#[test]
fn the_first_free_address_is_listened_on() {
    run(async {
        let taken = listen().await.local_addr().unwrap();
        let _taker = TcpListener::bind(taken).await.unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let listener = TcpListener::bind([taken, any]).await.unwrap();
        assert_ne!(listener.local_addr().unwrap(), taken);
    });
}

#[test]
fn a_new_connection_is_usable_at_once() {
    run(async {
        let listener = listen().await;
        for _ in 0..100 {
            let client = TcpStream::connect(listener.local_addr().unwrap())
                .await
                .unwrap();
            assert!(client.take_error().unwrap().is_none());
            client.write_all(b"now").await.unwrap();
            let (server, _) = listener.accept().await.unwrap();
            let mut space = [0; 8];
            assert_eq!(server.read(&mut space).await.unwrap(), 3);
        }
    });
}
