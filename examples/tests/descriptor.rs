//! The example that makes the output of a program async.

mod common;

use common::{BOUND, Example};
use rustix::process::Signal;
use std::time::Duration;

#[test]
fn what_the_program_prints_is_shown() {
    let mut example = Example::start("own_descriptor", &["printf", "one\\ntwo\\n"]);
    assert_eq!(
        example.next_line(),
        "showing what it prints; ctrl-c ends it"
    );
    // The first tick comes at once, perhaps before the program has printed anything.
    let shown = |line: &String| !line.ends_with(" ...");
    let mut lines = std::iter::repeat_with(|| example.next_line()).filter(shown);
    assert!(lines.next().unwrap().ends_with(" one"));
    assert!(lines.next().unwrap().ends_with(" two"));
    let last = example.ends_within(BOUND);
    assert_eq!(last, "2 lines, 8 bytes, 0 errors");
}

#[test]
fn a_signal_ends_it() {
    let mut example = Example::start("own_descriptor", &["sleep", "1000"]);
    example.next_line();
    example.signal(Signal::TERM);
    let last = example.ends_within(Duration::from_secs(10));
    assert_eq!(last, "0 lines, 0 bytes, 0 errors");
}
