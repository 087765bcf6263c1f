//! Options of sockets: what is set is told, before a connection and on it, for IPv4 and IPv6.

mod common;

use common::{MOMENT, has_v6, locals, pair, run, unless_lacking};
use std::io::ErrorKind;
use std::time::Duration;
use windlass_net::{BindError, Keepalive, TcpListener, TcpSocket, TcpStream};
use windlass_reactor::time::timeout;

/// A socket, a stream that it became, and one that was accepted, on each family.
fn on_each_family(check: impl Fn(&TcpSocket, &TcpStream, &TcpStream)) {
    run(async {
        for address in locals() {
            let listener = TcpListener::bind(address).await.unwrap();
            let socket = TcpSocket::for_address(address).unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap());
            let client = client.await.unwrap();
            let (server, _) = listener.accept().await.unwrap();
            check(&socket, &client, &server);
        }
    });
}

#[test]
fn what_every_system_has_is_set_and_told() {
    on_each_family(|socket, client, _| {
        client.set_nodelay(true).unwrap();
        assert!(client.nodelay().unwrap());
        client.set_ttl(42).unwrap();
        assert_eq!(client.ttl().unwrap(), 42);
        socket.set_ttl(43).unwrap();
        assert_eq!(socket.ttl().unwrap(), 43);
        client.set_dscp(10).unwrap();
        assert_eq!(client.dscp().unwrap(), 10);
        let error = client.set_dscp(64).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        socket.set_reuse_address(true).unwrap();
        assert!(socket.reuse_address().unwrap());
        client.set_oob_inline(true).unwrap();
        assert!(client.oob_inline().unwrap());
    });
}

#[test]
fn sizes_of_buffers_are_set_before_and_after() {
    on_each_family(|socket, client, _| {
        for size in [20_000, 100_000] {
            socket.set_receive_buffer_size(size).unwrap();
            socket.set_send_buffer_size(size).unwrap();
            client.set_receive_buffer_size(size).unwrap();
            client.set_send_buffer_size(size).unwrap();
            for told in [
                socket.receive_buffer_size(),
                socket.send_buffer_size(),
                client.receive_buffer_size(),
                client.send_buffer_size(),
            ] {
                assert!((size..=2 * size).contains(&told.unwrap()));
            }
        }
    });
}

#[test]
fn silence_is_probed_as_asked() {
    on_each_family(|_, client, _| {
        assert_eq!(client.keepalive().unwrap(), None);
        client.set_keepalive(Some(Keepalive::new())).unwrap();
        assert!(client.keepalive().unwrap().is_some());
        let asked = Keepalive::new()
            .idle(Duration::from_millis(59_001))
            .interval(Duration::from_secs(7))
            .probes(3);
        if unless_lacking("TCP_KEEP", client.set_keepalive(Some(asked))) {
            let told = client.keepalive().unwrap().unwrap();
            assert_eq!(told.idle_time(), Some(Duration::from_secs(60)));
            assert_eq!(told.interval_time(), Some(Duration::from_secs(7)));
            assert_eq!(told.probe_count(), Some(3));
        }
        client.set_keepalive(None).unwrap();
        assert_eq!(client.keepalive().unwrap(), None);
    });
}

#[test]
fn what_some_systems_have_is_set_or_named() {
    on_each_family(|socket, client, server| {
        let limit = Some(Duration::from_micros(1500));
        if unless_lacking("TCP_USER_TIMEOUT", client.set_user_timeout(limit)) {
            let told = client.user_timeout().unwrap();
            assert_eq!(told, Some(Duration::from_millis(2)));
            client.set_user_timeout(None).unwrap();
            assert_eq!(client.user_timeout().unwrap(), None);
        }
        for stream in [client, server] {
            if unless_lacking("TCP_CORK", stream.set_cork(true)) {
                assert!(stream.cork().unwrap());
                stream.set_cork(false).unwrap();
            }
            if unless_lacking("TCP_QUICKACK", stream.set_quickack(false)) {
                assert!(!stream.quickack().unwrap());
            }
        }
        if unless_lacking("SO_REUSEPORT", socket.set_reuse_port(true)) {
            assert!(socket.reuse_port().unwrap());
        }
        if unless_lacking("SO_INCOMING_CPU", socket.set_incoming_cpu(1)) {
            assert_eq!(socket.incoming_cpu().unwrap(), 1);
        }
        if unless_lacking("SO_BINDTODEVICE", client.device().map(drop)) {
            assert_eq!(client.device().unwrap(), None);
            let error = socket.bind_device(Some("no such device")).unwrap_err();
            assert_ne!(error.kind(), ErrorKind::Unsupported);
        }
        match client.set_mark(7) {
            Ok(()) => assert_eq!(client.mark().unwrap(), 7),
            // EPERM, without the privilege; on other systems it isn't there.
            Err(error) => assert!(
                matches!(
                    error.kind(),
                    ErrorKind::PermissionDenied | ErrorKind::Unsupported
                ),
                "{error}"
            ),
        }
        if unless_lacking("TCP_FASTOPEN", socket.set_fast_open_backlog(5)) {
            assert_eq!(socket.fast_open_backlog().unwrap(), 5);
        }
        if unless_lacking("TCP_FASTOPEN_CONNECT", socket.set_fast_open_connect(true)) {
            assert!(socket.fast_open_connect().unwrap());
        }
    });
}

