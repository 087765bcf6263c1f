//! Echo round trips one after another.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use windlass_benches::{Checker, Latencies, fill};

use crate::Failure;

/// The arguments of `load pingpong`.
#[derive(Args)]
pub(crate) struct Pingpong {
    /// The server.
    #[arg(long)]
    connect: SocketAddr,
    /// How many rounds; in each, every connection sends one message.
    #[arg(long)]
    count: u64,
    /// Bytes of a message.
    #[arg(long, default_value_t = 64)]
    size: usize,
    /// Microseconds between a round and the next, so that the server really waits.
    #[arg(long, default_value_t = 1_000)]
    pause_us: u64,
    /// How many connections send in the same round, before any of them reads.
    #[arg(long, default_value_t = 1)]
    connections: usize,
}

impl Pingpong {
    /// Makes the round trips and prints how long they took.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut clients = Vec::new();
        for _ in 0..self.connections {
            clients.push((crate::connect(self.connect)?, Checker::default()));
        }
        let mut message = vec![0; self.size];
        let mut latencies = Latencies::default();
        let started = Instant::now();
        for round in 0..self.count {
            fill(&mut message, round * self.size as u64);
            exchange(&mut clients, &mut message, &mut latencies)?;
            if self.pause_us > 0 {
                thread::sleep(Duration::from_micros(self.pause_us));
            }
        }
        println!(
            "{latencies}, {:.2} s in all",
            started.elapsed().as_secs_f64()
        );
        Ok(())
    }
}

/// Sends `message` on every connection, then reads each one's echo over it.
fn exchange(
    clients: &mut [(TcpStream, Checker)],
    message: &mut [u8],
    latencies: &mut Latencies,
) -> Result<(), Failure> {
    let sent = Instant::now();
    for (stream, _) in &mut *clients {
        stream.write_all(message)?;
    }
    for (stream, checker) in clients {
        stream.read_exact(message)?;
        checker.check(message)?;
        latencies.record(sent.elapsed());
    }
    Ok(())
}
