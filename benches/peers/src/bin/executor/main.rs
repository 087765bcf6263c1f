//! What tasks, timers and fairness cost, on windlass and on its peers, in one interleaved run.
//!
//! ```text
//! executor                               every row, every runtime; about half an hour
//! executor --quick                       the same in a few minutes, for a look
//! executor --rows spawn,hog --runtimes windlass,smol --rounds 3
//! executor --list                        the rows
//! ```
//!
//! A row is a situation with a number of workers. In each round every row is measured once for each
//! runtime, each time in a process of its own; what is printed is the median of the rounds. So of
//! rows that are named maxima, it is the median of the maxima. Instructions and system calls are
//! counted at two lengths, and the difference is divided by what it holds, so that neither start
//! nor shutdown is in it.

mod measure;
mod rows;
mod table;

use clap::Parser;
use measure::{Found, Program};
use rows::Row;
use std::process::ExitCode;
use windlass_peers::case;
use windlass_peers::machine;
use windlass_peers::runtimes::{self, Runtime};

/// What the head of the results names.
const PEERS: [&str; 6] = [
    "tokio",
    "smol",
    "async-executor",
    "monoio",
    "glommio",
    "compio",
];

/// Measures executors.
#[derive(Debug, Parser)]
struct Options {
    /// Rows whose names begin so; all unless given.
    #[arg(long, value_delimiter = ',')]
    rows: Vec<String>,
    /// Runtimes; all unless given.
    #[arg(long, value_delimiter = ',')]
    runtimes: Vec<String>,
    /// Rounds of every row, instead of its own number.
    #[arg(long)]
    rounds: Option<usize>,
    /// Fewer rounds, and shorter.
    #[arg(long)]
    quick: bool,
    /// How long a task blocks its thread in the row that is about that.
    #[arg(long)]
    stuck_seconds: Option<u64>,
    /// Names the rows and ends.
    #[arg(long)]
    list: bool,
    /// Measures one case in this process: SITUATION RUNTIME WORKERS COUNT.
    #[arg(long, hide = true, num_args = 4)]
    case: Option<Vec<String>>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match &options.case {
        Some(words) => case::measure(words),
        None if options.list => list(),
        None => run(&options),
    }
}

fn list() -> ExitCode {
    for row in rows::ALL {
        println!("{:24} {}", row.name, row.what);
    }
    ExitCode::SUCCESS
}

/// Measures all that is asked for and prints the table.
fn run(options: &Options) -> ExitCode {
    let rows = chosen(rows::ALL, &options.rows, |row, name| {
        row.name.starts_with(name)
    });
    let runtimes = chosen(&runtimes::ALL, &options.runtimes, |runtime, name| {
        runtime.name == name
    });
    if rows.is_empty() || runtimes.is_empty() {
        eprintln!("executor: no such row or runtime; --list names the rows");
        return ExitCode::FAILURE;
    }
    println!("{}", machine::head(&PEERS).expect("a string takes all"));
    let program = Program::own(options.stuck_seconds);
    let mut found = Found::default();
    let most = rows
        .iter()
        .map(|row| rounds(options, row))
        .max()
        .unwrap_or(0);
    for round in 0..most {
        eprintln!("round {} of {most}", round + 1);
        for row in rows.iter().filter(|row| round < rounds(options, row)) {
            for place in 0..runtimes.len() {
                // Another one begins in each round.
                let runtime = runtimes[(place + round) % runtimes.len()];
                if found.has_failed(row, runtime) {
                    continue;
                }
                found.add(
                    row,
                    runtime.name,
                    program.measure(row, runtime, options.quick),
                );
            }
        }
    }
    print!(
        "{}",
        table::Table {
            rows: &rows,
            runtimes: &runtimes,
            found: &found
        }
    );
    ExitCode::SUCCESS
}

fn rounds(options: &Options, row: &Row) -> usize {
    match (options.rounds, options.quick) {
        (Some(rounds), _) => rounds.min(row.rounds).max(1),
        (None, true) => row.rounds.min(3),
        (None, false) => row.rounds,
    }
}

/// Those of `all` that one of `names` names; all if there are no names.
fn chosen<'a, T>(all: &'a [T], names: &[String], is: impl Fn(&T, &str) -> bool) -> Vec<&'a T> {
    let named = |item: &&T| names.is_empty() || names.iter().any(|name| is(item, name));
    all.iter().filter(named).collect()
}

/// Whether a runtime can be measured in a row.
fn takes_part(row: &Row, runtime: &Runtime) -> bool {
    row.workers == 1 || runtime.is_threaded
}
