//! Connections that do nothing.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use clap::Args;
use socket2::SockRef;
use windlass_benches::{Checker, fill};

use crate::Failure;

/// The arguments of `load idle`.
#[derive(Args)]
pub(crate) struct Idle {
    /// The server.
    #[arg(long)]
    connect: SocketAddr,
    /// How many connections; the limit of open files bounds them.
    #[arg(long)]
    count: usize,
    /// Lets each echo 64 bytes once before it falls idle.
    #[arg(long)]
    echo_once: bool,
    /// Resets the connections at the end, however it comes, so that none lingers in the kernel.
    #[arg(long)]
    reset: bool,
    /// Holds the connections until standard input ends.
    #[arg(long)]
    hold_until_stdin_closes: bool,
    /// Holds the connections for so many seconds; a script ends the process earlier.
    #[arg(long, default_value_t = 0, conflicts_with = "hold_until_stdin_closes")]
    hold_seconds: u64,
}

impl Idle {
    /// Opens the connections, prints `ready N`, and holds them.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut streams = Vec::with_capacity(self.count);
        for opened in 0..self.count {
            let mut stream = crate::connect(self.connect)
                .map_err(|error| format!("connection {opened} of {}: {error}", self.count))?;
            if self.echo_once {
                echo(&mut stream)?;
            }
            if self.reset {
                SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
            }
            streams.push(stream);
        }
        println!("ready {}", self.count);
        self.hold()?;
        drop(streams);
        Ok(())
    }

    /// Waits for the end that the arguments ask for.
    fn hold(&self) -> io::Result<()> {
        if self.hold_until_stdin_closes {
            io::copy(&mut io::stdin().lock(), &mut io::sink())?;
        } else {
            thread::sleep(Duration::from_secs(self.hold_seconds));
        }
        Ok(())
    }
}

/// Sends 64 bytes and reads them back.
fn echo(stream: &mut TcpStream) -> Result<(), Failure> {
    let mut message = [0; 64];
    fill(&mut message, 0);
    stream.write_all(&message)?;
    stream.read_exact(&mut message)?;
    Checker::default().check(&message)?;
    Ok(())
}
