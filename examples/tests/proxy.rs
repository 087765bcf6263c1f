//! The proxy: half-close, limits, and upstream servers that fail.

mod common;

use common::{BOUND, Example, read_all, read_some};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// An upstream server of this test, and a proxy in front of it.
fn proxy(arguments: &[&str]) -> (TcpListener, Example) {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = proxy_of(upstream.local_addr().unwrap(), arguments);
    (upstream, proxy)
}

fn proxy_of(upstream: SocketAddr, arguments: &[&str]) -> Example {
    let upstream = upstream.to_string();
    Example::serve("proxy", &[&["--upstream", &upstream], arguments].concat())
}

#[track_caller]
fn accept(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    stream
}

#[test]
fn the_client_may_end_first() {
    let (upstream, proxy) = proxy(&[]);
    let mut client = proxy.connect();
    client.write_all(b"question").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut server = accept(&upstream);
    assert_eq!(read_all(&mut server), b"question");
    server.write_all(b"answer").unwrap();
    drop(server);
    assert_eq!(read_all(&mut client), b"answer");
    assert_eq!(proxy.stop(), "1 connections, 14 bytes, 0 errors");
}

#[test]
fn the_server_may_end_first() {
    let (upstream, proxy) = proxy(&["--workers", "2"]);
    let mut client = proxy.connect();
    let mut server = accept(&upstream);
    server.write_all(b"greeting").unwrap();
    server.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_all(&mut client), b"greeting");
    client.write_all(b"farewell").unwrap();
    drop(client);
    assert_eq!(read_all(&mut server), b"farewell");
    assert_eq!(proxy.stop(), "1 connections, 16 bytes, 0 errors");
}

/// A reset by either side reaches the other as a reset, after what had come before.
#[test]
fn a_reset_is_passed_on_as_one() {
    let (upstream, proxy) = proxy(&[]);
    for by_server in [true, false] {
        let client = proxy.connect();
        let server = accept(&upstream);
        let (mut cutting, mut other) = if by_server {
            (server, client)
        } else {
            (client, server)
        };
        cutting.write_all(b"half").unwrap();
        assert_eq!(&read_some(&mut other), b"half");
        let cutting = socket2::Socket::from(cutting);
        cutting.set_linger(Some(Duration::ZERO)).unwrap();
        drop(cutting);
        let error = other.read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    assert_eq!(proxy.stop(), "2 connections, 8 bytes, 2 errors");
}

#[test]
fn what_was_passed_on_counts_also_if_a_stop_cuts_it_off() {
    let (upstream, proxy) = proxy(&[]);
    let mut client = proxy.connect();
    let mut server = accept(&upstream);
    client.write_all(b"question").unwrap();
    assert_eq!(&read_some(&mut server), b"question");
    assert_eq!(proxy.stop(), "1 connections, 8 bytes, 0 errors");
}

/// The client is told by a reset, as an end would say that all went well.
#[test]
fn an_upstream_that_refuses_costs_the_connection_only() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let proxy = proxy_of(address, &[]);
    for _ in 0..2 {
        let error = proxy.connect().read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    assert_eq!(proxy.stop(), "2 connections, 0 bytes, 2 errors");
}

#[test]
fn idle_connections_are_closed() {
    let (upstream, proxy) = proxy(&["--idle-timeout", "1"]);
    let start = Instant::now();
    let mut client = proxy.connect();
    let mut server = accept(&upstream);
    assert_eq!(read_all(&mut client), b"");
    assert_eq!(read_all(&mut server), b"");
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!(proxy.stop(), "1 connections, 0 bytes, 1 errors");
}

/// A listener whose queue is full answers no more.
#[test]
fn an_upstream_that_does_not_answer_is_given_up() {
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let socket = socket2::Socket::new(
        socket2::Domain::IPV4,
        socket2::Type::STREAM,
        Some(socket2::Protocol::TCP),
    )
    .unwrap();
    socket.bind(&any.into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let mut queued = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
        queued.push(stream);
    }
    let proxy = proxy_of(address, &["--connect-timeout", "1"]);
    let start = Instant::now();
    let error = proxy.connect().read(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!(proxy.stop(), "1 connections, 0 bytes, 1 errors");
}

/// The second client is served once the first one has gone, and not before.
#[test]
fn connections_above_the_limit_wait() {
    let (upstream, proxy) = proxy(&["--max-connections", "1"]);
    let mut first = proxy.connect();
    let mut first_server = accept(&upstream);
    let mut second = proxy.connect();
    second.write_all(b"second").unwrap();
    // A round trip of the first, after which the proxy would have taken the second.
    first.write_all(b"x").unwrap();
    assert_eq!(&read_some::<1>(&mut first_server), b"x");
    upstream.set_nonblocking(true).unwrap();
    assert!(upstream.accept().is_err());
    upstream.set_nonblocking(false).unwrap();

    drop((first, first_server));
    let mut second_server = accept(&upstream);
    second_server.set_nonblocking(false).unwrap();
    assert_eq!(&read_some::<6>(&mut second_server), b"second");
    drop((second, second_server));
    assert_eq!(proxy.stop(), "2 connections, 7 bytes, 0 errors");
}

#[test]
fn open_connections_get_time_to_finish_and_new_ones_are_refused() {
    let (upstream, mut proxy) = proxy(&[]);
    let mut client = proxy.connect();
    let mut server = accept(&upstream);
    proxy.signal(Signal::TERM);
    while !proxy.next_line().starts_with("stopping") {}
    assert!(TcpStream::connect(proxy.address).is_err());
    client.write_all(b"late").unwrap();
    drop(client);
    let mut late = String::new();
    server.read_to_string(&mut late).unwrap();
    assert_eq!(late, "late");
    drop(server);
    let last = proxy.ends_within(BOUND);
    assert_eq!(last, "1 connections, 4 bytes, 0 errors");
}
