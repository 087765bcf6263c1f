//! Each system call that sockets make, failing with each error that its manual page names, one at a
//! time: nobody panics, hangs, spins or leaks a descriptor, and only what was hit is lost.
//!
//! Every cell of the table is a run of this program as a child under strace(1), which lets one call
//! fail; this process, which is not traced, is the peer. What came of it is compared with
//! `tests/FAULTS.md`. To write that file anew, and then to read what has changed:
//!
//! ```text
//! WINDLASS_WRITE_FAULTS=1 cargo test --test faults
//! ```

mod peer;
mod rows;
mod run;
mod subjects;

use rows::Fault;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

/// The table that is kept.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/FAULTS.md");
/// How many children run at a time; they mostly wait.
const AT_A_TIME: usize = 4;

const HEAD: &str = "\
# Faults

What becomes of a program when a system call fails, by `tests/faults`, on epoll. A *server* has one
connection open all the time and serves three more, one after the other; *served 4* is all of them.
What follows is what was told: by `accept`, or to who used the connection. The number is that of the
call that fails, counted for each thread; `n+` are all from there.

| subject | call | error | which | outcome |
| --- | --- | --- | --- | --- |
";

fn main() -> ExitCode {
    if let Some(subject) = run::subject_of_child() {
        subjects::run(&subject);
        return ExitCode::SUCCESS;
    }
    if let Some(reason) = run::reason_to_skip() {
        println!("skipped: {reason}");
        return ExitCode::SUCCESS;
    }
    let faults = rows::all();
    let outcomes = outcomes(&faults);
    let mut table = String::from(HEAD);
    for (fault, outcome) in faults.iter().zip(&outcomes) {
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {outcome} |",
            fault.subject, fault.call, fault.error, fault.which
        );
    }
    println!("{table}");
    if std::env::var_os("WINDLASS_WRITE_FAULTS").is_some() {
        std::fs::write(KEPT, &table).expect("the table can be written");
    }
    let kept = std::fs::read_to_string(KEPT).unwrap_or_default();
    compare(&table, &kept)
}

/// Runs a child for each fault.
fn outcomes(faults: &[Fault]) -> Vec<String> {
    let left: Mutex<VecDeque<_>> = Mutex::new(faults.iter().enumerate().collect());
    let outcomes = Mutex::new(vec![String::new(); faults.len()]);
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let Some((index, fault)) = left.lock().unwrap().pop_front() else {
                        break;
                    };
                    let outcome = run::outcome(fault);
                    outcomes.lock().unwrap()[index] = outcome;
                }
            });
        }
    });
    outcomes.into_inner().unwrap()
}

/// Fails unless the table is the one that is kept, line by line, and no line says that something went
/// wrong.
fn compare(table: &str, kept: &str) -> ExitCode {
    let lines: Vec<_> = table.lines().skip(HEAD.lines().count()).collect();
    let kept: Vec<_> = kept.lines().skip(HEAD.lines().count()).collect();
    let count = lines.len().max(kept.len());
    let is_right = |index: &usize| {
        let line = lines.get(*index);
        line.is_some_and(|line| !line.contains(run::WRONG)) && line == kept.get(*index)
    };
    let passed = (0..count).filter(is_right).count();
    for index in (0..count).filter(|index| !is_right(index)) {
        println!("is now:   {}", lines.get(index).unwrap_or(&"not there"));
        println!("was kept: {}", kept.get(index).unwrap_or(&"not there"));
    }
    let failed = count - passed;
    println!("faults: {passed} passed, {failed} failed");
    match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
