//! Has each system call of windlass-net fail with each error that its manual page names, and checks
//! what comes of it.
//!
//! ```text
//! windlass-faults                        checks the table, and prints it
//! windlass-faults --write FILE           and keeps it there
//! windlass-faults --only accept4         only the rows of that call
//! windlass-faults --jobs N               so many at a time
//! ```
//!
//! A cell is a call and an error. For each, a small server runs as a process of its own, and strace
//! has one call of it fail (`--inject`): strace is attached when the server has come to rest, so
//! that the next call of that name is the one that is meant. Then a connection comes, the *victim*.
//! There is one from before, the *bystander*, and one that comes after, the *newcomer*. Wanted is:
//!
//! - the error has been injected;
//! - the victim fares as the table says, and what the server tells of it names the error;
//! - bystander and newcomer are served;
//! - then the server has as many descriptors open as before, makes no system call while nothing
//!   happens, and ends when it is asked to.
//!
//! Each step has a limit of time. To read in this order: `table.rs` (what is to fail, and what is
//! expected), `scene.rs` (the servers there are), `subject.rs` (what they do), `cell.rs` (one cell),
//! `client.rs`, `strace.rs`, `server.rs` (what it needs), `report.rs` (the table as text). A new
//! kind of descriptor is a server in `subject.rs` and rows in `table.rs`.

#![forbid(unsafe_code)]

mod cell;
mod client;
mod errors;
mod report;
mod scene;
mod server;
mod strace;
mod subject;
mod table;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// What is asked for on the command line.
struct Arguments {
    write: Option<String>,
    only: Option<String>,
    jobs: usize,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("subject", rest)) = words.split_first().map(|(first, rest)| (&**first, rest)) {
        return subject::run(rest);
    }
    match arguments(&words).and_then(|arguments| check(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(what) => {
            eprintln!("windlass-faults: {what}");
            ExitCode::from(2)
        }
    }
}

fn arguments(words: &[String]) -> Result<Arguments, String> {
    let mut arguments = Arguments {
        write: None,
        only: None,
        jobs: 4,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| {
            format!("{word} lacks its value; --write, --only and --jobs have one")
        })?;
        match &**word {
            "--write" => arguments.write = Some(value.clone()),
            "--only" => arguments.only = Some(value.clone()),
            "--jobs" => {
                let jobs = value.parse().ok().filter(|jobs| *jobs > 0);
                arguments.jobs =
                    jobs.ok_or(format!("--jobs {value}: a number above 0 is needed"))?;
            }
            other => return Err(format!("{other} is not known; --write, --only, --jobs are")),
        }
    }
    Ok(arguments)
}

/// Runs the cells that are asked for, and says whether each has come out as expected.
fn check(arguments: &Arguments) -> Result<bool, String> {
    strace::require()?;
    let began = Instant::now();
    let is_wanted = |cell: &table::Cell| {
        let only = arguments.only.as_deref();
        only.is_none_or(|only| cell.name().contains(only))
    };
    let cells: Vec<_> = table::cells().into_iter().filter(is_wanted).collect();
    let outcomes = run_all(&cells, arguments.jobs);
    let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count();
    let table = report::table(&cells, &outcomes);
    print!("{table}");
    println!(
        "\n{} cells, {failed} not as expected ({} s)",
        cells.len(),
        began.elapsed().as_secs()
    );
    report::print_failures(&cells, &outcomes);
    if let Some(file) = &arguments.write {
        std::fs::write(file, table).map_err(|error| format!("cannot write {file}: {error}"))?;
    }
    Ok(failed == 0)
}

/// Runs all cells, `jobs` at a time; a cell waits most of its time.
fn run_all(cells: &[table::Cell], jobs: usize) -> Vec<Result<String, String>> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![Ok(String::new()); cells.len()]);
    let work = || {
        while let Some((index, cell)) = next_of(cells, &next) {
            let outcome = cell::run(cell);
            outcomes.lock().expect("no cell panics")[index] = outcome;
        }
    };
    std::thread::scope(|scope| {
        (0..jobs).for_each(|_| drop(scope.spawn(work)));
    });
    outcomes.into_inner().expect("no cell panics")
}

fn next_of<'a>(cells: &'a [table::Cell], next: &AtomicUsize) -> Option<(usize, &'a table::Cell)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    cells.get(index).map(|cell| (index, cell))
}
