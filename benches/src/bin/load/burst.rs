//! Many short connections, some at the same time.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use clap::{Args, ValueEnum};
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
    /// When a closed connection is followed by the next.
    #[arg(long, value_enum, default_value = "sliding")]
    order: Order,
}

/// When a closed connection is followed by the next.
#[derive(Clone, Copy, ValueEnum)]
enum Order {
    /// At once: each of as many clients opens one after another.
    Sliding,
    /// When all of its group are closed.
    Grouped,
}

impl Burst {
    /// Opens the connections and prints how long it took.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let started = Instant::now();
        match self.order {
            Order::Grouped => self.grouped()?,
            Order::Sliding => self.sliding()?,
        }
        let seconds = started.elapsed().as_secs_f64();
        println!("{} connections in {seconds:.2} s", self.total);
        Ok(())
    }

    /// Opens one group after another.
    fn grouped(&self) -> io::Result<()> {
        let mut left = self.total;
        while left > 0 {
            let group = left.min(self.at_once.max(1));
            let streams = (0..group)
                .map(|_| self.open())
                .collect::<io::Result<Vec<_>>>()?;
            streams
                .into_iter()
                .try_for_each(|stream| self.finish(stream))?;
            left -= group;
        }
        Ok(())
    }

    /// Opens a connection whenever another is closed, on a thread for each that may be open.
    fn sliding(&self) -> io::Result<()> {
        let opened = AtomicUsize::new(0);
        let one_after_another = || {
            while opened.fetch_add(1, Ordering::Relaxed) < self.total {
                self.finish(self.open()?)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let clients: Vec<_> = (0..self.at_once)
                .map(|_| scope.spawn(one_after_another))
                .collect();
            clients.into_iter().try_for_each(|client| {
                client
                    .join()
                    .unwrap_or_else(|_| Err(io::Error::other("a client panicked")))
            })
        })
    }

    /// Opens a connection and sends at once.
    fn open(&self) -> io::Result<TcpStream> {
        let mut message = vec![0; self.size];
        fill(&mut message, 0);
        let mut stream = crate::connect(self.connect)?;
        stream.write_all(&message)?;
        Ok(stream)
    }

    /// Reads the echo of a connection and closes it.
    fn finish(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut message = vec![0; self.size];
        stream.read_exact(&mut message)?;
        Checker::default().check(&message).map_err(io::Error::other)
    }
}
