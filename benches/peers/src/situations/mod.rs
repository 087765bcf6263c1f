//! The situations, compiled once in the module of each runtime (see [`crate::runtimes`]).
#![allow(
    clippy::duplicate_mod,
    reason = "the same file on purpose: the runtimes differ, what is measured does not"
)]

mod fairness;
mod memory;
mod remote;
mod stuck;
mod tasks;
mod timers;

use crate::case::{Case, Report};

/// Measures a situation; none if there is no situation of that name.
pub fn measure(situation: &str, case: Case) -> Option<Report> {
    let measure = match situation {
        "spawn" => tasks::spawn_and_join,
        "yield" => tasks::yields,
        "chain" => tasks::chain,
        "wake" => tasks::wake,
        "block_on" => tasks::block_on,
        "memory" => memory::idle_task,
        "timeout" => timers::timeout,
        "timeout_crowd" => timers::timeout_in_a_crowd,
        "sleep" => timers::sleeps,
        "remote" => remote::wake_from_a_thread,
        "hog" => fairness::hog,
        "greedy" => fairness::greedy,
        "stuck" => stuck::blocked_thread,
        _ => return None,
    };
    Some(measure(case))
}
