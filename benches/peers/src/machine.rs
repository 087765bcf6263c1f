//! Where and with what a run was made, for the head of its results.

use std::fmt::{self, Write};
use std::process::Command;

/// The versions that all programs of this folder were built with.
const LOCKED: &str = include_str!("../../Cargo.lock");

/// The head of a result: the machine, its load, the commit, the versions of the peers.
///
/// # Examples
///
/// ```
/// let head = windlass_peers::machine::head(&["tokio"]).unwrap();
/// assert!(head.contains("tokio 1."));
/// ```
///
/// # Errors
///
/// None happens: a `String` takes whatever is written.
pub fn head(peers: &[&str]) -> Result<String, fmt::Error> {
    let mut head = String::new();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    writeln!(head, "- machine: {}, {cores} processors", model())?;
    writeln!(head, "- kernel: {}", file("/proc/sys/kernel/osrelease"))?;
    writeln!(head, "- load before the run: {}", file("/proc/loadavg"))?;
    let commit = answer("git", &["describe", "--always", "--dirty"]);
    let date = answer("date", &["--utc", "+%Y-%m-%d %H:%M UTC"]);
    writeln!(head, "- windlass: {commit}, measured {date}")?;
    let compiler = answer("rustc", &["--version"]);
    writeln!(head, "- built by {compiler}, profile `release` of benches/")?;
    let peers: Vec<_> = peers.iter().map(|name| version(name)).collect();
    writeln!(head, "- peers: {}", peers.join(", "))?;
    Ok(head)
}

/// The name of the processor.
fn model() -> String {
    let all = file("/proc/cpuinfo");
    let line = all.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split_once(": "));
    name.map_or("unknown", |(_, name)| name).to_owned()
}

/// The name of a crate with the version in the lock file.
fn version(name: &str) -> String {
    let entry = format!("name = \"{name}\"\nversion = \"");
    let found = LOCKED
        .split_once(&entry)
        .and_then(|(_, rest)| rest.split_once('"'));
    found.map_or(name.to_owned(), |(version, _)| format!("{name} {version}"))
}

/// What a file holds, without the end of its last line; empty if it can't be read.
fn file(path: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.trim_end().to_owned()
}

/// What a command prints; empty if it can't be run.
fn answer(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&text).trim_end().to_owned()
}
