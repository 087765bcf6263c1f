//! Connections that are closed as soon as they are open.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use clap::Args;
use socket2::SockRef;

use crate::Failure;

/// The arguments of `load churn`.
#[derive(Args)]
pub(crate) struct Churn {
    /// The server.
    #[arg(long)]
    connect: SocketAddr,
    /// How many connections, one after another.
    #[arg(long, default_value_t = 10_000)]
    count: usize,
    /// Resets each connection instead of closing it in order.
    #[arg(long)]
    reset: bool,
}

impl Churn {
    /// Opens and closes the connections and prints how long it took.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let started = Instant::now();
        for _ in 0..self.count {
            let stream = crate::connect(self.connect)?;
            if self.reset {
                SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{} connections opened and closed in {seconds:.2} s",
            self.count
        );
        Ok(())
    }
}
