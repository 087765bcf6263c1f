//! A server that runs as a process of its own, as seen from outside.

use crate::table::Cell;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Whatever is waited for has to have come by then.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// Waits until `done` says so; says whether it did in time.
pub(crate) fn wait_until(done: impl FnMut() -> bool) -> bool {
    wait_for(LIMIT, done)
}

/// As [`wait_until`], for so long.
pub(crate) fn wait_for(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    loop {
        if done() {
            return true;
        }
        if began.elapsed() > limit {
            return false;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// The lines that a process has written, as they come.
#[derive(Clone)]
pub(crate) struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    pub(crate) fn of(output: impl Read + Send + 'static) -> Self {
        let lines = Self(Arc::default());
        let filled = lines.clone();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                filled.0.lock().expect("nobody panics").push(line);
            }
        });
        lines
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().expect("nobody panics").clone()
    }
}

/// A server, killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    pub(crate) output: Lines,
    pub(crate) errors: Lines,
}

impl Process {
    /// Starts the server of `cell`, by way of `tracer` if there is one.
    pub(crate) fn start(
        tracer: Option<Command>,
        cell: &Cell,
        upstream: Option<SocketAddr>,
    ) -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = match tracer {
            Some(mut tracer) => {
                tracer.arg(own);
                tracer
            }
            None => Command::new(own),
        };
        command.args(["subject", cell.server.name()]);
        command.args(upstream.map(|address| address.to_string()));
        command
            .env_remove("WINDLASS_BACKEND")
            .env_remove("WINDLASS_NOTIFIER");
        command.envs(cell.backend.map(|backend| ("WINDLASS_BACKEND", backend)));
        command.envs(
            cell.notifier
                .map(|notifier| ("WINDLASS_NOTIFIER", notifier)),
        );
        // A trace of a panic costs thousands of calls.
        command.env("RUST_BACKTRACE", "0");
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let spawned = command.stderr(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|error| format!("the server can't be run: {error}"))?;
        Ok(Self {
            input: child.stdin.take(),
            output: Lines::of(child.stdout.take().expect("it is piped")),
            errors: Lines::of(child.stderr.take().expect("it is piped")),
            child,
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it listens, or has ended instead; returns where.
    pub(crate) fn address(&mut self) -> Option<String> {
        let mut address = None;
        wait_until(|| {
            let lines = self.output.all();
            let told = lines
                .iter()
                .find_map(|line| line.strip_prefix("listening on "));
            address = told.map(str::to_owned);
            address.is_some() || self.status().is_some()
        });
        address
    }

    /// How it ended, if it did.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Returns how many descriptors it has open.
    pub(crate) fn descriptors(&self) -> usize {
        let list = fs::read_dir(format!("/proc/{}/fd", self.id()));
        list.map_or(0, Iterator::count)
    }

    /// Returns how many it has open once that has stayed the same for a while.
    pub(crate) fn settled_descriptors(&self) -> usize {
        let mut last = self.descriptors();
        wait_until(|| {
            thread::sleep(Duration::from_millis(20));
            let before = std::mem::replace(&mut last, self.descriptors());
            last == before
        });
        last
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn end(mut self) -> Result<(), String> {
        self.input = None;
        let mut status = None;
        wait_until(|| {
            status = self.status();
            status.is_some()
        });
        match status {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(format!("it ends with {status}: {:?}", self.errors.all())),
            None => Err("it does not end when it is asked to".into()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
