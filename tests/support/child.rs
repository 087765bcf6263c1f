//! Runs one test again in a process of its own, with its own environment and nothing else going on.

use super::LIMIT;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;

/// Tells a child that it is one, and how many rounds it has to go.
const ROUNDS: &str = "WINDLASS_TEST_ROUNDS";

/// How many rounds this process has to go, if it is a child.
pub(crate) fn rounds() -> Option<usize> {
    std::env::var(ROUNDS).ok()?.parse().ok()
}

/// What the child says when it is ready for its parent.
const READY: &str = "ready at ";

/// Says to the parent that it may begin, and where, if there is an address.
pub(crate) fn say_ready(address: Option<SocketAddr>) {
    let address = address.map(|address| address.to_string());
    // The harness has begun a line of its own.
    println!("\n{READY}{}", address.unwrap_or_default());
}

/// Ends with the wish of the parent that the child go on; never is one after a time of its own.
pub(crate) fn wait_for_parent() {
    let _ = std::io::stdin().read(&mut [0]);
}

/// A child that runs, as its parent sees it.
pub(crate) struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
    /// Ends the process in the end, if it hangs.
    _limit: mpsc::Sender<()>,
}

impl Running {
    /// Starts the test `name` with so many rounds under `program`, or by itself if that is empty.
    pub(crate) fn start(program: &[&str], name: &str, rounds: usize) -> Self {
        Self::start_with(program, name, rounds, &[])
    }

    /// The same with some variables of the environment set.
    pub(crate) fn start_with(
        program: &[&str],
        name: &str,
        rounds: usize,
        variables: &[(&str, &str)],
    ) -> Self {
        let own = std::env::current_exe().unwrap();
        let own = own.to_str().unwrap();
        let test = [own, name, "--exact", "--nocapture", "--test-threads=1"];
        let words = [program, &test].concat();
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .env("RUST_BACKTRACE", "0")
            .env_remove("WINDLASS_NOTIFIER")
            .env_remove("WINDLASS_BACKEND")
            .env(ROUNDS, rounds.to_string())
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            output,
            _limit: limit(name),
        }
    }

    /// Waits until the child is ready, and returns the address that it gives.
    #[track_caller]
    pub(crate) fn wait_until_ready(&mut self) -> Option<SocketAddr> {
        for line in self.output.by_ref().lines() {
            if let Some(address) = line.unwrap().strip_prefix(READY) {
                return address.parse().ok();
            }
        }
        panic!("the child ended before it was ready");
    }

    /// Tells the child to go on.
    pub(crate) fn go_on(&mut self) {
        let input: Option<ChildStdin> = self.child.stdin.take();
        drop(input);
    }

    /// Waits for the end, which must be a good one, and returns what the child said after it was
    /// ready.
    #[track_caller]
    pub(crate) fn finish(mut self) -> String {
        self.go_on();
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}\n{text}");
        assert!(text.contains("1 passed"), "no such test?\n{text}");
        text
    }
}

/// Ends this process if what is returned is not dropped in time.
fn limit(name: &str) -> mpsc::Sender<()> {
    let (done, wait) = mpsc::channel::<()>();
    let name = name.to_owned();
    thread::spawn(move || {
        if wait.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("{name} hangs: {LIMIT:?} are over");
            std::process::abort();
        }
    });
    done
}
