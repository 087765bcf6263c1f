//! `executor` with an allocator that counts, for its row about memory; run by it, not by hand.
//!
//! A program of its own, so that the other rows do not pay for the counting.

use std::process::ExitCode;
use windlass_peers::case;
use windlass_peers::heap::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(2).collect();
    case::measure(&words)
}
