//! From the command line to the exit status.

use clap::Parser;
use clap::error::ErrorKind;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// Parses the command line and runs a program with it.
///
/// What is wrong is told in one line on standard error. The exit status is 2 if the command line
/// can't be understood, and 1 if the program fails.
pub fn run<A: Parser>(program: impl FnOnce(A) -> io::Result<()>) -> ExitCode {
    let arguments = match A::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse::<A>(&error),
    };
    match program(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain::<A>(&error);
            ExitCode::from(1)
        }
    }
}

/// Prints a line on standard output at once; a reader that is gone is no reason to fail.
pub fn say(line: impl Display) {
    let mut output = io::stdout().lock();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

/// Says what is wrong with the command line, or prints the help that was asked for.
fn refuse<A: Parser>(error: &clap::Error) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        // As in `say`.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    complain::<A>(&format_args!("{}; --help tells more", in_one_line(error)));
    ExitCode::from(2)
}

fn complain<A: Parser>(what: &dyn Display) {
    let _ = writeln!(io::stderr(), "{}: {what}", A::command().get_name());
}

/// Takes the cause out of an error that fills a screen.
fn in_one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    // The usage and a pointer to --help follow.
    let cause = text.split("\n\nUsage:").next().unwrap_or(&text);
    let cause = cause.split("\n\nFor more").next().unwrap_or(cause);
    let words: Vec<_> = cause.split_whitespace().collect();
    let line = words.join(" ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}
