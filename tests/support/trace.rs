//! Counts the system calls of a child, by strace.

use super::LIMIT;
use super::child::{self, Running};
use std::collections::BTreeMap;
use std::fmt;
use std::process::Command;
use windlass::Runtime;
use windlass::time::timeout;

/// System calls by name: how many, and how many of these failed.
#[derive(Clone, Default)]
pub(crate) struct Calls(BTreeMap<String, (i64, i64)>);

/// The calls by which a reactor waits on epoll.
pub(crate) const WAITS: &[&str] = &["epoll_wait", "epoll_pwait", "epoll_pwait2"];
/// The calls by which memory comes and goes.
pub(crate) const MEMORY: &[&str] = &["brk", "mmap", "munmap", "mremap", "mprotect", "madvise"];

/// What may differ between two runs by chance, as when a thread is held up in between.
pub(crate) const SLACK: i64 = 5;

/// Runs `child` with the number of rounds, if this is a child; else compares two of them.
pub(crate) fn compare(
    name: &str,
    rounds: (usize, usize),
    child: impl FnOnce(usize),
    parent: impl Fn(&mut Running, usize),
    check: impl FnOnce(Calls),
) {
    if let Some(rounds) = child::rounds() {
        return child(rounds);
    }
    if is_possible() {
        check(difference(name, rounds, parent));
    }
}

/// Fails unless the calls are as many as expected, but for chance.
#[track_caller]
pub(crate) fn assert_near(calls: i64, expected: i64) {
    let range = expected - SLACK..=expected + SLACK;
    assert!(range.contains(&calls), "{calls} instead of {expected}");
}

/// Fails if there are calls that chance doesn't explain.
#[track_caller]
pub(crate) fn assert_none(calls: i64) {
    assert!(calls <= SLACK, "{calls} instead of none");
}

/// Runs `future` in a runtime of so many workers, for a limited time.
pub(crate) fn run<F: Future>(workers: usize, future: F) -> F::Output {
    let runtime = Runtime::builder().workers(workers).build().unwrap();
    runtime.block_on(async { timeout(LIMIT, future).await.expect("it takes too long") })
}

/// Says whether strace is here and may trace; prints if not.
fn is_possible() -> bool {
    let probe = Command::new("strace")
        .args(["-f", "-c", "-o", "/dev/null", "true"])
        .output();
    let works = probe.is_ok_and(|output| output.status.success());
    if !works {
        println!("skipped: no strace that may trace is here to count system calls with");
    }
    works
}

/// Runs the test `name` in a child on epoll, once for each number of rounds, and returns by how
/// much more the second has called the system. `parent` is what this process does meanwhile.
fn difference(name: &str, rounds: (usize, usize), parent: impl Fn(&mut Running, usize)) -> Calls {
    let few = calls(name, rounds.0, &parent);
    let many = calls(name, rounds.1, &parent);
    let difference = many.minus(&few);
    println!("{name}, {rounds:?} rounds: {difference}");
    difference
}

fn calls(name: &str, rounds: usize, parent: impl Fn(&mut Running, usize)) -> Calls {
    let file = format!("windlass-{}-{name}-{rounds}", std::process::id());
    let file = std::env::temp_dir().join(file);
    let path = file.to_str().unwrap();
    // The variable is for the child, whatever this process runs on.
    let strace = [
        "strace",
        "-f",
        "-c",
        "-E",
        "WINDLASS_BACKEND=epoll",
        "-o",
        path,
    ];
    let mut running = Running::start(&strace, name, rounds);
    parent(&mut running, rounds);
    running.finish();
    let summary = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    Calls::parse(&summary)
}

impl Calls {
    /// Reads strace's table: time, seconds, usecs/call, calls, perhaps errors, name.
    fn parse(summary: &str) -> Self {
        let lines = summary
            .lines()
            .map(|line| line.split_whitespace().collect());
        let row = |words: Vec<&str>| {
            let calls = words.get(3)?.parse().ok()?;
            let errors = match words.len() {
                6 => words[4].parse().ok()?,
                5 => 0,
                _ => return None,
            };
            let name = (*words.last()?).to_owned();
            (name != "total").then_some((name, (calls, errors)))
        };
        let rows: BTreeMap<_, _> = lines.filter_map(row).collect();
        assert!(rows.contains_key("execve"), "not a summary:\n{summary}");
        Self(rows)
    }

    fn minus(&self, other: &Self) -> Self {
        let mut difference = self.clone();
        for (name, (calls, errors)) in &other.0 {
            let entry = difference.0.entry(name.clone()).or_default();
            entry.0 -= calls;
            entry.1 -= errors;
        }
        difference.0.retain(|_, counts| *counts != (0, 0));
        difference
    }

    /// How many calls have one of these names.
    pub(crate) fn of(&self, names: &[&str]) -> i64 {
        self.counts(|name| names.contains(&name)).0
    }

    /// How many calls with one of these names have failed.
    pub(crate) fn failed(&self, names: &[&str]) -> i64 {
        self.counts(|name| names.contains(&name)).1
    }

    /// How many calls have none of these names.
    pub(crate) fn besides(&self, names: &[&[&str]]) -> i64 {
        let names = names.concat();
        self.counts(|name| !names.contains(&name)).0
    }

    fn counts(&self, is_meant: impl Fn(&str) -> bool) -> (i64, i64) {
        let meant = self.0.iter().filter(|(name, _)| is_meant(name));
        meant.fold((0, 0), |sum, (_, counts)| {
            (sum.0 + counts.0, sum.1 + counts.1)
        })
    }
}

impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, (calls, errors)) in &self.0 {
            write!(f, "{name} {calls}")?;
            if *errors != 0 {
                write!(f, " ({errors} failed)")?;
            }
            f.write_str(", ")?;
        }
        Ok(())
    }
}
