//! Bulk through a proxy: who pours, who drains, and a bare splice loop between them as the floor.
//!
//! Blocking threads on the outside, so that nothing but the proxy depends on a runtime.

mod bare;
mod drain;
mod pour;

use clap::Parser;
use std::io;
use std::process::ExitCode;

/// Moves many bytes through a proxy.
#[derive(Parser)]
enum Bulk {
    /// Reads and throws away all that comes, and answers each end with how much that was.
    Drain,
    /// Writes for some time, and checks that all has arrived.
    Pour(pour::Pour),
    /// A proxy that is nothing but a loop of poll(2) and splice(2), on one thread.
    Bare(bare::Bare),
}

fn main() -> ExitCode {
    let ended = match Bulk::parse() {
        Bulk::Drain => drain::run(),
        Bulk::Pour(pour) => pour.run(),
        Bulk::Bare(bare) => bare.run(),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bulk: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Listens on a free port of the loopback and says where.
fn listen() -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    println!("listening on {}", listener.local_addr()?);
    Ok(listener)
}
