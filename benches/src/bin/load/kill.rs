//! Clients that die while they write.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use rustix::process::{Signal, getpid, kill_process};
use socket2::SockRef;

use crate::Failure;

/// The arguments of `load kill`.
#[derive(Args)]
pub(crate) struct Kill {
    /// The server.
    #[arg(long)]
    connect: SocketAddr,
    /// How many connections.
    #[arg(long, default_value_t = 500)]
    count: usize,
    /// Milliseconds of writing before the end.
    #[arg(long, default_value_t = 500)]
    write_ms: u64,
    /// How the connections end.
    #[arg(long, value_enum, default_value = "kill")]
    how: How,
}

/// A way to end connections that still have bytes on their way.
#[derive(Clone, Copy, ValueEnum)]
enum How {
    /// The process is killed and the kernel closes what it had.
    Kill,
    /// Each connection is reset.
    Reset,
    /// Each connection is closed in order, with what it was sent unread.
    Close,
}

impl Kill {
    /// Opens the connections, writes without reading, and ends as asked.
    ///
    /// Prints how many bytes were written before it ends, and with `--how kill` does not return.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut streams = Vec::with_capacity(self.count);
        for _ in 0..self.count {
            match crate::connect(self.connect) {
                Ok(stream) => {
                    stream.set_nonblocking(true)?;
                    streams.push(stream);
                }
                // The server was quicker to reset it than the system to say that it is there.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
                Err(error) => return Err(error.into()),
            }
        }
        let bytes = self.write(&mut streams);
        println!("{} connections wrote {bytes} bytes", self.count);
        match self.how {
            How::Kill => kill_process(getpid(), Signal::KILL)?,
            How::Reset => reset(&streams)?,
            How::Close => {}
        }
        Ok(())
    }

    /// Writes to all connections for the time asked, and returns how many bytes they took.
    fn write(&self, streams: &mut [TcpStream]) -> usize {
        let message = vec![0x5a; 64 * 1_024];
        let end = Instant::now() + Duration::from_millis(self.write_ms);
        let mut bytes = 0;
        while Instant::now() < end {
            let before = bytes;
            for stream in &mut *streams {
                // A connection that is full, or gone already, takes none.
                bytes += stream.write(&message).unwrap_or(0);
            }
            if bytes == before {
                // Every buffer on the way is full: this is the middle of a write.
                thread::sleep(Duration::from_millis(10));
            }
        }
        bytes
    }
}

/// Makes closing each connection reset it.
fn reset(streams: &[TcpStream]) -> io::Result<()> {
    streams
        .iter()
        .try_for_each(|stream| SockRef::from(stream).set_linger(Some(Duration::ZERO)))
}
