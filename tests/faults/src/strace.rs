//! Has a call of a process fail, by strace.

use crate::server::{Lines, wait_until};
use crate::table::{Cell, Times};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Fails, and says why, unless strace is here and may trace.
pub(crate) fn require() -> Result<(), String> {
    let probe = [
        "-f",
        "-e",
        "inject=close:error=EIO:when=1000",
        "-o",
        "/dev/null",
        "true",
    ];
    match Command::new("strace").args(probe).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "strace may not trace here: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        Err(error) => Err(format!(
            "strace can't be started: {error}; it is in the package strace"
        )),
    }
}

/// What the process has called, in a file.
pub(crate) struct Log(PathBuf);

impl Log {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("windlass-faults.{}.{count}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.0).unwrap_or_default()
    }

    /// Says whether the error was injected.
    pub(crate) fn has_injected(&self) -> bool {
        self.text().contains("(INJECTED)")
    }

    /// Returns how many calls there were.
    pub(crate) fn calls(&self) -> usize {
        self.text().lines().count()
    }

    /// Returns the last calls, to be shown.
    pub(crate) fn tail(&self) -> String {
        let text = self.text();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns the command that traces what follows, and has the call of `cell` fail.
pub(crate) fn command(cell: &Cell, log: &Log) -> Command {
    let always = if cell.times == Times::Always { "+" } else { "" };
    let Cell { call, error, .. } = cell;
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "signal=none"]);
    command.arg("-e");
    command.arg(format!("inject={call}:error={error}:when=1{always}"));
    command.arg("-o").arg(&log.0);
    command
}

/// A strace that has been attached to a process; it leaves when this is dropped.
pub(crate) struct Attached(Child);

impl Attached {
    /// Attaches to all threads of the process.
    pub(crate) fn to(process: u32, cell: &Cell, log: &Log) -> Result<Self, String> {
        let mut command = command(cell, log);
        command.arg("-p").arg(process.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| format!("strace can't be started: {error}"))?;
        let lines = Lines::of(child.stderr.take().expect("it is piped"));
        let attached = Self(child);
        let is_attached = || lines.all().iter().any(|line| line.contains("attached"));
        match wait_until(is_attached) {
            true => Ok(attached),
            false => Err(format!("strace does not attach: {:?}", lines.all())),
        }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // It lets go of what it traces when it is asked to end, not when it is killed.
        let pid = self.0.id().to_string();
        let _ = Command::new("kill").arg(pid).status();
        let _ = self.0.wait();
    }
}
