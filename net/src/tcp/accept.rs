//! From a connection in the queue of a listener to a stream.
//!
//! What can go wrong is of three kinds (accept(2), under "Error handling", has the first):
//!
//! 1. The connection is at fault, or its network is: it is taken off the queue, and the next one
//!    is accepted. Many such in a row give the other tasks a turn in between.
//! 2. Descriptors or memory are short: see `shortage.rs`.
//! 3. The listener is at fault. That is told, and again each time.

use super::listener::{ListeningSocket, TcpListener};
use super::shortage::AcceptBackoff;
use super::stream::TcpStream;
use crate::system;
use futures_core::Stream;
use rustix::io::Errno;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use windlass_reactor::time::Sleep;
use windlass_reactor::{Direction, Operation, Taken};

/// How many connections that are at fault are taken off the queue in one go.
const MOST_FAULTS: usize = 32;

/// What an attempt to accept has come to.
#[derive(Debug)]
pub(super) enum Attempt {
    Accepted(TcpStream, SocketAddr),
    /// Connections that were at fault are off the queue; more of them may follow.
    OnlyFaults,
    /// There are no descriptors, or no memory, for another one.
    OutOf(io::Error),
}

/// Accepts the first connection in the queue that is not at fault.
pub(super) fn attempt(socket: &ListeningSocket) -> io::Result<Attempt> {
    for _ in 0..MOST_FAULTS {
        match system::accept(socket.as_fd()) {
            Ok((accepted, Some(address))) => {
                // Options that change what a read means are inherited.
                let stream = TcpStream::from_nonblocking(accepted, socket.was_handed_out());
                return Ok(Attempt::Accepted(stream, address));
            }
            // The peer is gone already, so that some systems don't know its address.
            Ok((_, None)) => {}
            Err(error) if is_fault_of_connection(error) => {}
            Err(error) if is_shortage(error) => return Ok(Attempt::OutOf(error.into())),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Attempt::OnlyFaults)
}

/// Linux hands over errors that are pending on the new socket; EPERM is a firewall's doing.
fn is_fault_of_connection(error: Errno) -> bool {
    #[cfg(target_os = "linux")]
    if error == Errno::NONET {
        return true;
    }
    matches!(
        error,
        Errno::CONNABORTED
            | Errno::PROTO
            | Errno::PERM
            | Errno::INTR
            | Errno::NETDOWN
            | Errno::NOPROTOOPT
            | Errno::HOSTDOWN
            | Errno::HOSTUNREACH
            | Errno::OPNOTSUPP
            | Errno::NETUNREACH
    )
}

fn is_shortage(error: Errno) -> bool {
    matches!(
        error,
        Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM
    )
}

/// Says whether an error of `accept` is that of a shortage.
pub(crate) fn is_shortage_error(error: &io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(is_shortage)
}

/// What happens to the error of a shortage.
enum WhenShort {
    /// It is told once.
    Tell,
    /// It is waited out; if there is a hook, it is told once.
    WaitOut(Option<Hook>),
}

type Hook = Box<dyn Fn(&io::Error) + Send + Sync>;

type Attempting<'a> =
    Operation<'a, ListeningSocket, fn(&ListeningSocket) -> io::Result<Taken<Attempt>>>;

/// Accepts connections one after the other, with a wait of its own.
struct Accepting<'a> {
    listener: &'a TcpListener,
    /// Begins anew each time it is done.
    attempting: Attempting<'a>,
    sleep: Option<Sleep>,
    when_short: WhenShort,
}

impl<'a> Accepting<'a> {
    fn new(listener: &'a TcpListener, when_short: WhenShort) -> Self {
        let operation: fn(&ListeningSocket) -> _ = |socket| attempt(socket).map(Taken::Some);
        Self {
            listener,
            attempting: listener.inner.io_with(Direction::Read, operation),
            sleep: None,
            when_short,
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        loop {
            ready!(self.listener.shortage.poll_due(context, &mut self.sleep));
            let attempt = ready!(Pin::new(&mut self.attempting).poll(context))?;
            let concluded = self.listener.conclude(context, attempt, &self.when_short);
            if let Some(done) = ready!(concluded) {
                return Poll::Ready(done);
            }
        }
    }
}

impl TcpListener {
    /// Accepts a connection, waiting until there is one; returns the stream and the address of the
    /// peer.
    ///
    /// Connections that have failed by then are passed over. If there are no descriptors or no
    /// memory, this is told once; until a connection is accepted again, each call then waits and
    /// tries until it succeeds. So a loop that calls it and does nothing about errors doesn't spin.
    ///
    /// ```no_run
    /// # async fn example() -> std::io::Result<()> {
    /// use windlass_net::TcpListener;
    ///
    /// let listener = TcpListener::bind("127.0.0.1:8080").await?;
    /// loop {
    ///     match listener.accept().await {
    ///         Ok((_stream, address)) => println!("{address} has connected"),
    ///         Err(error) => eprintln!("cannot accept: {error}"),
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// That of a shortage: `EMFILE`, `ENFILE`, `ENOBUFS` or `ENOMEM`. Any other means that the
    /// listener can't be used.
    ///
    /// # Cancel safety
    ///
    /// No connection is accepted by a future that is dropped before it is done.
    pub fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> {
        let mut accepting = Accepting::new(self, WhenShort::Tell);
        std::future::poll_fn(move |context| accepting.poll(context))
    }

