//! A small HTTP/1 server that gives every request the same answer, and keeps connections open.
//!
//! It shows time limits that make no system call, on top of what `echo` shows: a connection that
//! waits for a request has no buffer. See `connection.rs`; what requests mean is in
//! `src/requests.rs`, which does no I/O.
//!
//! ```text
//! cargo run --release --example http -- --listen 127.0.0.1:7002
//! ```

#![forbid(unsafe_code)]

mod connection;

use clap::Parser;
use connection::{Connection, Limits};
use std::process::ExitCode;
use std::time::Duration;
use windlass_examples::{HELP, Options, Totals, run, serve};

/// Answers HTTP requests with "Hello, world!".
#[derive(Debug, Parser)]
#[command(name = "http", after_help = HELP)]
struct Arguments {
    #[command(flatten)]
    server: Options,
    /// How long the head of a request may take to come, from its first byte to its last
    #[arg(long, value_name = "SECS", default_value_t = 10,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    header_timeout: u64,
    /// How long a connection stays open without a request, or without a byte of the body
    #[arg(long, value_name = "SECS", default_value_t = 300,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    idle_timeout: u64,
}

static TOTALS: Totals = Totals::new("requests");

fn main() -> ExitCode {
    run(|arguments: Arguments| {
        let limits = Limits {
            header: Duration::from_secs(arguments.header_timeout),
            idle: Duration::from_secs(arguments.idle_timeout),
        };
        let hint = "type: curl -v http://ADDR/ or: ab -k -c 10 -n 100000 http://ADDR/";
        let handler = move |stream| Connection::new(stream, limits).serve();
        serve(
            &arguments.server,
            &TOTALS,
            hint,
            |acceptor| acceptor,
            handler,
        )
    })
}
