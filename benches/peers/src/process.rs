//! Runs a case in a process of its own, plainly or under a tool that counts.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a case may take under a tool that counts.
const COUNTED: Duration = Duration::from_secs(120);

/// Runs a program and returns what it prints, or why there is nothing.
///
/// # Errors
///
/// The program can't be started, fails, or takes too long; the last line that it wrote to standard
/// error stands in the text.
pub fn output(command: &mut Command, limit: Duration) -> Result<String, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", command.get_program().to_string_lossy()))?;
    let start = Instant::now();
    // What is printed fits into the pipes, so nobody has to read meanwhile.
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if start.elapsed() > limit => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("took more than {} s", limit.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let (mut text, mut errors) = (String::new(), String::new());
    let _ = child
        .stdout
        .take()
        .map(|mut from| from.read_to_string(&mut text));
    let _ = child
        .stderr
        .take()
        .map(|mut from| from.read_to_string(&mut errors));
    match status.success() {
        true => Ok(text),
        false => Err(reason(&errors).unwrap_or_else(|| status.to_string())),
    }
}

/// The line of a panic or error that says most.
fn reason(errors: &str) -> Option<String> {
    let said = |line: &&str| !line.trim().is_empty() && !line.starts_with("note:");
    let after_panic = errors
        .lines()
        .skip_while(|line| !line.contains("panicked at"));
    let line = after_panic.skip(1).find(said);
    line.or_else(|| errors.lines().rfind(said))
        .map(str::to_owned)
}

/// Runs a program under callgrind and returns the user instructions of all its threads, and what it
/// prints.
///
/// # Errors
///
/// As [`output`]; also if there is no valgrind.
pub fn instructions(program: &Path, arguments: &[String]) -> Result<(f64, String), String> {
    let counts = scratch("callgrind");
    let mut command = Command::new("valgrind");
    command
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(program)
        .args(arguments);
    let printed = output(&mut command, COUNTED);
    let text = read_and_remove(&counts);
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    match total.and_then(|total| total.trim().parse().ok()) {
        Some(total) => Ok((total, printed?)),
        None => Err(printed
            .err()
            .unwrap_or("callgrind has counted nothing".to_owned())),
    }
}

/// Runs a program and returns the system calls of all its threads, counted by the kernel's
/// tracepoint through perf if that is allowed, else by strace, which slows what it counts.
///
/// # Errors
///
/// As [`output`]; also if there is neither tool.
pub fn system_calls(program: &Path, arguments: &[String]) -> Result<f64, String> {
    by_perf(program, arguments).or_else(|_| by_strace(program, arguments))
}

fn by_perf(program: &Path, arguments: &[String]) -> Result<f64, String> {
    let counts = scratch("perf");
    let mut command = Command::new("perf");
    command
        .args(["stat", "-x,", "-e", "raw_syscalls:sys_enter", "-o"])
        .arg(&counts)
        .arg(program)
        .args(arguments);
    let outcome = output(&mut command, COUNTED).map(|_| read_and_remove(&counts));
    outcome.and_then(|text| {
        let line = text.lines().find(|line| line.contains("sys_enter"));
        let count = line.and_then(|line| line.split(',').next());
        count
            .and_then(|count| count.parse().ok())
            .ok_or_else(|| "perf has counted nothing".to_owned())
    })
}

fn by_strace(program: &Path, arguments: &[String]) -> Result<f64, String> {
    let counts = scratch("strace");
    let mut command = Command::new("strace");
    command
        .args(["-f", "-c", "-o"])
        .arg(&counts)
        .arg(program)
        .args(arguments);
    let outcome = output(&mut command, COUNTED).map(|_| read_and_remove(&counts));
    outcome.and_then(|text| {
        let line = text.lines().rfind(|line| line.ends_with(" total"));
        let count = line.and_then(|line| line.split_whitespace().nth(3));
        count
            .and_then(|count| count.parse().ok())
            .ok_or_else(|| "strace has counted nothing".to_owned())
    })
}

/// A file for the counts of a tool.
fn scratch(tool: &str) -> PathBuf {
    std::env::temp_dir().join(format!("windlass-{tool}.{}", std::process::id()))
}

fn read_and_remove(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    text
}
