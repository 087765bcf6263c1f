//! `executor` with an allocator that counts, for its row about memory; run by it, not by hand.
//!
//! A program of its own, so that the other rows do not pay for the counting.

use std::process::ExitCode;
use windlass_peers::case::Case;
use windlass_peers::heap::Counting;
use windlass_peers::runtimes;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let [_, situation, name, workers, count] = words.as_slice() else {
        eprintln!("executor_memory: run `executor --rows memory` instead");
        return ExitCode::FAILURE;
    };
    let case = workers.parse().ok().zip(count.parse().ok());
    let runtime = runtimes::ALL.iter().find(|runtime| runtime.name == name);
    let report = case.zip(runtime).and_then(|((workers, count), runtime)| {
        (runtime.measure)(situation, Case { workers, count })
    });
    match report {
        Some(report) => {
            print!("{report}");
            ExitCode::SUCCESS
        }
        None => ExitCode::FAILURE,
    }
}