    /// As [`accept`](TcpListener::accept), for those who write futures by hand. Of several tasks
    /// that call it, the latest is woken.
    ///
    /// # Errors
    ///
    /// As for [`accept`](TcpListener::accept).
    pub fn poll_accept(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        loop {
            // A waker is never cloned under our lock, so the sleep is taken out to be polled.
            let mut sleep = self.polled_sleep.lock().take();
            let due = self.shortage.poll_due(context, &mut sleep);
            let replaced = std::mem::replace(&mut *self.polled_sleep.lock(), sleep);
            drop(replaced);
            ready!(due);
            let attempt = ready!(self.inner.poll_io_with(context, Direction::Read, |socket| {
                attempt(socket).map(Taken::Some)
            }))?;
            if let Some(done) = ready!(self.conclude(context, attempt, &WhenShort::Tell)) {
                return Poll::Ready(done);
            }
        }
    }

    /// Accepts connections for ever: the listener as a stream.
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming(Accepting::new(self, WhenShort::WaitOut(None)))
    }

    /// Says how long to wait between attempts while descriptors or memory are short; for all who
    /// accept.
    pub fn set_accept_backoff(&self, backoff: AcceptBackoff) {
        self.shortage.set_backoff(backoff);
    }

    /// Returns how many attempts to accept have failed for want of descriptors or memory.
    pub fn accept_shortages(&self) -> u64 {
        self.shortage.count()
    }

    /// Turns an attempt into the answer; without one, another attempt is due.
    fn conclude(
        &self,
        context: &mut Context<'_>,
        attempt: Attempt,
        when_short: &WhenShort,
    ) -> Poll<Option<io::Result<(TcpStream, SocketAddr)>>> {
        match attempt {
            Attempt::Accepted(stream, address) => {
                self.shortage.end();
                Poll::Ready(Some(Ok((stream, address))))
            }
            Attempt::OnlyFaults => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Attempt::OutOf(error) => {
                let is_first = self.shortage.begin_or_go_on(Instant::now());
                match when_short {
                    WhenShort::Tell if is_first => return Poll::Ready(Some(Err(error))),
                    WhenShort::WaitOut(Some(hook)) if is_first => hook(&error),
                    _ => {}
                }
                Poll::Ready(None)
            }
        }
    }
}

/// The connections of a listener; see [`TcpListener::incoming`].
///
/// It never ends, and a shortage of descriptors or memory is waited out: an error means that the
/// listener can't be used. It is a [`Stream`], too.
///
/// ```no_run
/// # async fn example() -> std::io::Result<()> {
/// use windlass_net::TcpListener;
///
/// let listener = TcpListener::bind("127.0.0.1:8080").await?;
/// let mut incoming = listener.incoming();
/// while let Some(connection) = incoming.next().await {
///     let (_stream, address) = connection?;
///     println!("{address} has connected");
/// }
/// # Ok(()) }
/// ```
#[must_use = "nothing is accepted until the next connection is awaited"]
pub struct Incoming<'a>(Accepting<'a>);

impl Incoming<'_> {
    /// Has `hook` told of a shortage of descriptors or memory when it begins, as for a log; see
    /// [`set_accept_backoff`](TcpListener::set_accept_backoff) for what is done about it. If
    /// several accept, the first to notice tells.
    pub fn on_shortage(mut self, hook: impl Fn(&io::Error) + Send + Sync + 'static) -> Self {
        self.0.when_short = WhenShort::WaitOut(Some(Box::new(hook)));
        self
    }

    /// Accepts the next connection, waiting until there is one; never `None`.
    ///
    /// # Errors
    ///
    /// One that means that the listener can't be used.
    ///
    /// # Cancel safety
    ///
    /// No connection is accepted by a future that is dropped before it is done.
    pub async fn next(&mut self) -> Option<io::Result<(TcpStream, SocketAddr)>> {
        std::future::poll_fn(|context| self.0.poll(context).map(Some)).await
    }
}

impl Stream for Incoming<'_> {
    type Item = io::Result<(TcpStream, SocketAddr)>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().0.poll(context).map(Some)
    }
}

impl fmt::Debug for Incoming<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Incoming").field(self.0.listener).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{Attempt, WhenShort, is_fault_of_connection, is_shortage};
    use crate::TcpListener;
    use futures::executor::block_on;
    use futures::task::{ArcWake, waker};
    use rustix::io::Errno;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Context;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl ArcWake for Woken {
        fn wake_by_ref(woken: &Arc<Self>) {
            woken.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// E3: when there were nothing but faults, others get a turn, and then it goes on.
    #[test]
    fn faults_without_end_give_others_a_turn() {
        let listener = block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let woken = Arc::new(Woken::default());
        let waker = waker(woken.clone());
        let mut context = Context::from_waker(&waker);
        let concluded = listener.conclude(&mut context, Attempt::OnlyFaults, &WhenShort::Tell);
        assert!(concluded.is_pending());
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn errors_are_of_three_kinds() {
        for fault in [
            Errno::CONNABORTED,
            Errno::PROTO,
            Errno::PERM,
            Errno::NETDOWN,
        ] {
            assert!(is_fault_of_connection(fault) && !is_shortage(fault));
        }
        for short in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
            assert!(is_shortage(short) && !is_fault_of_connection(short));
        }
        for fatal in [Errno::BADF, Errno::INVAL, Errno::NOTSOCK, Errno::AGAIN] {
            assert!(!is_shortage(fatal) && !is_fault_of_connection(fatal));
        }
    }
}
