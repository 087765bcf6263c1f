//! How many system calls an operation costs, counted by strace on epoll.

mod common;

use common::strace::{self, can_trace};
use common::{listen, pair_with_std, run, std_write_all};
use std::io::{Read, Write};
use std::net::TcpStream as StdTcpStream;

/// Runs the test `name` of this binary under strace, and returns a line for each call; nothing if
/// there is no strace here, or it isn't allowed to trace.
fn traced(name: &str) -> Option<Vec<String>> {
    if !can_trace() {
        return None;
    }
    let calls = "trace=recvfrom,sendto,accept4,accept,fcntl,ioctl,epoll_ctl,getsockopt,close";
    // The variable is set for the process that is traced, whatever this one runs on.
    let options = ["-E", "WINDLASS_BACKEND=epoll", "-e", calls];
    Some(strace::traced(&options, name))
}

fn count(lines: &[String], what: &[&str]) -> usize {
    let has_all = |line: &&String| what.iter().all(|part| line.contains(part));
    lines.iter().filter(has_all).count()
}

/// A steady echo costs a read and a write: no read asks in vain, and nothing is registered again.
#[test]
fn a_steady_echo_reads_and_writes() {
    const ROUNDS: usize = 200;
    if !common::is_child() {
        let Some(lines) = traced("a_steady_echo_reads_and_writes") else {
            return;
        };
        let vain = count(&lines, &["recvfrom", "EAGAIN"]);
        assert!(vain <= 2, "{vain} reads in vain");
        let registered = count(&lines, &["epoll_ctl"]);
        assert!(registered <= 6, "{registered} calls of epoll_ctl");
        return;
    }
    run(async {
        let (server, mut client) = pair_with_std().await;
        let talking = std::thread::spawn(move || {
            for _ in 0..ROUNDS {
                client.write_all(&[1; 64]).unwrap();
                client.read_exact(&mut [0; 64]).unwrap();
            }
        });
        let mut space = [0; 256];
        loop {
            match server.read(&mut space).await.unwrap() {
                0 => break,
                count => server.write_all(&space[..count]).await.unwrap(),
            }
        }
        talking.join().unwrap();
    });
}

/// A connection whose request is there already is accepted by one call, and never registered.
#[test]
fn a_request_that_is_there_already_registers_nothing() {
    const CONNECTIONS: usize = 100;
    if !common::is_child() {
        let Some(lines) = traced("a_request_that_is_there_already_registers_nothing") else {
            return;
        };
        let accepted = count(&lines, &["accept4", "SOCK_NONBLOCK"]);
        assert!(accepted >= CONNECTIONS, "{accepted} calls of accept4");
        let registered = count(&lines, &["epoll_ctl"]);
        assert!(registered <= 4, "{registered} calls of epoll_ctl");
        let flags = count(&lines, &["F_SET"]) + count(&lines, &["FIONBIO"]);
        assert!(flags <= 4, "{flags} calls that set flags");
        return;
    }
    run(async {
        let listener = listen().await;
        let address = listener.local_addr().unwrap();
        for _ in 0..CONNECTIONS {
            let mut client = StdTcpStream::connect(address).unwrap();
            std_write_all(&client, b"request");
            let (server, _) = listener.accept().await.unwrap();
            let mut space = [0; 64];
            let count = server.read(&mut space).await.unwrap();
            server.write_all(&space[..count]).await.unwrap();
            drop(server);
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).unwrap();
            assert_eq!(answer, b"request");
        }
    });
}

/// Short connections, 32 at a time, whose requests are there already, and which the server closes:
/// a call each to accept, read, write and close, and for a whole group one that finds no more.
#[test]
fn a_group_of_short_connections_costs_four_calls_each() {
    const GROUPS: usize = 10;
    const AT_ONCE: usize = 32;
    const CONNECTIONS: usize = GROUPS * AT_ONCE;
    if !common::is_child() {
        let Some(lines) = traced("a_group_of_short_connections_costs_four_calls_each") else {
            return;
        };
        let accepting = count(&lines, &["accept4"]);
        let others = 2 * GROUPS;
        assert!(
            (CONNECTIONS..=CONNECTIONS + others).contains(&accepting),
            "{accepting} calls of accept4"
        );
        let vain = count(&lines, &["recvfrom", "EAGAIN"]);
        assert_eq!(vain, 0, "reads in vain");
        let registered = count(&lines, &["epoll_ctl"]);
        assert!(registered <= 4, "{registered} calls of epoll_ctl");
        // Each is a read, a write and a close here, and as many of the client.
        for call in ["recvfrom", "sendto", "close"] {
            let made = count(&lines, &[call]);
            let limit = 2 * CONNECTIONS + if call == "recvfrom" { CONNECTIONS } else { 100 };
            assert!(made <= limit, "{made} calls of {call}");
        }
        return;
    }
    run(async {
        let listener = listen().await;
        let address = listener.local_addr().unwrap();
        for _ in 0..GROUPS {
            let mut clients: Vec<_> = (0..AT_ONCE)
                .map(|_| StdTcpStream::connect(address).unwrap())
                .collect();
            for client in &clients {
                std_write_all(client, b"request");
            }
            for _ in 0..AT_ONCE {
                let (server, _) = listener.accept().await.unwrap();
                let mut space = [0; 64];
                let count = server.read(&mut space).await.unwrap();
                server.write_all(&space[..count]).await.unwrap();
            }
            for client in &mut clients {
                // With the end, that takes two reads.
                let mut answer = Vec::with_capacity(64);
                client.read_to_end(&mut answer).unwrap();
                assert_eq!(answer, b"request");
            }
        }
    });
}

/// The same of Unix sockets: accepted by one call, never registered, its peer not asked for.
#[test]
fn a_unix_connection_whose_request_is_there_registers_nothing() {
    const CONNECTIONS: usize = 100;
    if !common::is_child() {
        let Some(lines) = traced("a_unix_connection_whose_request_is_there_registers_nothing")
        else {
            return;
        };
        let accepted = count(&lines, &["accept4", "SOCK_NONBLOCK"]);
        assert_eq!(accepted, CONNECTIONS, "calls of accept4");
        let registered = count(&lines, &["epoll_ctl"]);
        assert!(registered <= 4, "{registered} calls of epoll_ctl");
        let flags = count(&lines, &["F_SET"]) + count(&lines, &["FIONBIO"]);
        assert!(flags <= 4, "{flags} calls that set flags");
        let vain = count(&lines, &["recvfrom", "EAGAIN"]);
        assert_eq!(vain, 0, "reads in vain");
        return;
    }
    run(async {
        let folder = common::unix::Folder::new();
        let path = folder.path("s");
        let listener = windlass_net::UnixListener::bind(&path).unwrap();
        for _ in 0..CONNECTIONS {
            let mut client = std::os::unix::net::UnixStream::connect(&path).unwrap();
            client.write_all(b"request").unwrap();
            let (server, _) = listener.accept().await.unwrap();
            let mut space = [0; 64];
            let count = server.read(&mut space).await.unwrap();
            server.write_all(&space[..count]).await.unwrap();
            drop(server);
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).unwrap();
            assert_eq!(answer, b"request");
        }
    });
}
