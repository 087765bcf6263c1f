//! Random sequences of all that can be done to a poller, against a small model of its contract, on
//! every back end and notifier that this machine has.
//!
//! `steps.rs` makes the sequences, `reference.rs` says what has to come and what may, `world.rs` does
//! the same to the poller and to the model, `descriptors.rs` makes the system calls, and
//! `one_thread.rs` and `two_threads.rs` wait and compare. What was found is kept in `found.rs`.
//!
//! `WINDLASS_MODEL_CASES` is the number of sequences of each test on each back end;
//! `WINDLASS_MODEL_SECONDS` is the time that each test takes for each back end instead. The same
//! sequences are made each time, from `WINDLASS_MODEL_SEED` on, or from 1:
//!
//! ```text
//! WINDLASS_MODEL_CASES=25000 cargo test -p windlass-reactor --test model
//! ```

#[path = "../contract/facts.rs"]
#[allow(dead_code, reason = "the contract uses all of it, the model a part")]
mod facts;
#[path = "../support/mod.rs"]
mod support;

mod descriptors;
mod found;
mod one_thread;
mod reference;
mod steps;
mod two_threads;
mod world;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use steps::{Step, sequences};
use support::TimeLimit;
use windlass_reactor::{Backend, NotifierKind, Poller};
use world::Checked;

/// Sequences made from one seed, with one notifier.
const BATCH: u64 = 50;

type Sequence = fn(&Poller, &[Step]) -> Checked;

// Whoever reuses a number must be known: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn sequences_on_one_thread() {
    each_backend(false, 1000, one_thread::run);
}

#[test]
fn sequences_on_two_threads() {
    each_backend(false, 500, two_threads::run);
}

// With descriptors that are closed without removal.
#[test]
fn faulty_sequences() {
    each_backend(true, 1000, one_thread::run);
}

fn each_backend(faults: bool, cases: u64, run: Sequence) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let seconds = variable("WINDLASS_MODEL_SECONDS").map(Duration::from_secs);
    let cases = variable("WINDLASS_MODEL_CASES").unwrap_or(cases);
    let first = variable("WINDLASS_MODEL_SEED").unwrap_or(1);
    for backend in support::back_ends() {
        let begin = Instant::now();
        let mut done = 0;
        let goes_on = |done| match seconds {
            Some(seconds) => begin.elapsed() < seconds,
            None => done < cases,
        };
        for seed in first.. {
            if !goes_on(done) {
                break;
            }
            let count = seconds.map_or_else(|| BATCH.min(cases - done), |_| BATCH);
            run_batch(backend, seed, count, faults, run);
            done += count;
        }
        println!("{backend}: {done} sequences in {:?}", begin.elapsed());
    }
}

/// Runs the sequences of one seed, and panics with the smallest that fails.
fn run_batch(backend: Backend, seed: u64, count: u64, faults: bool, run: Sequence) {
    let config = Config {
        cases: count as u32,
        failure_persistence: None,
        max_shrink_time: 60_000,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let source = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, source);
    let notifier = notifier(backend, seed);
    let _limit = TimeLimit::of(Duration::from_secs(300));
    let ran = runner.run(&sequences(faults), |steps| {
        let poller = Poller::with_notifier(backend, notifier).unwrap();
        run(&poller, &steps).map_err(TestCaseError::fail)
    });
    match ran {
        Ok(()) => {}
        Err(TestError::Fail(why, steps)) => panic!(
            "{backend} with {notifier}: {why}\nafter {steps:#?}\nmade by \
             WINDLASS_MODEL_SEED={seed} WINDLASS_MODEL_CASES={count} WINDLASS_TEST_ONLY={backend}"
        ),
        Err(other) => panic!("{other}"),
    }
}

/// One of those that work with `backend`, each in turn.
fn notifier(backend: Backend, seed: u64) -> NotifierKind {
    let all = NotifierKind::ALL.iter().copied();
    let works: Vec<_> = all
        .filter(|kind| Poller::with_notifier(backend, *kind).is_ok())
        .collect();
    works[seed as usize % works.len()]
}

fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name}={value} is no number")),
    )
}
