//! Measures one row for one runtime, and keeps what was found.

use crate::rows::{Pass, Row};
use crate::takes_part;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use windlass_peers::case::Report;
use windlass_peers::median::median;
use windlass_peers::process;
use windlass_peers::runtimes::Runtime;

/// How long a case may take; those that take longer have starved something.
const LIMIT: Duration = Duration::from_secs(20);

/// The program that measures a case.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
    stuck_seconds: Option<u64>,
}

impl Program {
    /// This very program.
    pub(crate) fn own(stuck_seconds: Option<u64>) -> Self {
        let path = std::env::current_exe().expect("the system knows its programs");
        Self {
            path,
            stuck_seconds,
        }
    }

    /// Measures a row once; nothing if the runtime can't take part.
    ///
    /// # Errors
    ///
    /// The case fails, as on a system that refuses what the runtime needs.
    pub(crate) fn measure(
        &self,
        row: &Row,
        runtime: &Runtime,
        quick: bool,
    ) -> Result<Report, String> {
        if !takes_part(row, runtime) {
            return Ok(Report::default());
        }
        let mut count = row.count[usize::from(quick)];
        if let (Some(seconds), "stuck") = (self.stuck_seconds, row.situation) {
            count = seconds * 1000;
        }
        let arguments = |count| arguments(row, runtime, count);
        match row.pass {
            Pass::Plain => {
                let mut command = Command::new(&self.path);
                let limit = match row.situation {
                    "stuck" => LIMIT + 2 * Duration::from_millis(count),
                    _ => LIMIT,
                };
                reported(command.args(arguments(count)), limit)
            }
            Pass::Heap => {
                let path = self.path.with_file_name("executor_memory");
                reported(Command::new(path).args(arguments(count)), LIMIT)
            }
            Pass::Instructions(things) => {
                let difference = self.instructions(count, &arguments)?;
                Ok(Report::of(
                    "instructions",
                    difference / (2 * count * things) as f64,
                ))
            }
            Pass::Calls => {
                let run = |count| process::system_calls(&self.path, &arguments(count));
                let difference = run(3 * count)? - run(count)?;
                Ok(Report::of("calls", difference / (2 * count) as f64))
            }
        }
    }

    /// Counts the instructions between runs of one and of three times the count, by a clock that is
    /// slowed by as much as callgrind slows the case.
    fn instructions(
        &self,
        count: u64,
        arguments: &impl Fn(u64) -> Vec<String>,
    ) -> Result<f64, String> {
        let run = |count, slower: u64| {
            let words = [vec![slower.to_string()], arguments(count)].concat();
            process::instructions(&self.path.with_file_name("executor_counted"), &words)
        };
        let took = |report: &Report| report.value("ns").ok_or("reports no time");
        let truly = took(&reported(
            Command::new(&self.path).args(arguments(count)),
            LIMIT,
        )?)?;
        let counted = took(&Report::parse(&run(count, 1)?.1))?;
        let slower = (counted / truly).max(1.0) as u64;
        Ok(run(3 * count, slower)?.0 - run(count, slower)?.0)
    }
}

fn arguments(row: &Row, runtime: &Runtime, count: u64) -> Vec<String> {
    let (workers, count) = (row.workers.to_string(), count.to_string());
    ["--case", row.situation, runtime.name, &workers, &count]
        .map(str::to_owned)
        .into()
}

fn reported(command: &mut Command, limit: Duration) -> Result<Report, String> {
    process::output(command, limit).map(|text| Report::parse(&text))
}

/// What was found, by row, runtime and value; and what went wrong.
#[derive(Debug, Default)]
pub(crate) struct Found {
    values: BTreeMap<(&'static str, &'static str, String), Vec<f64>>,
    failures: BTreeMap<(&'static str, &'static str), String>,
}

impl Found {
    /// Adds what a round has found.
    pub(crate) fn add(
        &mut self,
        row: &Row,
        runtime: &'static str,
        outcome: Result<Report, String>,
    ) {
        match outcome {
            Ok(Report(values)) => {
                for (name, value) in values {
                    let key = (row.name, runtime, name);
                    self.values.entry(key).or_default().push(value);
                }
            }
            Err(why) => {
                self.failures.insert((row.name, runtime), why);
            }
        }
    }

    /// The median of the rounds.
    pub(crate) fn median(&self, row: &Row, runtime: &'static str, value: &str) -> Option<f64> {
        let key = (row.name, runtime, value.to_owned());
        self.values.get(&key).map(|values| median(values))
    }

    /// Whether a runtime has failed in a row; then it need not be tried again.
    pub(crate) fn has_failed(&self, row: &Row, runtime: &Runtime) -> bool {
        self.failures.contains_key(&(row.name, runtime.name))
    }

    /// What went wrong, by row and runtime.
    pub(crate) fn failures(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.failures
            .iter()
            .map(|(&(row, runtime), why)| (row, runtime, why.as_str()))
    }
}
