//! Signals as futures.
//!
//! A signal's default action is replaced when the first [`Signal`] of its kind is made, for the whole
//! process and for the rest of its life: after that somebody has to listen, or nothing happens.
//!
//! Each `Signal` has a pipe of its own, so that any number of them, under any runtimes, hear of each
//! arrival; and one that was made or awaited in one runtime goes on in another, also if the first is
//! gone.
//!
//! A child process hears of no signal that was sent to its parent, and the parent of none that was
//! sent to the child. A `Signal` that was made before the fork begins to listen for those of the
//! child when it is first polled there; until then they are lost, as the default action is replaced
//! in the child, too.

use crate::io::{Async, Taken};
use crate::process::Process;
use crate::source::Direction;
use crate::sys;
use futures_core::Stream;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
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
    /// `SIGQUIT`: ctrl-\\ on a terminal, which by default leaves a core dump.
    pub const QUIT: SignalKind = SignalKind(libc::SIGQUIT);
    /// `SIGCHLD`: a child process has ended or stopped.
    pub const CHILD: SignalKind = SignalKind(libc::SIGCHLD);
    /// `SIGWINCH`: the terminal has another size.
    pub const WINDOW_CHANGE: SignalKind = SignalKind(libc::SIGWINCH);
    /// `SIGALRM`: the time of `alarm` or `setitimer` is over.
    pub const ALARM: SignalKind = SignalKind(libc::SIGALRM);
    /// `SIGPIPE`: a write to a pipe or socket that nobody reads.
    pub const PIPE: SignalKind = SignalKind(libc::SIGPIPE);
    /// `SIGUSR1`: for the program to define.
    pub const USER_DEFINED_1: SignalKind = SignalKind(libc::SIGUSR1);
    /// `SIGUSR2`: for the program to define.
    pub const USER_DEFINED_2: SignalKind = SignalKind(libc::SIGUSR2);

    /// Names a signal by the number that it has on this system.
    pub const fn from_raw(number: i32) -> Self {
        Self(number)
    }

    /// Returns the number that the signal has on this system.
    pub const fn as_raw(self) -> i32 {
        self.0
    }
}

/// Listens from now on for signals of one kind; as [`Signal::new`].
///
/// # Errors
///
/// As for [`Signal::new`].
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    Signal::new(kind)
}

/// Listens for one signal; also a [`Stream`], which never ends.
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
    kind: SignalKind,
    /// Who listens: a child listens anew.
    process: Process,
    /// Comes before the read end, so that nothing is written any more when that is closed.
    registered: sys::signal::Registered,
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
        Ok(Self {
            kind,
            process: Process::current(),
            registered: sys::signal::write_on_arrival(kind.0, write_end)?,
            arrivals: Async::from_nonblocking(read_end),
        })
    }

    /// Returns which signal it listens for.
    pub fn kind(&self) -> SignalKind {
        self.kind
    }

    /// Waits for the signal. Several that came since the last call count as one.
    ///
    /// # Errors
    ///
    /// What the system says of reading the pipe, which does not happen in practice; in a child
    /// process, at first, as for [`new`](Signal::new).
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
        if !self.process.is_current() {
            self.listen_in_child()?;
        }
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

    /// Begins to listen for signals of this process, a child of the one that has listened before.
    ///
    /// The pipe is the parent's: whatever is read there, the parent would miss.
    #[cold]
    fn listen_in_child(&mut self) -> io::Result<()> {
        let (read_end, write_end) = sys::pipe::create()?;
        self.arrivals = Async::from_nonblocking(read_end);
        self.registered.listen_in_child(write_end);
        self.process = Process::current();
        Ok(())
    }
}

impl Stream for Signal {
    type Item = io::Result<()>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_recv(context).map(Some)
    }
}

/// Waits for ctrl-c (`SIGINT`), from this call on: one that comes before the first poll counts.
///
/// ```no_run
/// # async fn example() -> std::io::Result<()> {
/// windlass_reactor::signal::ctrl_c().await?;
/// println!("that will do");
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// As for [`Signal::new`].
///
/// # Cancel safety
///
/// A ctrl-c that comes between two calls is lost; use a [`Signal`] to miss none.
pub fn ctrl_c() -> impl Future<Output = io::Result<()>> + Send {
    let signal = Signal::new(SignalKind::INTERRUPT);
    async move { signal?.recv().await }
}
