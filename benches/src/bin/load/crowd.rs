//! More connections at the same time than a server can hold.
//!
//! All of them connect and send at once, without waiting for one another. Those that are served
//! stay open for a while, so that the server is full and the rest must wait; then each is closed
//! as soon as it is served, which makes room for the next. A server that comes through its limit
//! serves every one in the end.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Socket, Type};
use windlass_benches::{Checker, fill};

use crate::Failure;

/// Bytes that each connection sends and wants back.
const MESSAGE: usize = 64;

/// The arguments of `load crowd`.
#[derive(Args)]
pub(crate) struct Crowd {
    /// The server.
    #[arg(long)]
    connect: SocketAddr,
    /// How many connections.
    #[arg(long, default_value_t = 1_000)]
    count: usize,
    /// Milliseconds for which those that are served stay open.
    #[arg(long, default_value_t = 3_000)]
    hold_ms: u64,
    /// Seconds until those that are left count as lost.
    #[arg(long, default_value_t = 60)]
    deadline: u64,
}

/// One connection of the crowd.
struct Member {
    /// The connection, which may not be open yet.
    stream: TcpStream,
    /// How much of the message was sent.
    sent: usize,
    /// What came back.
    echo: Checker,
}

/// How a crowd has fared.
#[derive(Default)]
struct Fates {
    /// Connections whose echo came back whole.
    served: usize,
    /// Connections that ended without it.
    failed: usize,
    /// How many were served, and open, when the first was closed.
    at_once: Option<usize>,
    /// The first failure, which stands for the others.
    reason: Option<String>,
}

impl Crowd {
    /// Opens the connections, waits for their fates, and prints them.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let start = Instant::now();
        let release = start + Duration::from_millis(self.hold_ms);
        let end = start + Duration::from_secs(self.deadline);
        let mut waiting = (0..self.count)
            .map(|_| Member::open(self.connect))
            .collect::<io::Result<Vec<_>>>()?;
        let mut held = Vec::new();
        let mut fates = Fates::default();

        while !waiting.is_empty() && Instant::now() < end {
            wait(&waiting)?;
            fates.sort(&mut waiting, &mut held);
            if Instant::now() >= release {
                fates.at_once.get_or_insert(held.len());
                held.clear();
            }
        }
        self.judge(&fates, waiting.len(), start.elapsed())
    }

    /// Prints the fates; fails unless every connection was served.
    fn judge(&self, fates: &Fates, late: usize, elapsed: Duration) -> Result<(), Failure> {
        let Fates {
            served,
            failed,
            at_once,
            reason,
        } = fates;
        if let Some(at_once) = at_once {
            println!("{at_once} served before any was closed");
        }
        let seconds = elapsed.as_secs_f64();
        println!("{served} served, {failed} failed, {late} late, {seconds:.1} s");
        if let Some(reason) = reason {
            println!("the first failure: {reason}");
        }
        if *served == self.count {
            Ok(())
        } else {
            Err("not every client was served".into())
        }
    }
}

impl Fates {
    /// Moves each member that has met its fate out of `waiting`; those served go to `held`.
    fn sort(&mut self, waiting: &mut Vec<Member>, held: &mut Vec<Member>) {
        for mut member in std::mem::take(waiting) {
            match member.go_on() {
                Ok(false) => waiting.push(member),
                Ok(true) => {
                    self.served += 1;
                    held.push(member);
                }
                Err(failure) => {
                    self.failed += 1;
                    self.reason.get_or_insert_with(|| failure.to_string());
                }
            }
        }
    }
}

impl Member {
    /// Starts to connect without waiting for the end of it.
    fn open(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        match socket.connect(&address.into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(error) => return Err(error),
        }
        Ok(Member {
            stream: socket.into(),
            sent: 0,
            echo: Checker::default(),
        })
    }

    /// Does what can be done now; true once the echo is whole.
    fn go_on(&mut self) -> Result<bool, Failure> {
        let mut message = [0; MESSAGE];
        if self.sent < MESSAGE {
            fill(&mut message, 0);
            match self.stream.write(&message[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if is_not_yet(&error) => return Ok(false),
                Err(error) => return Err(format!("write: {error}").into()),
            }
        }
        match self.stream.read(&mut message) {
            Ok(0) => return Err("closed before the echo was whole".into()),
            Ok(count) => self.echo.check(&message[..count])?,
            Err(error) if is_not_yet(&error) => {}
            Err(error) => return Err(format!("read: {error}").into()),
        }
        Ok(self.echo.seen() == MESSAGE as u64)
    }
}

/// Tells whether `error` only says that it is too early.
///
/// Linux answers a write on a connection that is still being made with EAGAIN, others with
/// ENOTCONN.
fn is_not_yet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::NotConnected
    )
}

/// Waits until a member can go on, for a tenth of a second at most.
fn wait(waiting: &[Member]) -> io::Result<()> {
    let mut entries: Vec<_> = waiting
        .iter()
        .map(|member| {
            let wanted = if member.sent < MESSAGE {
                PollFlags::OUT
            } else {
                PollFlags::IN
            };
            PollFd::new(&member.stream, wanted)
        })
        .collect();
    let tenth = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    poll(&mut entries, Some(&tenth))?;
    Ok(())
}
