//! What a case is told, and what it reports.

use crate::clock;
use crate::runtimes;
use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

/// What a situation is told.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// How many threads run tasks.
    pub workers: usize,
    /// How often the thing that is measured is done; its meaning is the situation's.
    pub count: u64,
}

/// Measures the case that the words name, `SITUATION RUNTIME WORKERS COUNT`, and prints the report:
/// what the programs do that measure one.
pub fn measure(words: &[String]) -> ExitCode {
    match report(words) {
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

fn report(words: &[String]) -> Option<Report> {
    let [situation, name, workers, count] = words else {
        return None;
    };
    let (workers, count) = (workers.parse().ok()?, count.parse().ok()?);
    let runtime = runtimes::ALL.iter().find(|runtime| runtime.name == name)?;
    (runtime.measure)(situation, Case { workers, count })
}

/// What a situation has found, by name; printed and read back across the border of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report(pub Vec<(String, f64)>);

impl Report {
    /// Begins a report with one value.
    pub fn of(name: &str, value: f64) -> Self {
        Self::default().and(name, value)
    }

    /// Begins a report with the nanoseconds that each of `count` things took.
    pub fn each(elapsed: Duration, count: u64) -> Self {
        Self::of("ns", elapsed.as_nanos() as f64 / count.max(1) as f64)
    }

    /// Adds a value.
    #[must_use]
    pub fn and(mut self, name: &str, value: f64) -> Self {
        self.0.push((name.to_owned(), value));
        self
    }

    /// Reads what a report has printed; other lines are left out.
    pub fn parse(text: &str) -> Self {
        let value = |line: &str| {
            let (name, value) = line.split_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        Self(text.lines().filter_map(value).collect())
    }

    /// Returns the value of that name.
    pub fn value(&self, name: &str) -> Option<f64> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|&(_, value)| value)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.0 {
            writeln!(formatter, "{name} {value}")?;
        }
        Ok(())
    }
}

/// Samples of one kind, in microseconds.
#[derive(Clone, Debug, Default)]
pub struct Samples(pub Vec<f64>);

impl Samples {
    /// Adds the time since a stamp.
    pub fn since(&mut self, earlier: u64) {
        self.0.push(clock::micros_since(earlier));
    }
}
