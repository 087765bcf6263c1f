//! How many system calls an operation costs, counted by strace on epoll.

mod common;

use common::{listen, pair_with_std, run, std_write_all};
use std::io::{Read, Write};
use std::net::TcpStream as StdTcpStream;

/// Runs the test `name` of this binary under strace, and returns a line for each call; nothing if
/// there is no strace here, or it isn't allowed to trace.
fn traced(name: &str) -> Option<Vec<String>> {
    let log = std::env::temp_dir().join(format!("windlass-{name}-{}", std::process::id()));
    let calls = "trace=recvfrom,sendto,accept4,accept,fcntl,ioctl,epoll_ctl,getsockopt,close";
    // The variable is set for the process that is traced, whatever this one runs on.
    let program = [
        "strace",
        "-f",
        "-qq",
        "-E",
        "WINDLASS_BACKEND=epoll",
        "-e",
        calls,
        "-o",
    ];
    let program = [&program[..], &[log.to_str()?]].concat();
    let works = std::process::Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !works {
        eprintln!("skipped: there is no strace here, or it may not trace");
        return None;
    }
    let output = common::in_child(&program, name);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let lines = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    Some(lines.lines().map(Into::into).collect())
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
