//! Every way to end a task, in every state, with every kind of handle, from every thread, and a panic
//! in every place.
//!
//! [`cases`] is the table, [`subject`] the future that is played with, [`play`] brings a case about,
//! [`check`] looks at what came of it.

mod cases;
mod check;
mod play;
mod subject;

use std::collections::BTreeMap;
use std::sync::Arc;

use cases::{CELLS, Case};
use play::Play;
use subject::Other;

/// How many cells of the table are played; more is welcome, fewer is a hole.
const PLAYED: usize = 32_928;

/// How many cells are left out, and why.
const LEFT_OUT: [(&str, usize); 7] = [
    ("struck from inside while nothing of the task runs", 46_080),
    (
        "struck from outside while the future is polled or dropped",
        34_560,
    ),
    ("nothing comes from no other thread", 6_720),
    ("after nothing is before nothing", 1_344),
    (
        "the handle goes with the blow, but not from where that is",
        14_112,
    ),
    (
        "the handle goes at the beginning or the end, when nothing of the task runs",
        22_176,
    ),
    ("only its own thread may end a task that is bound", 3_360),
];

#[test]
fn no_case_has_gone_missing() {
    let (mut played, mut left_out) = (0, BTreeMap::new());
    for case in (0..CELLS).map(Case::numbered) {
        match case.senseless() {
            None => played += 1,
            Some(why) => *left_out.entry(why).or_insert(0) += 1,
        }
    }
    assert_eq!(left_out, BTreeMap::from(LEFT_OUT));
    assert_eq!(played, PLAYED);
}

#[test]
fn every_end_drops_everything_once_and_tells_the_joiner() {
    let other = Arc::new(Other::start());
    let mut played = 0;
    for case in (0..CELLS).map(Case::numbered) {
        if case.senseless().is_none() {
            Play::begin(case, &other).check();
            played += 1;
        }
    }
    assert_eq!(played, PLAYED);
}
