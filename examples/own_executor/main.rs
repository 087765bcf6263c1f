//! An executor of one's own, on top of the reactor alone.
//!
//! It shows all that an executor has to do for the reactor: make it the current one of the thread,
//! turn it when there is nothing to run, and end the turn when another thread wakes a task; see
//! `executor.rs`. What it runs is an echo server over the sockets of the standard library.
//!
//! ```text
//! cargo run --release --example own_executor -- --listen 127.0.0.1:7003
//! ```

#![forbid(unsafe_code)]

mod executor;

use clap::Parser;
use executor::{Executor, Ready, spawn};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use windlass::reactor::Async;
use windlass::reactor::time::sleep;
use windlass_examples::{Stop, Totals, run, say};

/// Sends back whatever comes, on an executor that is part of this program.
#[derive(Debug, Parser)]
#[command(name = "own_executor")]
struct Arguments {
    /// Where to listen, as HOST:PORT; with port 0 the system chooses a port
    #[arg(long, value_name = "ADDR")]
    listen: String,
}

static TOTALS: Totals = Totals::new("bytes");
/// What `Acceptor` counts for the servers that run on windlass.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);
static ERRORS: AtomicU64 = AtomicU64::new(0);

fn main() -> ExitCode {
    run(|arguments: Arguments| {
        let executor = Executor::new()?;
        let done = Arc::new(AtomicBool::new(false));
        let listener = TcpListener::bind(&arguments.listen)
            .map_err(|error| with_address(&error, &arguments.listen))?;
        let address = listener.local_addr()?;
        let (ready, mut stop) = (executor.ready.clone(), Stop::new()?);
        spawn(&ready, serve(Async::new(listener)?, ready.clone()));
        spawn(&ready, {
            let done = done.clone();
            async move {
                stop.requested().await;
                done.store(true, Ordering::Release);
            }
        });
        say(format_args!("listening on {address}"));
        say(format_args!("type: nc {} {}", address.ip(), address.port()));
        executor.run_until(&done)?;
        let connections = CONNECTIONS.load(Ordering::Relaxed);
        let errors = ERRORS.load(Ordering::Relaxed);
        say(TOTALS.in_words(connections, errors));
        Ok(())
    })
}

fn with_address(error: &io::Error, address: &str) -> io::Error {
    let text = format!("cannot listen on `{address}`: {error}; give HOST:PORT of this machine");
    io::Error::new(error.kind(), text)
}

async fn serve(listener: Async<TcpListener>, ready: Arc<Ready>) {
    loop {
        match listener.read_with(TcpListener::accept).await {
            Ok((stream, _peer)) => {
                CONNECTIONS.fetch_add(1, Ordering::Relaxed);
                spawn(&ready, async {
                    if echo(stream).await.is_err() {
                        ERRORS.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            // Descriptors are short, most likely: `windlass::net` is cleverer about it.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn echo(stream: TcpStream) -> io::Result<()> {
    let stream = Async::new(stream)?;
    let mut space = [0; 1024];
    loop {
        let count = stream.read_with(|mut tcp| tcp.read(&mut space)).await?;
        if count == 0 {
            return Ok(());
        }
        let mut rest = &space[..count];
        while !rest.is_empty() {
            let written = stream.write_with(|mut tcp| tcp.write(rest)).await?;
            rest = &rest[written..];
        }
        TOTALS.served(count as u64);
    }
}
