//! The table, and what it says.

use std::fmt::Write as _;

use crate::samples::{Measure, Samples, Spread};

/// The number of idle connections at which the mechanisms are compared.
const COMPARED: u64 = 8_000;

/// Writes the report.
pub(crate) fn write(samples: &Samples) -> String {
    let mut text = String::from(
        "# One busy connection among idle ones\n\n\
         Made by `benches/idle_connections.sh`, which says how it counts; the samples are in\n\
         [idle_connections.csv](idle_connections.csv). Of each number, the median over the rounds\n\
         stands first, then the least and the most.\n\n\
         ![requests per second and processor time against idle connections](idle_connections.svg)\n\n",
    );
    for line in &samples.head {
        _ = writeln!(text, "- {line}");
    }
    text += "\n## What it shows\n\n";
    text += &findings(samples);
    text += "\n## Requests per second\n\n";
    text += &table(samples, |one| one.rate, 0);
    text += "\n## Processor time of the server per request, in microseconds\n\n";
    text += &table(samples, |one| one.cost, 2);
    text
}

/// Makes a row for each number of idle connections and a column for each server.
fn table(samples: &Samples, measure: Measure, digits: usize) -> String {
    let servers = samples.servers();
    let mut text = format!("| idle | {} |\n", servers.join(" | "));
    text += &format!("| ---: |{}\n", " ---: |".repeat(servers.len()));
    for idle in samples.idle_counts() {
        let cells = servers.iter().map(|server| {
            let spread = samples.spread(server, idle, measure);
            spread.map_or_else(String::new, |spread| format!("{spread:.digits$}"))
        });
        let cells: Vec<_> = cells.collect();
        _ = writeln!(text, "| {idle} | {} |", cells.join(" | "));
    }
    text
}

/// Makes a row for each comparison that the samples allow; ratios are of points of one round.
fn findings(samples: &Samples) -> String {
    let mut text = String::from("| what | ratio within a round |\n| --- | ---: |\n");
    let mut row = |what: String, spread: Option<Spread>| {
        if let Some(spread) = spread {
            _ = writeln!(text, "| {what} | {spread:.3} |");
        }
    };

    let counts = samples.idle_counts();
    if let (Some(&most), true) = (counts.last(), counts.len() > 1) {
        let fewest = counts[0];
        for server in samples.servers() {
            let ratio = samples.ratio((server, most), (server, fewest), |one| one.cost);
            let what = format!("{server}: processor time per request, {most} idle over {fewest}");
            row(what, ratio);
        }
    }
    for family in ["windlass", "bare"] {
        let (epoll, poll) = (format!("{family}-epoll"), format!("{family}-poll"));
        let ratio = samples.ratio((&epoll, COMPARED), (&poll, COMPARED), |one| one.rate);
        let what = format!("{epoll} over {poll}: requests per second, {COMPARED} idle");
        row(what, ratio);
    }
    for mechanism in ["epoll", "poll"] {
        let (ours, bare) = (format!("windlass-{mechanism}"), format!("bare-{mechanism}"));
        let ratio = samples.ratio((&ours, COMPARED), (&bare, COMPARED), |one| one.cost);
        let what = format!("{ours} over {bare}: processor time per request, {COMPARED} idle");
        row(what, ratio);
    }
    if let Some(most) = samples.most_changes() {
        _ = writeln!(
            text,
            "\nInterest changes per request on windlass, the most of any sample: {most}."
        );
    }
    text
}
