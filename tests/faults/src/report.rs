//! The table as text.

use crate::subject::PATH;
use crate::table::Cell;
use std::fmt::Write;

const HEAD: &str = "\
# What comes of system calls that fail

Written by `.ci/injected.sh`, which has each call fail with each error, one at a time, in a server
that runs, and checks the outcome; see `tests/faults/src/main.rs`. In every cell the server did not
panic, hang or spin, had as many descriptors open afterwards as before, went on serving a connection
from before and a new one, and ended when it was asked to: unless the outcome says otherwise.

- *unnoticed*: the connection or the request that was hit is served all the same, and nothing is told.
- *told*: the server gets the error, and goes on; what was hit is served.
- *later*: what was hit is served at the next event. The kernel says `EAGAIN` only if there will be
  one.
- *lost*: the connection, or the datagram, that was hit is lost; the server gets the error.
- *refused*: the server does not start, and says this.
- *ends*: the server can't go on, and says this.
";

/// Returns the table.
pub(crate) fn table(cells: &[Cell], outcomes: &[Result<String, String>]) -> String {
    let mut text = String::from(HEAD);
    text.push_str("\n| call | error | where | outcome |\n| --- | --- | --- | --- |\n");
    for (cell, outcome) in cells.iter().zip(outcomes) {
        let Cell { call, error, .. } = cell;
        let outcome = match outcome {
            Ok(outcome) => without_numbers(outcome),
            Err(_) => "**not as expected**".to_owned(),
        };
        let place = cell.place();
        writeln!(text, "| {call} | {error} | {place} | {outcome} |").expect("there is room");
    }
    text
}

/// Leaves out paths, and the numbers of descriptors and ports, which may be others the next time.
fn without_numbers(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let follows = |before: &str| words.last().is_some_and(|last| last == before);
        let port = word.strip_prefix("127.0.0.1:");
        words.push(match port {
            Some(port) if !port.starts_with('0') => format!("127.0.0.1:N{}", rest(port)),
            None if word.contains(PATH) => format!("PATH{}", word.trim_start_matches(|c| c != ':')),
            None if follows("descriptor") && rest(word) != word => format!("N{}", rest(word)),
            _ => word.to_owned(),
        });
    }
    words.join(" ")
}

/// What follows a number.
fn rest(text: &str) -> &str {
    text.trim_start_matches(|digit: char| digit.is_ascii_digit())
}

/// Says what was wrong with the cells that have not come out as expected.
pub(crate) fn print_failures(cells: &[Cell], outcomes: &[Result<String, String>]) {
    for (cell, outcome) in cells.iter().zip(outcomes) {
        if let Err(what) = outcome {
            println!("FAIL {}, expected {:?}: {what}", cell.name(), cell.expected);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PATH, without_numbers};

    #[test]
    fn numbers_that_change_are_left_out() {
        let text = "cannot listen on 127.0.0.1:4711: Bad file descriptor (os error 9)";
        let without = "cannot listen on 127.0.0.1:N: Bad file descriptor (os error 9)";
        assert_eq!(without_numbers(text), without);
        let text = format!("cannot have the name /tmp/{PATH}123: Read-only file system");
        let without = "cannot have the name PATH: Read-only file system";
        assert_eq!(without_numbers(&text), without);
        let text = "descriptor 7, given to 127.0.0.1:0: is not open";
        let without = "descriptor N, given to 127.0.0.1:0: is not open";
        assert_eq!(without_numbers(text), without);
    }
}
