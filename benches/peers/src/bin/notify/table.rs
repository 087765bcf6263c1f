//! Prints what was found, as tables in Markdown.

use crate::NOTIFICATIONS;
use crate::protocol::Protocol;
use std::collections::BTreeMap;
use std::fmt;
use windlass_peers::case::Report;
use windlass_peers::median::median;

/// What the ratios are against.
const BASE: &str = "pthread";

/// A protocol, on all processors or on one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// The protocol.
    pub(crate) protocol: Protocol,
    /// Whether all threads share one processor.
    pub(crate) on_one: bool,
}

impl Setting {
    /// All four, in the order in which they are measured.
    pub(crate) const ALL: [Self; 4] = [
        Self::of(Protocol::Coalescing, false),
        Self::of(Protocol::Taken, false),
        Self::of(Protocol::Coalescing, true),
        Self::of(Protocol::Taken, true),
    ];

    const fn of(protocol: Protocol, on_one: bool) -> Self {
        Self { protocol, on_one }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = match self.protocol {
            Protocol::Coalescing => "Coalescing",
            Protocol::Taken => "Every notification taken",
        };
        let processors = if self.on_one {
            "one processor"
        } else {
            "all processors"
        };
        write!(formatter, "{protocol}, {processors}")
    }
}

/// What was found, by means and value; and what went wrong.
#[derive(Debug, Default)]
pub(crate) struct Found {
    values: BTreeMap<(String, String), Vec<f64>>,
    failures: BTreeMap<String, String>,
}

impl Found {
    /// Adds what a round has found.
    pub(crate) fn add(&mut self, means: &str, outcome: Result<Report, String>) {
        match outcome {
            Ok(Report(values)) => {
                for (name, value) in values {
                    let key = (means.to_owned(), name);
                    self.values.entry(key).or_default().push(value);
                }
            }
            Err(why) => {
                self.failures.insert(means.to_owned(), why);
            }
        }
    }

    fn median(&self, means: &str, value: &str) -> Option<f64> {
        let key = (means.to_owned(), value.to_owned());
        self.values.get(&key).map(|values| median(values))
    }
}

/// What was found in one setting, ready to be printed.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    /// The setting.
    pub(crate) setting: Setting,
    /// The means that were measured.
    pub(crate) means: &'a [&'a str],
    /// What was found.
    pub(crate) found: &'a Found,
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "## {}\n", self.setting)?;
        writeln!(
            formatter,
            "| means | wall ms | user ms | system ms | ns each | times as fast as {BASE} \
             | context switches | wake-ups of the consumer | system calls per 1,000 |"
        )?;
        writeln!(formatter, "|{}", " --- |".repeat(9))?;
        for means in self.means {
            self.line(formatter, means)?;
        }
        for (means, why) in &self.found.failures {
            writeln!(formatter, "\nNot measured: {means}: {why}")?;
        }
        writeln!(formatter)
    }
}

impl Table<'_> {
    fn line(&self, formatter: &mut fmt::Formatter<'_>, means: &str) -> fmt::Result {
        let median = |value| self.found.median(means, value);
        let Some(wall) = median("wall") else {
            return Ok(());
        };
        let show = |value: Option<f64>, digits| match value {
            Some(value) => format!("{value:.digits$}"),
            None => String::new(),
        };
        let base = self.found.median(BASE, "wall");
        writeln!(
            formatter,
            "| {means} | {} | {} | {} | {} | {} | {} | {} | {} |",
            show(Some(wall), 1),
            show(median("user"), 1),
            show(median("system"), 1),
            show(Some(wall * 1e6 / NOTIFICATIONS as f64), 1),
            show(base.map(|base| base / wall), 2),
            show(median("switches"), 0),
            show(median("seen"), 0),
            show(median("calls"), 1),
        )
    }
}
