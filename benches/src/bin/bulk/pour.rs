//! The clients of the proxy.

use clap::Args;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Who writes, where to, and for how long.
#[derive(Args)]
pub(crate) struct Pour {
    /// Where the proxy listens
    #[arg(long, value_name = "ADDR")]
    to: SocketAddr,
    /// How many connections there are at once
    #[arg(long, default_value_t = 1)]
    connections: usize,
    /// For how long each writes
    #[arg(long, default_value_t = 3)]
    seconds: u64,
}

impl Pour {
    pub(crate) fn run(&self) -> io::Result<()> {
        let began = Instant::now();
        let end = began + Duration::from_secs(self.seconds);
        let to = self.to;
        let threads = (0..self.connections).map(|_| std::thread::spawn(move || pour(to, end)));
        let mut total = 0;
        for thread in threads.collect::<Vec<_>>() {
            total += thread.join().expect("a client has panicked")?;
        }
        let seconds = began.elapsed().as_secs_f64();
        let rate = total as f64 / seconds / 1e9;
        println!("{total} bytes in {seconds:.2} s: {rate:.2} GB/s");
        Ok(())
    }
}

/// Writes over one connection until the time is up; returns how many bytes have arrived.
fn pour(to: SocketAddr, end: Instant) -> io::Result<u64> {
    let mut stream = TcpStream::connect(to)?;
    let bytes = vec![7; 256 << 10];
    let mut total = 0;
    while Instant::now() < end {
        stream.write_all(&bytes)?;
        total += bytes.len() as u64;
    }
    stream.shutdown(Shutdown::Write)?;
    let mut told = [0; 8];
    stream.read_exact(&mut told)?;
    if u64::from_be_bytes(told) != total {
        return Err(io::Error::other("bytes were lost or doubled"));
    }
    Ok(total)
}
