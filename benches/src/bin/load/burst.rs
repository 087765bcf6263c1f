//! Many short connections, some at the same time.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::Instant;

use clap::Args;
use windlass_benches::{Checker, fill};

use crate::Failure;

/// The arguments of `load burst`.
#[derive(Args)]
pub(crate) struct Burst {
    /// The server.
    #[arg(long)]
    connect: SocketAddr,
    /// How many connections in all.
    #[arg(long)]
    total: usize,
    /// How many are open at the same time.
    #[arg(long, default_value_t = 32)]
    at_once: usize,
    /// Bytes that each sends.
    #[arg(long, default_value_t = 64)]
    size: usize,
}

impl Burst {
    /// Opens the connections, a group at a time, and prints how long it took.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let started = Instant::now();
        let mut left = self.total;
        while left > 0 {
            let group = left.min(self.at_once.max(1));
            self.group(group)?;
            left -= group;
        }
        let seconds = started.elapsed().as_secs_f64();
        println!("{} connections in {seconds:.2} s", self.total);
        Ok(())
    }

    /// Opens `count` connections, each of which sends at once, then reads and closes each.
    fn group(&self, count: usize) -> Result<(), Failure> {
        let mut message = vec![0; self.size];
        fill(&mut message, 0);
        let mut streams = Vec::with_capacity(count);
        for _ in 0..count {
            let mut stream = crate::connect(self.connect)?;
            stream.write_all(&message)?;
            streams.push(stream);
        }
        for mut stream in streams {
            stream.read_exact(&mut message)?;
            Checker::default().check(&message)?;
        }
        Ok(())
    }
}
