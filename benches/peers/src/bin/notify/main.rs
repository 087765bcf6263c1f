//! Ten producers notify one consumer a million times: what that takes by each means.
//!
//! ```text
//! notify                           every case, on all processors and on one; some minutes
//! notify --quick                   fewer rounds
//! notify --means windlass,pthread --rounds 3
//! ```
//!
//! This is the program of Traffic Server's ticket, where an eventfd was compared with a condition
//! variable. Two protocols are measured:
//!
//! - *coalescing*: a producer notifies and goes on; notifications that come before the consumer has
//!   woken up merge into one. The consumer counts how often it wakes up. A condition variable has a
//!   flag under its lock; a waker needs nothing beside itself, for merging is what wakers do.
//! - *every notification taken*: a producer adds one to a count, then notifies; the consumer takes
//!   the whole count whenever it wakes up, and is done when it has taken a million. Nothing may be
//!   lost. A condition variable has the count under its lock; an eventfd counts by itself, a pipe
//!   holds a byte for each.
//!
//! *park*, a count with the parking of threads, is the floor: the least that a waker could be.
//!
//! On the runtimes the consumer is a task of one worker, and the producers, which are threads,
//! call `wake_by_ref` on its `Waker`: the same protocol and the same few instructions beside the
//! wake itself for all of them, which no two channels or semaphores would have. Each case runs in
//! a process of its own, and the rounds are interleaved. The time is from the moment when all
//! producers start to the moment when the consumer is done; processor time and context switches
//! are those of the whole process, until the producers have ended.

mod means;
mod plain;
mod protocol;
mod table;
mod wakers;

use clap::Parser;
use protocol::{PRODUCERS, Protocol};
use std::process::{Command, ExitCode};
use std::time::Duration;
use table::{Found, Setting};
use windlass_peers::case::Report;
use windlass_peers::{machine, process};

/// Notifications of a case, of all producers together.
const NOTIFICATIONS: u64 = 1_000_000;

/// How long a case may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Measures notifications.
#[derive(Debug, Parser)]
struct Options {
    /// Means; all unless given.
    #[arg(long, value_delimiter = ',')]
    means: Vec<String>,
    /// Rounds.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Three rounds.
    #[arg(long)]
    quick: bool,
    /// Measures one case in this process: MEANS PROTOCOL ALL-OR-ONE NOTIFICATIONS.
    #[arg(long, hide = true, num_args = 4)]
    case: Option<Vec<String>>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match &options.case {
        Some(words) => case(words),
        None => run(&options),
    }
}

/// Measures one case, as a child of this program.
fn case(words: &[String]) -> ExitCode {
    let [means, protocol, processors, notifications] = words else {
        unreachable!("the parser takes four");
    };
    if processors == "one" {
        pin();
    }
    let protocol = Protocol::ALL
        .into_iter()
        .find(|known| known.name() == protocol);
    let each = notifications.parse::<u64>().ok().map(|all| all / PRODUCERS);
    let report = protocol
        .zip(each)
        .and_then(|(protocol, each)| means::measure(means, protocol, each));
    match report {
        Some(report) => {
            print!("{report}");
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("no such case: {}", words.join(" "));
            ExitCode::FAILURE
        }
    }
}

/// Keeps this process and its threads on one processor.
fn pin() {
    let mut set = rustix::thread::CpuSet::new();
    set.set(0);
    rustix::thread::sched_setaffinity(None, &set).expect("processor 0 can be chosen");
}

/// Measures all that is asked for and prints the tables.
fn run(options: &Options) -> ExitCode {
    let named =
        |name: &&&str| options.means.is_empty() || options.means.iter().any(|of| of == **name);
    let means: Vec<&str> = means::ALL.iter().filter(named).copied().collect();
    if means.is_empty() {
        eprintln!("notify: no such means; there are {}", means::ALL.join(", "));
        return ExitCode::FAILURE;
    }
    println!(
        "{}",
        machine::head(&["tokio", "smol", "parking_lot"]).expect("a string takes all")
    );
    let rounds = if options.quick { 3 } else { options.rounds };
    for setting in Setting::ALL {
        let mut found = Found::default();
        for round in 0..rounds {
            for place in 0..means.len() {
                // Another one begins in each round.
                let name = means[(place + round) % means.len()];
                found.add(name, measure(name, setting));
            }
        }
        for name in &means {
            found.add(name, count(name, setting));
        }
        print!(
            "{}",
            table::Table {
                setting,
                means: &means,
                found: &found
            }
        );
    }
    ExitCode::SUCCESS
}

fn arguments(means: &str, setting: Setting, notifications: u64) -> Vec<String> {
    let processors = if setting.on_one { "one" } else { "all" };
    let notifications = notifications.to_string();
    [
        "--case",
        means,
        setting.protocol.name(),
        processors,
        &notifications,
    ]
    .map(str::to_owned)
    .into()
}

/// Measures one case in a process of its own.
fn measure(means: &str, setting: Setting) -> Result<Report, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let arguments = arguments(means, setting, NOTIFICATIONS);
    let text = process::output(Command::new(program).args(arguments), LIMIT)?;
    Ok(Report::parse(&text))
}

/// Counts the system calls of one case for each thousand notifications, in a run of its own.
fn count(means: &str, setting: Setting) -> Result<Report, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let run =
        |notifications| process::system_calls(&program, &arguments(means, setting, notifications));
    let difference = run(NOTIFICATIONS)? - run(PRODUCERS)?;
    let each = difference.max(0.0) / (NOTIFICATIONS - PRODUCERS) as f64;
    Ok(Report::of("calls", each * 1e3))
}
