//! The connections of a listener, as a stream.

use super::queue::{Accepting, Accepts, Listening, WhenShort};
use crate::TcpListener;
use futures_core::Stream;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What is accepted from a listener: a stream, and the address of its peer.
type Accepted<L> = <<L as Accepts>::Socket as Listening>::Accepted;

/// The connections of a listener; see [`TcpListener::incoming`] and
/// [`UnixListener::incoming`](crate::UnixListener::incoming).
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
pub struct Incoming<'a, L: Accepts = TcpListener> {
    listener: &'a L,
    accepting: Accepting<'a, L::Socket>,
}

impl<'a, L: Accepts> Incoming<'a, L> {
    pub(crate) fn new(listener: &'a L) -> Self {
        let accepting = Accepting::new(listener.queue(), WhenShort::WaitOut(None));
        Self {
            listener,
            accepting,
        }
    }

    /// Has `hook` told of a shortage of descriptors or memory when it begins, as for a log; see
    /// [`set_accept_backoff`](TcpListener::set_accept_backoff) for what is done about it. If
    /// several accept, the first to notice tells.
    pub fn on_shortage(mut self, hook: impl Fn(&io::Error) + Send + Sync + 'static) -> Self {
        self.accepting.when_short = WhenShort::WaitOut(Some(Box::new(hook)));
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
    pub async fn next(&mut self) -> Option<io::Result<Accepted<L>>> {
        std::future::poll_fn(|context| self.accepting.poll(context).map(Some)).await
    }
}

impl<L: Accepts> Stream for Incoming<'_, L> {
    type Item = io::Result<Accepted<L>>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().accepting.poll(context).map(Some)
    }
}

impl<L: Accepts + fmt::Debug> fmt::Debug for Incoming<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Incoming").field(self.listener).finish()
    }
}
