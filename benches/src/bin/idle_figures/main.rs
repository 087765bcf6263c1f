//! Makes a table and a plot of the samples of `idle_connections.sh`.
//!
//! The samples are kept as they came (`idle_connections.csv`); beside them this writes
//! `idle_connections.md`, the medians and what they say, and `idle_connections.svg`.

mod plot;
mod report;
mod samples;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use samples::Samples;

/// What went wrong, in words.
type Failure = Box<dyn Error>;

/// Makes a table and a plot of the samples of `idle_connections.sh`.
#[derive(Parser)]
struct Arguments {
    /// The samples.
    #[arg(long)]
    samples: PathBuf,
    /// The folder that everything is written to; it is there already.
    #[arg(long)]
    output: PathBuf,
}

fn main() -> ExitCode {
    match write(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("idle_figures: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the three files, and the table to standard output as well.
fn write(arguments: &Arguments) -> Result<(), Failure> {
    let text = fs::read_to_string(&arguments.samples)
        .map_err(|error| format!("{}: {error}", arguments.samples.display()))?;
    let samples = Samples::parse(&text)?;
    let report = report::write(&samples);
    save(&arguments.output, "csv", &text)?;
    save(&arguments.output, "md", &report)?;
    save(&arguments.output, "svg", &plot::draw(&samples)?)?;
    print!("{report}");
    Ok(())
}

/// Writes one of the files.
fn save(folder: &Path, extension: &str, text: &str) -> Result<(), Failure> {
    let path = folder.join("idle_connections").with_extension(extension);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()).into())
}
