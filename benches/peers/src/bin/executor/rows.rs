//! The rows: what is measured, how often, and what is asked of windlass.

/// One row.
#[derive(Debug)]
pub(crate) struct Row {
    /// What it is asked for by.
    pub(crate) name: &'static str,
    /// What it is printed as.
    pub(crate) what: &'static str,
    /// The situation, as the runtimes know it.
    pub(crate) situation: &'static str,
    /// How many threads run tasks.
    pub(crate) workers: usize,
    /// How it is measured.
    pub(crate) pass: Pass,
    /// The count that the situation is given, in full and in a quick run.
    pub(crate) count: [u64; 2],
    /// How many rounds a full run has.
    pub(crate) rounds: usize,
    /// The values of its report that are printed.
    pub(crate) values: &'static [Value],
}

/// How a row is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pass {
    /// The situation measures itself.
    Plain,
    /// The same, by the program with the counting allocator.
    Heap,
    /// By the instructions of runs of one and of three times the count; each count holds so many
    /// things.
    Instructions(u64),
    /// By the system calls of runs of one and of three times the count.
    Calls,
}

/// One value of a report.
#[derive(Debug)]
pub(crate) struct Value {
    /// Its name in the report.
    pub(crate) name: &'static str,
    /// What it is printed as, behind what the row is.
    pub(crate) what: &'static str,
    /// What is asked of windlass.
    pub(crate) asked: Asked,
}

/// What is asked of windlass.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    /// Nothing.
    Nothing,
    /// No more than this.
    AtMost(f64),
    /// No more than this part of the best peer in the same run.
    OfBest(f64),
    /// No more than this part of that peer in the same run.
    Of(&'static str, f64),
}

use Asked::{AtMost, Nothing, Of, OfBest};

const fn plain(name: &'static str, asked: Asked) -> Value {
    Value {
        name,
        what: "",
        asked,
    }
}

const fn named(name: &'static str, what: &'static str, asked: Asked) -> Value {
    Value { name, what, asked }
}

/// What most rows are but for a few fields.
const ROW: Row = Row {
    name: "",
    what: "",
    situation: "",
    workers: 1,
    pass: Pass::Plain,
    count: [0, 0],
    rounds: 9,
    values: &[],
};

