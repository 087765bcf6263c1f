//! The HTTP server, over sockets; what requests mean is tested without them, in `src/requests.rs`.

mod common;

use common::{BOUND, Example, read_all, read_some};
use rustix::process::Signal;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};
use windlass::reactor::Backend;

const REQUEST: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const LAST_REQUEST: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const ANSWER: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world!";
const LAST_ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\
     Content-Length: 13\r\nConnection: close\r\n\r\nHello, world!";

/// Sends `request` and returns everything that comes until the server ends the connection.
#[track_caller]
fn exchange(server: &Example, request: &[u8]) -> String {
    let mut client = server.connect();
    client.write_all(request).unwrap();
    String::from_utf8(read_all(&mut client)).unwrap()
}

#[track_caller]
fn read_answer(client: &mut TcpStream) {
    let answer = read_some::<{ ANSWER.len() }>(client);
    assert_eq!(std::str::from_utf8(&answer).unwrap(), ANSWER);
}

#[test]
fn one_connection_brings_many_answers() {
    for backend in Backend::available() {
        let server = Example::serve("http", &["--backend", backend.name()]);
        let mut client = server.connect();
        for _ in 0..3 {
            client.write_all(REQUEST.as_bytes()).unwrap();
            read_answer(&mut client);
        }
        client.write_all(LAST_REQUEST.as_bytes()).unwrap();
        assert_eq!(read_all(&mut client), LAST_ANSWER.as_bytes());
        assert_eq!(server.stop(), "1 connections, 4 requests, 0 errors");
    }
}

/// Each half is seen on its own, as the server has answered what came before.
#[test]
fn a_pipeline_may_be_split_anywhere() {
    let server = Example::serve("http", &["--workers", "1"]);
    let pipeline = format!("{REQUEST}{REQUEST}{LAST_REQUEST}");
    let answers = format!("{ANSWER}{ANSWER}{LAST_ANSWER}");
    for at in 0..=pipeline.len() {
        let mut client = server.connect();
        client.set_nodelay(true).unwrap();
        let (first, second) = pipeline.split_at(at);
        client.write_all(first.as_bytes()).unwrap();
        let whole = first.matches("\r\n\r\n").count().min(2);
        for _ in 0..whole {
            read_answer(&mut client);
        }
        // It may be that the server has closed the connection.
        let _ = client.write_all(second.as_bytes());
        let rest = String::from_utf8(read_all(&mut client)).unwrap();
        assert_eq!(rest, answers[whole * ANSWER.len()..], "split at {at}");
    }
    assert!(server.stop().ends_with(", 0 errors"));
}

/// More answers than fit anywhere: they are kept, and all come once the client reads.
#[test]
fn a_client_that_pipelines_and_reads_late_gets_all_answers() {
    const COUNT: usize = 100_000;
    let server = Example::serve("http", &["--workers", "1"]);
    let mut client = server.connect();
    let mut writer = client.try_clone().unwrap();
    let writing = std::thread::spawn(move || {
        let requests = REQUEST.repeat(COUNT - 1) + LAST_REQUEST;
        writer.write_all(requests.as_bytes()).unwrap();
    });
    let mut answers = String::new();
    client.read_to_string(&mut answers).unwrap();
    assert_eq!(answers.matches("Hello, world!").count(), COUNT);
    writing.join().unwrap();
    assert_eq!(server.stop(), "1 connections, 100000 requests, 0 errors");
}

#[test]
fn old_clients_are_served() {
    let server = Example::serve("http", &[]);
    assert_eq!(exchange(&server, b"GET / HTTP/1.0\r\n\r\n"), LAST_ANSWER);
    let mut client = server.connect();
    let request = b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
    client.write_all(request).unwrap();
    client.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let text = String::from_utf8(read_all(&mut client)).unwrap();
    assert!(text.contains("Connection: keep-alive\r\n"), "{text}");
    assert!(text.ends_with(LAST_ANSWER), "{text}");
}

#[test]
fn a_head_has_no_body_and_a_body_is_passed_over() {
    let server = Example::serve("http", &[]);
    let head = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
    let post = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n{}",
        REQUEST.repeat(10_000).split_at(200_000).0
    );
    let text = exchange(&server, format!("{head}{post}{LAST_REQUEST}").as_bytes());
    let bare = ANSWER.strip_suffix("Hello, world!").unwrap();
    assert_eq!(text, format!("{bare}{ANSWER}{LAST_ANSWER}"));
}

/// The client gets to read why, though the server doesn't read what it has sent.
#[test]
fn what_is_wrong_is_told() {
    let server = Example::serve("http", &[]);
    let huge = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
        "x".repeat(300_000)
    );
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    for (request, status) in [
        ("NONSENSE\r\n\r\n", "400"),
        (huge.as_str(), "431"),
        (chunked, "411"),
    ] {
        let mut client = server.connect();
        client.write_all(request.as_bytes()).unwrap();
        // The server waits for this end, so that the answer isn't lost.
        client.shutdown(Shutdown::Write).unwrap();
        let text = String::from_utf8(read_all(&mut client)).unwrap();
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
        assert!(text.contains("\r\nConnection: close\r\n"), "{text}");
    }
}

/// Bytes that trickle in don't put it off.
#[test]
fn a_head_that_takes_too_long_is_told() {
    let server = Example::serve("http", &["--header-timeout", "1"]);
    let mut client = server.connect();
    let start = Instant::now();
    client.write_all(b"GET / HTTP/1.1\r\nX: ").unwrap();
    client
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let mut text = [0; 12];
    while let Err(error) = client.read_exact(&mut text) {
        assert!(matches!(error.kind(), ErrorKind::WouldBlock), "{error}");
        assert!(start.elapsed() < BOUND);
        client.write_all(b"x").unwrap();
    }
    assert_eq!(&text, b"HTTP/1.1 408");
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[test]
fn idle_connections_are_closed() {
    let server = Example::serve("http", &["--idle-timeout", "1"]);
    let start = Instant::now();
    let (mut fresh, mut used) = (server.connect(), server.connect());
    used.write_all(REQUEST.as_bytes()).unwrap();
    assert_eq!(read_all(&mut fresh), b"");
    assert_eq!(read_all(&mut used), ANSWER.as_bytes());
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!(server.stop(), "2 connections, 1 requests, 0 errors");
}

/// A request that has begun is still answered, as the last one of its connection; idle connections
/// are not waited for.
#[test]
fn a_server_that_stops_answers_what_has_begun() {
    let mut server = Example::serve("http", &[]);
    let _idle = server.connect();
    let mut client = server.connect();
    client.write_all(REQUEST.as_bytes()).unwrap();
    read_answer(&mut client);
    client.write_all(&REQUEST.as_bytes()[..5]).unwrap();
    // A round trip on the same worker or not: the server has read by the time it stops listening.
    server.signal(Signal::INT);
    while !server.next_line().starts_with("stopping") {}
    client.write_all(&REQUEST.as_bytes()[5..]).unwrap();
    assert_eq!(read_all(&mut client), LAST_ANSWER.as_bytes());
    drop(client);
    let last = server.ends_within(Duration::from_secs(10));
    assert_eq!(last, "2 connections, 2 requests, 0 errors");
}
