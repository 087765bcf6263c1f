//! The echo servers: `echo`, and the one on an executor of its own.

mod common;

use common::{BOUND, Example, read_all, read_some};
use rustix::process::Signal;
use std::io::Write;
use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn what_is_sent_comes_back() {
    for (name, arguments) in [
        ("echo", &[][..]),
        ("echo", &["--workers", "2", "--buffer", "7"]),
        ("echo", &["--backend", "poll"]),
        ("own_executor", &[]),
    ] {
        let server = Example::serve(name, arguments);
        let mut client = server.connect();
        client.write_all(b"hello, ").unwrap();
        assert_eq!(&read_some::<7>(&mut client), b"hello, ");
        client.write_all(b"world").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(read_all(&mut client), b"world");
        assert_eq!(server.stop(), "1 connections, 12 bytes, 0 errors");
    }
}

/// The client reads nothing until it has written everything that fits: what the server could not
/// write at once is kept, and nothing is lost.
#[test]
fn a_client_that_does_not_read_yet_loses_nothing() {
    let server = Example::serve("echo", &["--workers", "1"]);
    let client = server.connect();
    let sent: Vec<u8> = (0..8_000_000u32).map(|at| (at % 251) as u8).collect();
    let (mut writer, expected) = (client.try_clone().unwrap(), sent.clone());
    let writing = thread::spawn(move || {
        writer.write_all(&sent).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    // Meanwhile others are served.
    let mut other = server.connect();
    other.write_all(b"x").unwrap();
    assert_eq!(&read_some::<1>(&mut other), b"x");
    assert!(read_all(&mut { client }) == expected);
    writing.join().unwrap();
    drop(other);
    assert_eq!(server.stop(), "2 connections, 8000001 bytes, 0 errors");
}

/// Whoever is owed nothing is not waited for.
#[test]
fn idle_connections_do_not_hold_up_the_end() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut server = Example::serve("echo", &[]);
        let mut client = server.connect();
        client.write_all(b"x").unwrap();
        read_some::<1>(&mut client);
        server.signal(signal);
        let last = server.ends_within(Duration::from_secs(4));
        assert_eq!(last, "1 connections, 1 bytes, 0 errors");
        assert_eq!(read_all(&mut client), b"");
    }
}

/// Fills every buffer on the way, so that the server owes the client something.
fn clog(server: &Example) -> std::net::TcpStream {
    let mut client = server.connect();
    client
        .set_write_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let bytes = [b'x'; 65_536];
    while client.write(&bytes).is_ok() {}
    client
}

#[test]
fn a_client_that_is_owed_something_is_waited_for() {
    let mut server = Example::serve("echo", &[]);
    let mut client = clog(&server);
    server.signal(Signal::INT);
    while !server.next_line().starts_with("stopping") {}
    client.shutdown(Shutdown::Write).unwrap();
    let received = read_all(&mut client).len();
    let last = server.ends_within(BOUND);
    assert_eq!(last, format!("1 connections, {received} bytes, 0 errors"));
}

#[test]
fn a_client_that_never_reads_is_waited_for_within_bounds() {
    let mut server = Example::serve("echo", &[]);
    let _client = clog(&server);
    let start = Instant::now();
    server.signal(Signal::INT);
    server.ends_within(Duration::from_secs(20));
    assert!(start.elapsed() >= Duration::from_secs(5));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut server = Example::serve("echo", &[]);
    let _client = clog(&server);
    let start = Instant::now();
    server.signal(Signal::INT);
    while !server.next_line().starts_with("stopping") {}
    server.signal(Signal::INT);
    server.ends_within(BOUND);
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// A connection is its stream, its task, and what the reactor knows of it.
#[cfg(target_os = "linux")]
#[test]
fn idle_connections_are_small() {
    const COUNT: usize = 2_000;
    if let Ok(backend @ ("kqueue" | "devpoll")) = std::env::var("WINDLASS_BACKEND").as_deref() {
        return println!("skipped: what emulates {backend} has its tables in the same process");
    }
    let server = Example::serve("echo", &["--workers", "1"]);
    // The program's own pages, and the first steps of tables that double, are not counted.
    let touch = |count| -> Vec<_> {
        (0..count)
            .map(|_| {
                let mut client = server.connect();
                client.write_all(b"x").unwrap();
                read_some::<1>(&mut client);
                client
            })
            .collect()
    };
    drop(touch(100));
    let before = server.resident_bytes();
    let clients = touch(COUNT);
    let each = (server.resident_bytes() - before) / COUNT;
    assert!(each <= 600, "{each} bytes a connection");
    drop(clients);
}

/// Somebody who wonders what a server is doing finds out by a signal.
#[test]
fn shows_its_tasks_when_asked_by_a_signal() {
    let example = Example::serve("echo", &["--workers", "1"]);
    example.next_line();
    let mut client = example.connect();
    client.write_all(b"hello").unwrap();
    assert_eq!(&read_some::<5>(&mut client), b"hello");
    example.signal(Signal::USR1);
    let mut lines = String::new();
    let peer = format!("waits to read from {}", client.local_addr().unwrap());
    while !(lines.contains("runs on worker") && lines.contains(&peer)) {
        lines += &example.next_line();
    }
    assert!(lines.contains("3 alive"), "{lines}");
    assert!(lines.contains("waits to accept on"), "{lines}");
    // It goes on.
    client.write_all(b"again").unwrap();
    assert_eq!(&read_some::<5>(&mut client), b"again");
    drop(client);
    example.stop();
}
