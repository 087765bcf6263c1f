//! A TCP connection; reading, writing and waiting are in the folder `stream`.

use super::socket::Socket;
use crate::stream::{ByteStream, stream_methods};
use std::fmt;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::OwnedFd;
use windlass_reactor::Async;

/// A TCP connection.
///
/// All methods take `&self`, so that one task may read while another writes, through a reference
/// or an `Arc`; [`split`](TcpStream::split) and [`into_split`](TcpStream::into_split) give each its
/// half. Any number of tasks may wait at once, but what each of several readers gets is left to
/// chance.
///
/// Dropping it closes the connection: at once if there is unread data, which resets it, else after
/// what was written has been sent.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::{TcpListener, TcpStream};
///
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
/// let (server, _address) = listener.accept().await?;
///
/// client.write_all(b"hello").await?;
/// let mut space = [0; 16];
/// let count = server.read(&mut space).await?;
/// assert_eq!(&space[..count], b"hello");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct TcpStream {
    pub(super) inner: Async<Socket>,
}

impl TcpStream {
    /// Takes a socket of ours, which doesn't block. `handed_out` says that others may have changed
    /// it.
    pub(super) fn from_nonblocking(socket: OwnedFd, handed_out: bool) -> Self {
        let socket = Socket::new(socket.into(), handed_out);
        Self {
            inner: Async::from_nonblocking(socket),
        }
    }

    /// Takes a stream of the standard library and has it not block, which all duplicates of it
    /// share.
    ///
    /// As others may have set whatever options on it, each read that comes before a wait costs one
    /// system call more than on a stream of ours.
    ///
    /// # Errors
    ///
    /// What the system says when asked not to block.
    pub fn from_std(stream: std::net::TcpStream) -> io::Result<Self> {
        let inner = Async::new(Socket::new(stream, true))?;
        Ok(Self { inner })
    }

    /// Gives back a stream of the standard library, which still doesn't block:
    /// `set_nonblocking(false)` changes that.
    ///
    /// # Errors
    ///
    /// None today; the signature leaves room for systems on which there is one.
    pub fn into_std(self) -> io::Result<std::net::TcpStream> {
        Ok(self.inner.into_inner().stream)
    }

    pub(super) fn socket(&self) -> &std::net::TcpStream {
        &self.inner.get_ref().stream
    }
}

stream_methods!(
    TcpStream,
    "# let listener = windlass_net::TcpListener::bind(\"127.0.0.1:0\").await?;
# let client = windlass_net::TcpStream::connect(listener.local_addr()?).await?;
# let (server, _) = listener.accept().await?;"
);

impl ByteStream for TcpStream {
    type Socket = Socket;
    type Address = SocketAddr;

    fn inner(&self) -> &Async<Socket> {
        &self.inner
    }

    fn shut_down(&self, how: Shutdown) -> io::Result<()> {
        self.shutdown(how)
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        self.local_addr()
    }

    fn peer_address(&self) -> io::Result<SocketAddr> {
        self.peer_addr()
    }
}

impl TryFrom<std::net::TcpStream> for TcpStream {
    type Error = io::Error;

    fn try_from(stream: std::net::TcpStream) -> io::Result<Self> {
        Self::from_std(stream)
    }
}

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.socket(), f)
    }
}
