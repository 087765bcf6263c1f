//! Servers that do what upstreams do on bad days, for trying a proxy.
//!
//! ```text
//! upstream --listen 127.0.0.1:0 --mode refuse|unanswered|reset|silent|slow|source|sink
//! ```
//!
//! It prints `listening on ADDR` and runs until it is killed. One thread a connection: it is there
//! to be wrong in known ways, not to be fast.

mod faults;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::{io, thread};

use clap::{Parser, ValueEnum};
use socket2::{Domain, Socket, Type};

/// A server that misbehaves as it is told.
#[derive(Parser)]
struct Arguments {
    /// Where to listen; port 0 takes a free one.
    #[arg(long)]
    listen: SocketAddr,
    /// What to do with connections.
    #[arg(long, value_enum)]
    mode: Mode,
    /// How many bytes `source` sends, and `reset` reads before it resets.
    #[arg(long, default_value_t = 0)]
    bytes: u64,
}

/// What to do with connections.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// The port is taken but nobody listens: connecting is refused.
    Refuse,
    /// The queue of the listener is full: connecting gets no answer at all.
    Unanswered,
    /// Connections are reset after `--bytes` bytes were read.
    Reset,
    /// Connections are accepted and then left alone: nothing is read, written or closed.
    Silent,
    /// Echoes one byte every tenth of a second.
    Slow,
    /// Sends `--bytes` bytes of the pattern, then ends its side.
    Source,
    /// Reads to the end, compares with the pattern, and prints how many bytes came.
    Sink,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("upstream: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Takes the port and serves it until the process is killed.
fn run(arguments: &Arguments) -> io::Result<()> {
    let socket = Socket::new(Domain::for_address(arguments.listen), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&arguments.listen.into())?;
    let address = socket
        .local_addr()?
        .as_socket()
        .ok_or(io::ErrorKind::InvalidInput)?;
    let callers = match arguments.mode {
        Mode::Refuse => Vec::new(),
        Mode::Unanswered => {
            socket.listen(0)?;
            faults::fill_queue(address)?
        }
        _ => {
            socket.listen(4_096)?;
            Vec::new()
        }
    };
    println!("listening on {address}");

    match arguments.mode {
        Mode::Refuse | Mode::Unanswered => park_for_ever(),
        _ => accept_for_ever(socket, arguments)?,
    }
    drop(callers);
    Ok(())
}

/// Does nothing until the process is killed.
fn park_for_ever() {
    loop {
        thread::park();
    }
}

/// Hands each connection to a thread of its own.
fn accept_for_ever(socket: Socket, arguments: &Arguments) -> io::Result<()> {
    let listener = std::net::TcpListener::from(socket);
    let (mode, bytes) = (arguments.mode, arguments.bytes);
    let mut silent = Vec::new();
    for stream in listener.incoming() {
        let stream = stream?;
        if mode == Mode::Silent {
            silent.push(stream);
            continue;
        }
        thread::spawn(move || {
            let ended = match mode {
                Mode::Reset => faults::reset(stream, bytes),
                Mode::Slow => faults::slow(stream),
                Mode::Source => faults::source(stream, bytes),
                _ => faults::sink(stream),
            };
            if let Err(error) = ended {
                println!("ended: {error}");
            }
        });
    }
    Ok(())
}
