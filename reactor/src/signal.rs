//! Signals as futures.
//!
//! A signal's default action is replaced when the first [`Signal`] of its kind is made, and for the
//! rest of the process's life: after that somebody has to listen. Each `Signal` has a pipe of its
//! own, so that any number of them, under any runtimes, hear of each arrival.

use crate::io::{Async, Taken};
use crate::source::Direction;
use crate::sys;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Poll};

/// Which signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SignalKind(libc::c_int);

impl SignalKind {
    /// `SIGINT`: ctrl-c on a terminal.
    pub const INTERRUPT: SignalKind = SignalKind(libc::SIGINT);
    /// `SIGTERM`: asked to stop.
    pub const TERMINATE: SignalKind = SignalKind(libc::SIGTERM);
    /// `SIGHUP`: the terminal has gone; by custom, read the configuration again.
    pub const HANGUP: SignalKind = SignalKind(libc::SIGHUP);
    /// `SIGUSR1`: for the program to define.
    pub const USER_DEFINED_1: SignalKind = SignalKind(libc::SIGUSR1);
    /// `SIGUSR2`: for the program to define.
    pub const USER_DEFINED_2: SignalKind = SignalKind(libc::SIGUSR2);

    /// Names a signal by the number that it has on this system.
    pub const fn from_raw(number: i32) -> Self {
        Self(number)
    }
}

/// Listens for one signal.
///
/// ```no_run
/// # async fn example() -> std::io::Result<()> {
/// use windlass_reactor::signal::{Signal, SignalKind};
///
/// let mut hangups = Signal::new(SignalKind::HANGUP)?;
/// loop {
///     hangups.recv().await?;
///     println!("reading the configuration again");
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Signal {
    /// Comes first, so that nothing is written any more when the read end is closed.
    _registered: sys::signal::Registered,
    arrivals: Async<OwnedFd>,
}

impl Signal {
    /// Listens from now on for `kind`, whose default action does not happen any more.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for signals that can't be caught; the system's error if there is no such
    /// signal or no descriptor left for the pipe.
    pub fn new(kind: SignalKind) -> io::Result<Self> {
        let (read_end, write_end) = sys::pipe::create()?;
        let registered = sys::signal::write_on_arrival(kind.0, Arc::new(write_end))?;
        Ok(Self {
            arrivals: Async::from_nonblocking(read_end),
            _registered: registered,
        })
    }

    /// Waits for the signal. Several that came since the last call count as one.
    ///
    /// # Errors
    ///
    /// What the system says of reading the pipe, which does not happen in practice.
    ///
    /// # Cancel safety
    ///
    /// An arrival that was not returned is returned by the next call.
    pub async fn recv(&mut self) -> io::Result<()> {
        std::future::poll_fn(|context| self.poll_recv(context)).await
    }

    /// As [`recv`](Signal::recv), for those who write futures by hand.
    ///
    /// # Errors
    ///
    /// As for [`recv`](Signal::recv).
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.arrivals
            .poll_io_with(context, Direction::Read, |pipe| {
                let mut space = [0; 64];
                let taken = sys::file::read(pipe.as_fd(), &mut space)?;
                if taken == space.len() {
                    sys::pipe::drain(pipe.as_fd());
                }
                Ok(Taken::Some(()))
            })
    }
}

/// Waits for ctrl-c (`SIGINT`) from the first poll on.
///
/// # Errors
///
/// As for [`Signal::new`].
///
/// # Cancel safety
///
/// A ctrl-c that comes between two calls is lost; use a [`Signal`] to miss none.
pub async fn ctrl_c() -> io::Result<()> {
    Signal::new(SignalKind::INTERRUPT)?.recv().await
}
