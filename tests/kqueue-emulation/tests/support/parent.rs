//! The process that starts one process for each rule, because what is played and what is logged
//! belong to a whole process.

use std::env;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::thread;

use crate::rules::{RULES, Rule};

/// Runs them all, some at a time, and fails with every failure.
pub(crate) fn run_every_rule(test: &str, preload: Option<&str>) {
    let next = Mutex::new(RULES.iter());
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(rule) = { next.lock().unwrap().next() } {
                    if let Err(failure) = run_rule(rule, test, preload) {
                        failures
                            .lock()
                            .unwrap()
                            .push(format!("## {}: {failure}", rule.name));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        RULES.len(),
        failures.join("\n")
    );
}

/// Expects that a word that is not known ends the process before it does anything.
pub(crate) fn expect_abort(test: &str, preload: Option<&str>) {
    let mut command = command(RULES[0].name, test, preload);
    let output = command.env("KQUEUE_EMULATION", "solaris").output().unwrap();
    assert_eq!(
        output.status.signal(),
        Some(libc::SIGABRT),
        "{}",
        text(&output)
    );
    assert!(
        text(&output).contains("unknown word \"solaris\""),
        "{}",
        text(&output)
    );
}

/// Expects what the variables beside `KQUEUE_EMULATION` promise, of a rule that breaks others.
pub(crate) fn expect_settings(test: &str, preload: Option<&str>) {
    let rule = "bad_lists_are_refused";
    let output = command(rule, test, preload)
        .env("KQUEUE_EMULATION_FATAL", "1")
        .output()
        .unwrap();
    assert_eq!(
        output.status.signal(),
        Some(libc::SIGABRT),
        "{}",
        text(&output)
    );
    assert!(text(&output).contains(" bad-list "), "{}", text(&output));

    let way = if preload.is_some() {
        "preloaded"
    } else {
        "direct"
    };
    let path = format!("windlass-kqueue-{}-{way}-settings", std::process::id());
    let (log, statistics) = (
        env::temp_dir().join(&path),
        env::temp_dir().join(path + "-counters"),
    );
    let mut command = command(rule, test, preload);
    command
        .env("KQUEUE_EMULATION_LOG", &log)
        .env("KQUEUE_EMULATION_STATS", &statistics);
    let output = command
        .env("KQUEUE_EMULATION_ALLOW", "no-queue,bad-list")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(!log.exists(), "what is allowed is not logged");
    let counters = fs::read_to_string(&statistics).unwrap();
    fs::remove_file(&statistics).unwrap();
    assert!(
        counters.starts_with("pid=") && counters.contains(" queues=1 "),
        "{counters}"
    );
    assert!(counters.ends_with(" violations=0\n"), "{counters}");
}

fn run_rule(rule: &Rule, test: &str, preload: Option<&str>) -> Result<(), String> {
    let process = std::process::id();
    let way = if preload.is_some() {
        "preloaded"
    } else {
        "direct"
    };
    let log = env::temp_dir().join(format!("windlass-kqueue-{process}-{way}-{}", rule.name));
    let mut command = command(rule.name, test, preload);
    command
        .env("KQUEUE_EMULATION", rule.variant)
        .env("KQUEUE_EMULATION_LOG", &log);
    let output = command.output().map_err(|error| error.to_string())?;
    let lines = fs::read_to_string(&log).unwrap_or_default();
    let _ = fs::remove_file(&log);
    if !output.status.success() {
        return Err(format!("{}\n{}", output.status, text(&output)));
    }
    let breaches: Vec<_> = lines
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    if breaches != rule.breaches {
        return Err(format!(
            "breaches are {:?}, but logged was\n{lines}",
            rule.breaches
        ));
    }
    Ok(())
}

fn command(rule: &str, test: &str, preload: Option<&str>) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture"])
        .env("WINDLASS_KQUEUE_RULE", rule);
    for name in ["ALLOW", "FATAL", "STATS"] {
        command.env_remove(format!("KQUEUE_EMULATION_{name}"));
    }
    if let Some(library) = preload {
        command.env("LD_PRELOAD", library);
    }
    command
}

fn text(output: &Output) -> String {
    let (out, error) = (&output.stdout, &output.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(error)
    )
}
