//! Runs the examples as programs: starts them, waits for what they print, stops them.

#![allow(dead_code, reason = "no test needs all of it")]

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing in these tests takes longer, however slow the machine.
pub(crate) const BOUND: Duration = Duration::from_secs(30);

/// Where `cargo test` puts the examples: beside the folder of this test.
pub(crate) fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap();
    let program = folder.join("examples").join(name);
    assert!(
        program.exists(),
        "{} is not there; `cargo build --examples` makes it",
        program.display()
    );
    program
}

/// A running example, which is killed if it is dropped.
pub(crate) struct Example {
    child: Child,
    lines: Receiver<String>,
    pub(crate) address: SocketAddr,
}

impl Example {
    /// Starts a server on a free port and waits until it listens.
    #[track_caller]
    pub(crate) fn serve(name: &str, arguments: &[&str]) -> Self {
        let mut example = Self::start(name, &[&["--listen", "127.0.0.1:0"], arguments].concat());
        let line = example.next_line();
        let address = line.strip_prefix("listening on ").expect(&line);
        example.address = address.parse().unwrap();
        example
    }

    /// Starts any example.
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(program(name))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let address = ([0, 0, 0, 0], 0).into();
        Self {
            child,
            lines,
            address,
        }
    }

    #[track_caller]
    pub(crate) fn next_line(&self) -> String {
        self.lines.recv_timeout(BOUND).expect("a line of output")
    }

    #[track_caller]
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        stream.set_write_timeout(Some(BOUND)).unwrap();
        stream
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end, which has to be a clean one within `bound`; returns the last line.
    #[track_caller]
    pub(crate) fn ends_within(&mut self, bound: Duration) -> String {
        let end = Instant::now() + bound;
        let mut last = String::new();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => last = line,
                // It has closed its output.
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it has not ended within {bound:?}"),
            }
        }
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}; last line: {last}");
        last
    }

    /// Asks for the end, and waits for it.
    #[track_caller]
    pub(crate) fn stop(mut self) -> String {
        self.signal(Signal::INT);
        self.ends_within(BOUND)
    }

    /// Says how much memory it has.
    #[track_caller]
    pub(crate) fn resident_bytes(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().nth(1));
        kibibytes.unwrap().parse::<usize>().unwrap() * 1024
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs an example that is to refuse; returns its exit status and its one line.
#[track_caller]
pub(crate) fn refusal(
    name: &str,
    arguments: &[&str],
    variable: Option<(&str, &str)>,
) -> (i32, String) {
    let child = Command::new(program(name))
        .args(arguments)
        .envs(variable)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&child);
    let (sender, ended) = channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(output) = ended.recv_timeout(BOUND) else {
        let _ = kill_process(pid, Signal::KILL);
        panic!("{name} {arguments:?} is not refused");
    };
    let Output { status, stderr, .. } = output.unwrap();
    let text = String::from_utf8(stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(!text.contains("panicked"), "{text}");
    (status.code().expect("no signal"), text)
}

/// Reads to the end.
#[track_caller]
pub(crate) fn read_all(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Reads so many bytes.
#[track_caller]
pub(crate) fn read_some<const COUNT: usize>(stream: &mut TcpStream) -> [u8; COUNT] {
    let mut bytes = [0; COUNT];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}
