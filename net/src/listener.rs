//! What all listeners have in common.

use crate::accept::is_shortage_error;
use std::io;
use std::task::{Context, Poll, ready};

/// Something that connections are accepted from: a listener of ours, or one that you implement this
/// for, such as one that adds TLS.
///
/// ```
/// # futures::executor::block_on(async {
/// use std::future::poll_fn;
/// use std::io;
/// use std::net::SocketAddr;
/// use std::task::{Context, Poll};
/// use windlass_net::{Listener, TcpListener, TcpStream};
///
/// /// Has small messages sent at once on all connections.
/// struct Prompt(TcpListener);
///
/// impl Listener for Prompt {
///     type Stream = TcpStream;
///     type Address = SocketAddr;
///
///     fn poll_accept(
///         &self,
///         context: &mut Context<'_>,
///     ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
///         Listener::poll_accept(&self.0, context).map_ok(|(stream, address)| {
///             // Of a connection that is over already, it is no matter.
///             let _ = stream.set_nodelay(true);
///             (stream, address)
///         })
///     }
/// }
///
/// let listener = Prompt(TcpListener::bind("127.0.0.1:0").await?);
/// # let _client = TcpStream::connect(listener.0.local_addr()?).await?;
/// let (stream, _) = poll_fn(|context| listener.poll_accept(context)).await?;
/// assert!(stream.nodelay()?);
/// # io::Result::Ok(()) }).unwrap();
/// ```
pub trait Listener {
    /// What is accepted.
    type Stream;
    /// The address of a peer.
    type Address;

    /// Accepts a connection. A lack of descriptors or memory is waited out, and so is what only
    /// concerns one connection. Of several tasks that call it, the latest is woken.
    ///
    /// # Errors
    ///
    /// One that means that the listener can't be used.
    fn poll_accept(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(Self::Stream, Self::Address)>>;
}

/// Accepts; where descriptors or memory are short, that is told once, and the next call waits.
pub(crate) fn past_shortages<A>(
    mut accept: impl FnMut() -> Poll<io::Result<A>>,
) -> Poll<io::Result<A>> {
    loop {
        match ready!(accept()) {
            Err(error) if is_shortage_error(&error) => {}
            done => return Poll::Ready(done),
        }
    }
}

/// Returns how many descriptors the process may have at a time (the soft limit of `RLIMIT_NOFILE`,
/// getrlimit(2)); `None` if there is no limit.
///
/// ```
/// // Standard input, output and error are there already.
/// assert!(windlass_net::descriptor_limit().is_none_or(|most| most >= 3));
/// ```
pub fn descriptor_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}
