//! A descriptor that the runtime knows nothing about, made async: the output of another program.
//!
//! It shows `Async`, which waits for anything that the kernel can wait for. Here that is the pipe
//! from a child process; no thread blocks in a read, so that the same thread keeps time meanwhile.
//!
//! ```text
//! cargo run --release --example own_descriptor -- ping -c 3 127.0.0.1
//! ```

#![forbid(unsafe_code)]

use clap::Parser;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use windlass::Runtime;
use windlass::reactor::Async;
use windlass::time::interval;
use windlass_examples::{First, Stop, first, run, say};

/// Runs a program and shows what it prints and when.
#[derive(Debug, Parser)]
#[command(name = "own_descriptor")]
struct Arguments {
    /// The program and its arguments; a shell that counts to three unless given
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true,
          default_values = ["sh", "-c", "for i in 1 2 3; do sleep 0.2; echo $i; done"])]
    command: Vec<String>,
}

fn main() -> ExitCode {
    run(|arguments: Arguments| {
        let runtime = Runtime::builder().workers(1).build()?;
        let mut child = start(&arguments.command)?;
        let output = child.stdout.take().map(OwnedFd::from);
        let ended = runtime.block_on(async {
            let mut stop = Stop::new()?;
            let pipe = Async::new(File::from(output.ok_or(io::ErrorKind::NotFound)?))?;
            say("showing what it prints; ctrl-c ends it");
            let mut shown = (0, 0);
            match first(show(&pipe, &mut shown), stop.requested()).await {
                First::A(Err(error)) => Err(error),
                First::A(Ok(())) | First::B(()) => Ok(shown),
            }
        });
        // It has ended, or is to.
        child.kill()?;
        child.wait()?;
        let (lines, bytes) = ended?;
        say(format_args!("{lines} lines, {bytes} bytes, 0 errors"));
        Ok(())
    })
}

fn start(command: &[String]) -> io::Result<Child> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| {
            let text = format!("cannot run `{program}`: {error}; give a program that is installed");
            io::Error::new(error.kind(), text)
        })
}

/// Shows what comes through the pipe until it ends; counts lines and bytes.
async fn show(pipe: &Async<File>, shown: &mut (usize, usize)) -> io::Result<()> {
    let start = Instant::now();
    let mut ticks = interval(Duration::from_secs(1));
    let mut space = [0; 4096];
    loop {
        let reading = pipe.read_with(|mut file| file.read(&mut space));
        match first(reading, ticks.tick()).await {
            First::A(count) => {
                let bytes = &space[..count?];
                if bytes.is_empty() {
                    return Ok(());
                }
                shown.0 += bytes.iter().filter(|byte| **byte == b'\n').count();
                shown.1 += bytes.len();
                let text = String::from_utf8_lossy(bytes);
                for line in text.lines() {
                    say(format_args!("{:5.2?} {line}", start.elapsed()));
                }
            }
            First::B(_) => say(format_args!("{:5.2?} ...", start.elapsed())),
        }
    }
}
