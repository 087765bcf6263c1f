//! Arguments that make no sense: one line says what was wrong, and the exit status is 1 or 2.

mod common;

use common::{BOUND, program, refusal};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use windlass::reactor::Backend;

const ANY: &str = "127.0.0.1:0";

#[track_caller]
fn assert_refused(name: &str, arguments: &[&str], status: i32, texts: &[&str]) {
    let (code, line) = refusal(name, arguments, None);
    assert_eq!(code, status, "{line}");
    for text in texts {
        assert!(line.contains(text), "`{text}` is not in: {line}");
    }
}

#[test]
fn a_number_of_workers_that_is_none() {
    for name in ["echo", "http"] {
        let zero = ["--listen", ANY, "--workers", "0"];
        assert_refused(name, &zero, 1, &["0 workers", "1 to"]);
        let word = ["--listen", ANY, "--workers", "many"];
        assert_refused(name, &word, 2, &["'many'", "--workers"]);
    }
}

#[test]
fn a_back_end_that_is_unknown() {
    let given = ["--listen", ANY, "--backend", "select"];
    assert_refused("echo", &given, 2, &["select", "epoll", "poll"]);
    let variable = Some(("WINDLASS_BACKEND", "select"));
    let servers = ["echo", "http", "own_executor"].map(|name| (name, vec!["--listen", ANY]));
    let others = [
        ("proxy", vec!["--listen", ANY, "--upstream", ANY]),
        ("own_descriptor", vec!["true"]),
    ];
    for (name, arguments) in servers.into_iter().chain(others) {
        let (status, line) = refusal(name, &arguments, variable);
        assert_eq!(status, 1, "{line}");
        for word in ["WINDLASS_BACKEND", "epoll", "poll"] {
            assert!(line.contains(word), "{line}");
        }
    }
}

#[test]
fn a_back_end_that_does_not_work_here() {
    let works = Backend::available();
    let missing = Backend::ALL
        .iter()
        .filter(|backend| !works.contains(backend));
    let available: Vec<_> = works.iter().map(|backend| backend.name()).collect();
    let list = format!("available are: {}", available.join(", "));
    for name in missing.map(|backend| backend.name()) {
        let what = format!("the back end {name} does not work here");
        let given = ["--listen", ANY, "--backend", name];
        assert_refused("echo", &given, 1, &[&what, &list]);
        let variable = Some(("WINDLASS_BACKEND", name));
        let (status, line) = refusal("http", &["--listen", ANY], variable);
        assert_eq!(status, 1, "{line}");
        assert!(line.contains(&what) && line.contains(&list), "{line}");
    }
}

#[test]
fn an_address_that_is_none() {
    let no_port = ["--listen", "nonsense"];
    assert_refused("echo", &no_port, 1, &["nonsense", "host:port"]);
    let port = ["--listen", "127.0.0.1:99999"];
    assert_refused("http", &port, 1, &["99999", "0 to 65535"]);
    let upstream = ["--listen", ANY, "--upstream", "nonsense"];
    assert_refused("proxy", &upstream, 1, &["nonsense", "host:port"]);
    assert_refused("own_executor", &no_port, 1, &["nonsense", "HOST:PORT"]);
}

#[test]
fn a_name_that_does_not_resolve() {
    let unknown = ["--listen", ANY, "--upstream", "no..such.host:80"];
    assert_refused("proxy", &unknown, 1, &["no..such.host"]);
}

#[test]
fn a_port_that_is_in_use() {
    let taken = TcpListener::bind(ANY).unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for name in ["echo", "http", "own_executor"] {
        assert_refused(name, &["--listen", &address], 1, &[&address]);
    }
}

#[test]
fn arguments_that_are_missing_or_out_of_range() {
    assert_refused("echo", &[], 2, &["--listen", "--help"]);
    assert_refused("proxy", &["--listen", ANY], 2, &["--upstream"]);
    assert_refused("echo", &["--listen", ANY, "--buffer", "0"], 2, &["1.."]);
    let none = ["--listen", ANY, "--upstream", ANY, "--max-connections", "0"];
    assert_refused("proxy", &none, 2, &["--max-connections"]);
    assert_refused("own_descriptor", &["/no/such/program"], 1, &["/no/such"]);
}

#[test]
fn help_is_no_error() {
    for name in ["echo", "proxy", "http", "own_executor", "own_descriptor"] {
        let output = Command::new(program(name)).arg("--help").output().unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains("Usage"));
    }
}

#[test]
fn an_output_that_nobody_reads_is_no_error() {
    let mut child = Command::new(program("echo"))
        .args(["--listen", ANY])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    drop(output);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let (sender, ended) = channel();
    thread::spawn(move || sender.send(child.wait()));
    assert!(ended.recv_timeout(BOUND).unwrap().unwrap().success());
}
