//! The floor: an echo server that is nothing but an event loop over the system calls.
//!
//! No runtime can make fewer system calls or spend fewer instructions than this and still wait for
//! its descriptors, so what windlass costs is read as the difference from it. It is no server to
//! use: a client that does not read what it is sent holds up all the others.
//!
//! ```text
//! bare_echo --listen 127.0.0.1:0 [--mechanism epoll|poll] [--http]
//! ```
//!
//! It prints `listening on ADDR` and, after SIGINT or SIGTERM, a line of totals. With `--http` it
//! answers each request with 13 bytes and keeps the connection open, which is all that `ab -k`
//! needs.

mod epoll;
mod poll;
mod service;
#[allow(unsafe_code, reason = "this is where the system is called")]
mod sys;

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::{fmt, io};

use clap::{Parser, ValueEnum};
use service::Service;
use windlass_benches::listen;

/// An event loop straight over the system calls, to measure against.
#[derive(Parser)]
struct Arguments {
    /// Where to listen; port 0 takes a free one.
    #[arg(long)]
    listen: SocketAddr,
    /// How to wait for readiness.
    #[arg(long, value_enum, default_value = "epoll")]
    mechanism: Mechanism,
    /// Answers HTTP requests instead of echoing.
    #[arg(long)]
    http: bool,
}

/// A way to wait for readiness.
#[derive(Clone, Copy, ValueEnum)]
enum Mechanism {
    /// Level-triggered epoll.
    Epoll,
    /// The `poll` system call.
    Poll,
}

/// What a loop has done when it ends.
#[derive(Default)]
struct Totals {
    /// Connections accepted.
    connections: u64,
    /// Requests or pieces answered.
    answers: u64,
}

impl fmt::Display for Totals {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} connections, {} answers",
            self.connections, self.answers
        )
    }
}

fn main() -> ExitCode {
    match serve(&Arguments::parse()) {
        Ok(totals) => {
            println!("{totals}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bare_echo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Listens, says where, and serves until a signal asks for the end.
fn serve(arguments: &Arguments) -> io::Result<Totals> {
    let stop = sys::stop_signals()?;
    let listener = listen(arguments.listen)?;
    println!("listening on {}", listener.local_addr()?);

    let service = Service::new(arguments.http);
    let listener = OwnedFd::from(listener);
    match arguments.mechanism {
        Mechanism::Epoll => epoll::run(&listener, stop, service),
        Mechanism::Poll => poll::run(&listener, stop, service),
    }
}
