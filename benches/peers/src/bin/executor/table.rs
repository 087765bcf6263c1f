//! Prints what was found, as a table in Markdown.

use crate::measure::Found;
use crate::rows::{Asked, Row, Value};
use std::fmt;
use windlass_peers::runtimes::Runtime;

/// What is measured against the others.
const OURS: &str = "windlass";
/// The bare loop that stands beside them; nobody's peer.
const FLOOR: &str = "floor";

/// What was found, ready to be printed.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    /// The rows that were measured.
    pub(crate) rows: &'a [&'a Row],
    /// The runtimes that were measured.
    pub(crate) runtimes: &'a [&'a Runtime],
    /// What was found.
    pub(crate) found: &'a Found,
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(formatter)?;
        for row in self.rows {
            for value in row.values {
                self.line(formatter, row, value)?;
            }
        }
        for (row, runtime, why) in self.found.failures() {
            writeln!(formatter, "\nNot measured: {row} on {runtime}: {why}")?;
        }
        Ok(())
    }
}

impl Table<'_> {
    fn head(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "| what |")?;
        for runtime in self.runtimes {
            write!(formatter, " {} |", runtime.name)?;
        }
        writeln!(formatter, " to the best peer | asked | met |")?;
        let columns = self.runtimes.len() + 4;
        writeln!(formatter, "|{}", " --- |".repeat(columns))
    }

    fn line(&self, formatter: &mut fmt::Formatter<'_>, row: &Row, value: &Value) -> fmt::Result {
        write!(formatter, "| {}{} |", row.what, value.what)?;
        let median = |runtime: &Runtime| self.found.median(row, runtime.name, value.name);
        for runtime in self.runtimes {
            match median(runtime) {
                Some(figure) => write!(formatter, " {} |", short(figure))?,
                None => write!(formatter, " |")?,
            }
        }
        let ours = self.found.median(row, OURS, value.name);
        let best = self
            .runtimes
            .iter()
            .filter(|runtime| ![OURS, FLOOR].contains(&runtime.name))
            .filter_map(|runtime| median(runtime))
            .min_by(f64::total_cmp);
        match ours.zip(best) {
            Some((ours, best)) if best > 0.0 => write!(formatter, " {:.2} x |", ours / best)?,
            _ => write!(formatter, " |")?,
        }
        let (text, limit) = match value.asked {
            Asked::Nothing => (String::new(), None),
            Asked::AtMost(limit) => (format!("at most {limit}"), Some(limit)),
            Asked::OfBest(part) => {
                let limit = best.map(|best| part * best);
                (format!("at most {part} x the best peer"), limit)
            }
            Asked::Of(peer, part) => {
                let peers = self.found.median(row, peer, value.name);
                let limit = peers.map(|figure| part * figure);
                (format!("at most {part} x {peer}"), limit)
            }
        };
        let verdict = match ours.zip(limit) {
            Some((ours, limit)) if ours <= limit => "yes",
            Some(_) => "**no**",
            None => "",
        };
        writeln!(formatter, " {text} | {verdict} |")
    }
}

/// A figure with three digits that count.
fn short(figure: f64) -> String {
    match figure.abs() {
        size if size >= 100.0 => format!("{figure:.0}"),
        size if size >= 10.0 => format!("{figure:.1}"),
        size if size >= 0.005 => format!("{figure:.2}"),
        _ => "0".to_owned(),
    }
}