/// Whether or not the system allows it, data come across.
#[test]
fn opening_fast_changes_nothing_else() {
    run(async {
        for address in locals() {
            let socket = TcpSocket::for_address(address).unwrap();
            unless_lacking("TCP_FASTOPEN", socket.set_fast_open_backlog(16));
            socket.bind(address).unwrap();
            let listener = socket.listen(16).unwrap();
            for _ in 0..3 {
                let socket = TcpSocket::for_address(address).unwrap();
                unless_lacking("TCP_FASTOPEN_CONNECT", socket.set_fast_open_connect(true));
                let client = socket
                    .connect(listener.local_addr().unwrap())
                    .await
                    .unwrap();
                client.write_all(b"fast").await.unwrap();
                let (server, _) = listener.accept().await.unwrap();
                let mut space = [0; 16];
                assert_eq!(server.read(&mut space).await.unwrap(), 4);
                server.write_all(b"answer").await.unwrap();
                assert_eq!(client.read(&mut space).await.unwrap(), 6);
            }
        }
    });
}

#[test]
fn accepted_streams_inherit_what_was_set_before() {
    run(async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_receive_buffer_size(50_000).unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(8).unwrap();
        let told = listener.receive_buffer_size().unwrap();
        let address = listener.local_addr().unwrap();
        let _client = TcpStream::connect(address).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        assert_eq!(server.receive_buffer_size().unwrap(), told);
    });
}

/// That an address is taken is told by `bind`, and not forgotten until `connect`.
#[test]
fn a_socket_that_cannot_be_bound_says_so() {
    run(async {
        let taken = common::listen().await;
        let socket = TcpSocket::new_v4().unwrap();
        let error = socket.bind(taken.local_addr().unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        let error = error.get_ref().unwrap().downcast_ref::<BindError>();
        assert_eq!(error.unwrap().address(), taken.local_addr().unwrap());
    });
}

#[test]
fn a_socket_connects_from_the_address_it_is_bound_to() {
    run(async {
        let listener = common::listen().await;
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let here = socket.local_addr().unwrap();
        let client = socket.connect(listener.local_addr().unwrap());
        let client = client.await.unwrap();
        assert_eq!(client.local_addr().unwrap(), here);
        assert_eq!(listener.accept().await.unwrap().1, here);
    });
}

/// With and without IPv4 on an IPv6 socket, as it was told.
#[test]
fn an_ipv6_listener_takes_ipv4_if_told_so() {
    if !has_v6() {
        return;
    }
    run(async {
        for only in [true, false] {
            let socket = TcpSocket::new_v6().unwrap();
            socket.set_only_v6(only).unwrap();
            assert_eq!(socket.only_v6().unwrap(), only);
            socket.bind("[::]:0".parse().unwrap()).unwrap();
            let listener = socket.listen(8).unwrap();
            let port = listener.local_addr().unwrap().port();
            let connected = TcpStream::connect(("127.0.0.1", port)).await;
            match connected {
                Ok(_) => assert!(!only),
                Err(error) => assert!(only, "{error}"),
            }
        }
    });
}

#[test]
fn a_reset_is_read_as_one() {
    run(async {
        for zero_linger in [false, true] {
            let (client, server) = pair().await;
            server.write_all(b"half").await.unwrap();
            if zero_linger {
                server.set_linger(Some(Duration::ZERO)).unwrap();
                assert_eq!(server.linger().unwrap(), Some(Duration::ZERO));
                drop(server);
            } else {
                server.reset().unwrap();
            }
            let error = client.read_exact(&mut [0; 64]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        }
    });
}

/// A limit below a second is none of zero, which would be a reset.
#[test]
fn a_short_linger_is_no_reset() {
    run(async {
        let (client, server) = pair().await;
        server.set_linger(Some(Duration::from_millis(1))).unwrap();
        assert_eq!(server.linger().unwrap(), Some(Duration::from_secs(1)));
        server.write_all(b"whole").await.unwrap();
        drop(server);
        assert_eq!(common::read_to_end(&client).await.unwrap(), b"whole");
    });
}

/// Setting an option of ours is no reason to ask for more than was there.
#[test]
fn our_own_setters_do_not_count_as_handing_out() {
    run(async {
        let (client, server) = pair().await;
        server.set_nodelay(true).unwrap();
        server.set_keepalive(Some(Keepalive::new())).unwrap();
        server.set_dscp(1).unwrap();
        client.write_all(b"once").await.unwrap();
        let mut space = [0; 64];
        assert_eq!(server.read(&mut space).await.unwrap(), 4);
        // A short read took all, so that this one waits; it wouldn't be woken if that were wrong.
        assert!(timeout(MOMENT, server.read(&mut space)).await.is_err());
        client.write_all(b"again").await.unwrap();
        assert_eq!(server.read(&mut space).await.unwrap(), 5);
    });
}
