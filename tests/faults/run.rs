//! A child in which a call fails, and what came of it.

use super::peer;
use super::rows::Fault;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Begins each outcome that must not be.
pub(crate) const WRONG: &str = "WRONG";

/// The variable that tells a child what to do.
const SUBJECT: &str = "WINDLASS_FAULTS_SUBJECT";
/// How long a child may take.
const LIMIT: Duration = Duration::from_secs(30);

/// Returns what this process is to do, if it is a child.
pub(crate) fn subject_of_child() -> Option<String> {
    std::env::var(SUBJECT).ok()
}

/// Says why the table can't be made here, if so.
pub(crate) fn reason_to_skip() -> Option<String> {
    match std::env::var("WINDLASS_BACKEND").as_deref() {
        Ok("epoll") | Err(_) => {}
        Ok(other) => return Some(format!("the calls are those of epoll, not of {other}")),
    }
    if std::env::var_os("WINDLASS_NOTIFIER").is_some() {
        return Some("the calls are those of the notifier that is chosen by itself".into());
    }
    if !cfg!(target_os = "linux") {
        return Some("the errors are those of Linux".into());
    }
    let probe = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .output();
    let works = probe.is_ok_and(|output| output.status.success());
    (!works).then(|| "there is no strace here, or it may not trace".into())
}

/// Runs a child, is its peer, and says what came of it.
pub(crate) fn outcome(fault: &Fault) -> String {
    let log = std::env::temp_dir().join(format!(
        "windlass-fault-{}-{}-{}-{}-{}",
        std::process::id(),
        fault.subject,
        fault.call,
        fault.error,
        fault.which
    ));
    let inject = format!(
        "inject={}:error={}:when={}",
        fault.call, fault.error, fault.which
    );
    let mut child = Command::new("strace")
        .args(["-f", "-qq", "-e", &format!("trace={}", fault.call)])
        .args(["-e", &inject, "-o"])
        .arg(&log)
        .arg(std::env::current_exe().expect("this program has a path"))
        .env(SUBJECT, fault.subject)
        .env("WINDLASS_FAULTS_PEERS", peer::addresses())
        .env("WINDLASS_BACKEND", "epoll")
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("strace starts");
    let told = follow(&mut child, fault.subject);
    let calls = std::fs::read_to_string(&log).unwrap_or_default();
    let _ = std::fs::remove_file(&log);
    match told {
        Ok(_) if !calls.contains("INJECTED") => format!("{WRONG}: the call was not made"),
        Ok(outcome) => outcome,
        Err(why) => format!("{WRONG}: {why}"),
    }
}

/// Is the peer of a child until it ends; returns what it said last.
fn follow(child: &mut Child, subject: &str) -> Result<String, String> {
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut errors = child.stderr.take().expect("it is piped");
    let (tell, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            let _ = tell.send(line);
        }
    });
    let (tell_errors, all_errors) = mpsc::channel();
    thread::spawn(move || {
        let mut text = String::new();
        let _ = errors.read_to_string(&mut text);
        let _ = tell_errors.send(text);
    });
    let begin = Instant::now();
    let mut served = None;
    let mut outcome = None;
    while let Ok(line) = lines.recv_timeout(LIMIT.saturating_sub(begin.elapsed())) {
        match line.split_once(": ") {
            Some(("address", address)) => served = Some(peer::visit(subject, address)),
            Some(("outcome", text)) => outcome = Some(text.to_owned()),
            _ => return Err(format!("unexpected: {line}")),
        }
    }
    if begin.elapsed() >= LIMIT {
        // What it traces goes on without it, and ends itself in time.
        let _ = child.kill();
        let _ = child.wait();
        return Err("it hangs".into());
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let errors = all_errors.recv().unwrap_or_default();
    if !status.success() || errors.contains("panicked") {
        return Err(format!("{status}: {}", errors.trim().replace('\n', " ")));
    }
    let outcome = outcome.ok_or("it says nothing")?;
    Ok(match served {
        // One is the one that was hit.
        Some(served) if served < 3 => format!("{WRONG}: served {served}{outcome}"),
        Some(served) => format!("served {served}{outcome}"),
        None => outcome.trim_start_matches(", ").to_owned(),
    })
}