/// All rows, in the order in which they are measured and printed.
pub(crate) const ALL: &[Row] = &[
    Row {
        name: "spawn-1",
        what: "spawn and join, batches of 10,000, ns",
        situation: "spawn",
        count: [50, 10],
        values: &[plain("ns", Nothing)],
        ..ROW
    },
    Row {
        name: "spawn-2",
        what: "the same, two workers, ns",
        situation: "spawn",
        workers: 2,
        count: [50, 10],
        values: &[plain("ns", OfBest(0.6))],
        ..ROW
    },
    Row {
        name: "yield-1",
        what: "yield_now, 100 tasks, ns",
        situation: "yield",
        count: [20_000, 5000],
        values: &[plain("ns", Nothing)],
        ..ROW
    },
    Row {
        name: "yield-2",
        what: "the same, two workers, ns",
        situation: "yield",
        workers: 2,
        count: [20_000, 5000],
        values: &[plain("ns", OfBest(0.9))],
        ..ROW
    },
    Row {
        name: "chain-1",
        what: "chained spawn, ns",
        situation: "chain",
        count: [500_000, 100_000],
        values: &[plain("ns", Nothing)],
        ..ROW
    },
    Row {
        name: "chain-2",
        what: "the same, two workers, ns",
        situation: "chain",
        workers: 2,
        count: [500_000, 100_000],
        values: &[plain("ns", OfBest(0.5))],
        ..ROW
    },
    Row {
        name: "wake-1",
        what: "task to task and back by wake_by_ref, ns",
        situation: "wake",
        count: [1_000_000, 200_000],
        values: &[plain("ns", Nothing)],
        ..ROW
    },
    Row {
        name: "instructions-spawn",
        what: "instructions, spawn and join, batches of 10,000",
        situation: "spawn",
        pass: Pass::Instructions(10_000),
        count: [3, 1],
        rounds: 1,
        values: &[plain("instructions", AtMost(450.0))],
        ..ROW
    },
    Row {
        name: "instructions-yield",
        what: "instructions, yield_now",
        situation: "yield",
        pass: Pass::Instructions(100),
        count: [500, 200],
        rounds: 1,
        values: &[plain("instructions", AtMost(140.0))],
        ..ROW
    },
    Row {
        name: "instructions-wake",
        what: "instructions, task to task and back by wake_by_ref",
        situation: "wake",
        pass: Pass::Instructions(1),
        count: [30_000, 10_000],
        rounds: 1,
        values: &[plain("instructions", AtMost(350.0))],
        ..ROW
    },
    Row {
        name: "memory",
        what: "an idle task beyond its future",
        situation: "memory",
        pass: Pass::Heap,
        count: [10_000, 10_000],
        rounds: 1,
        values: &[
            named("bytes", ", live bytes", AtMost(96.0)),
            named("allocations", ", allocations", AtMost(1.0)),
        ],
        ..ROW
    },
    Row {
        name: "block-on",
        what: "block_on of a ready future, ns",
        situation: "block_on",
        count: [3_000_000, 300_000],
        values: &[plain("ns", AtMost(5.0))],
        ..ROW
    },
    Row {
        name: "timeout-alone",
        what: "timeout created, polled once, dropped, ns",
        situation: "timeout",
        count: [1_000_000, 200_000],
        values: &[plain("ns", Of("monoio", 0.9))],
        ..ROW
    },
    Row {
        name: "timeout-calls",
        what: "the same, system calls",
        situation: "timeout",
        pass: Pass::Calls,
        count: [10_000, 10_000],
        rounds: 1,
        values: &[plain("calls", AtMost(0.001))],
        ..ROW
    },
    Row {
        name: "timeout-crowd",
        what: "the same with 100,000 pending, ns",
        situation: "timeout_crowd",
        count: [1_000_000, 200_000],
        values: &[plain("ns", Of("monoio", 0.9))],
        ..ROW
    },
    Row {
        name: "timeout-crowd-calls",
        what: "the same, system calls",
        situation: "timeout_crowd",
        pass: Pass::Calls,
        count: [10_000, 10_000],
        rounds: 1,
        values: &[plain("calls", AtMost(0.001))],
        ..ROW
    },
    Row {
        name: "sleep",
        what: "1 ms sleep, median lateness, us",
        situation: "sleep",
        count: [500, 100],
        values: &[plain("late_us", AtMost(40.0))],
        ..ROW
    },
    Row {
        name: "remote",
        what: "wake from a thread, busy worker",
        situation: "remote",
        count: [5000, 2000],
        values: &[
            named("call_ns", ", the call, ns", AtMost(90.0)),
            named("wait_us", ", until run, us", AtMost(1.5)),
        ],
        ..ROW
    },
    Row {
        name: "hog",
        what: "neighbour of a hog (10 us a poll)",
        situation: "hog",
        count: [1000, 500],
        rounds: 20,
        values: &[
            named("median_us", ", message read, median, us", AtMost(25.0)),
            named("max_us", ", message read, maximum, us", AtMost(100.0)),
            named("trip_median_us", ", message answered, median, us", Nothing),
            named("trip_max_us", ", message answered, maximum, us", Nothing),
            named("control_us", " (control, maximum, us)", Nothing),
        ],
        ..ROW
    },
    Row {
        name: "greedy",
        what: "neighbour of an always ready socket",
        situation: "greedy",
        count: [300, 200],
        rounds: 20,
        values: &[
            named("gap_ms", ", longest gap, ms", AtMost(0.2)),
            named("control_us", " (control, maximum, us)", Nothing),
        ],
        ..ROW
    },
    Row {
        name: "greedy-2",
        what: "the same, two workers",
        situation: "greedy",
        workers: 2,
        count: [300, 200],
        rounds: 20,
        values: &[
            named("gap_ms", ", longest gap, ms", AtMost(0.2)),
            named("control_us", " (control, maximum, us)", Nothing),
        ],
        ..ROW
    },
    Row {
        name: "stuck",
        what: "a task blocks its thread, another worker is free, longest delay",
        situation: "stuck",
        workers: 2,
        count: [10_000, 1000],
        rounds: 20,
        values: &[
            named("delay_ms", ", ms", AtMost(10.0)),
            named("timers_ms", " of timers, ms", Nothing),
            named("sockets_ms", " of sockets, ms", Nothing),
            named("woken_ms", " of tasks it woke, ms", Nothing),
            named("spawned_ms", " of tasks it spawned, ms", Nothing),
            named("control_us", " (control, maximum, us)", Nothing),
        ],
        ..ROW
    },
];
