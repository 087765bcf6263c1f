//! A connection between Unix sockets; reading, writing and waiting are in the folder `stream`.

use super::passing::passing_methods;
use super::socket::Socket;
use super::system::{self, Kind};
use super::{Credentials, UnixAddr, connect, credentials, message};
use crate::stream::{ByteStream, stream_methods};
use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use windlass_reactor::Async;

/// A connection between two Unix sockets, on one machine.
///
/// All methods take `&self`, so that one task may read while another writes, through a reference
/// or an `Arc`; [`split`](UnixStream::split) and [`into_split`](UnixStream::into_split) give each
/// its half. Any number of tasks may wait at once, but what each of several readers gets is left
/// to chance.
///
/// Descriptors can be [sent](UnixStream::send_fds) along, also by halves, which lend the stream by
/// `as_ref`. Who reads them by a method that has no room for them doesn't get them, and they are
/// closed.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::{UnixListener, UnixStream};
///
/// # let folder = std::env::temp_dir().join(format!("windlass-doc-stream-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("echo");
/// let mut listener = UnixListener::bind(&path)?;
/// listener.remove_file_on_drop()?;
/// let client = UnixStream::connect(&path).await?;
/// let (server, _address) = listener.accept().await?;
///
/// client.write_all(b"hello").await?;
/// let mut space = [0; 16];
/// let count = server.read(&mut space).await?;
/// assert_eq!(&space[..count], b"hello");
/// # drop(listener);
/// # std::fs::remove_dir(&folder)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct UnixStream {
    pub(super) inner: Async<Socket>,
}

stream_methods!(
    UnixStream,
    "# let (client, server) = windlass_net::UnixStream::pair()?;"
);

passing_methods!(
    UnixStream,
    "# let (one, other) = windlass_net::UnixStream::pair()?;",
    message::stream::send_fds,
    "The descriptors go with the first byte, of which one is needed. If not all bytes are taken, \
     the rest is to be [written](Self::write_all) without them. They come with the read that gets the \
     first of these bytes; it gets none of a later call."
);

impl UnixStream {
    /// Connects to the socket that listens under a name.
    ///
    /// While as many connections wait to be accepted there as may, it tries again after a pause of
    /// 1 ms at first and 50 ms later. So it waits for as long as the listener is busy; a
    /// [timeout](windlass_reactor::time::timeout) around it says for how long. (The BSDs and
    /// Apple's systems refuse such connections at once.)
    ///
    /// # Errors
    ///
    /// A [`UnixAddrError`](crate::UnixAddrError), of the kind that the system says: most often
    /// `NotFound`, or `ConnectionRefused` if nobody listens. `InvalidInput` if it is no name.
    ///
    /// # Cancel safety
    ///
    /// When it is dropped before it is done, the connection isn't made.
    pub async fn connect(address: impl Into<UnixAddr>) -> io::Result<Self> {
        let socket = system::socket(Kind::Stream)?;
        let inner = Async::from_nonblocking(Socket(socket.into()));
        connect::connect(&inner, &address.into()).await?;
        Ok(Self { inner })
    }

    /// Makes two streams that are connected to each other.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// use windlass_net::UnixStream;
    ///
    /// let (one, other) = UnixStream::pair()?;
    /// one.write_all(b"hello").await?;
    /// let mut space = [0; 16];
    /// assert_eq!(other.read(&mut space).await?, 5);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// What the system says: most often that there are too many open files.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = system::pair(Kind::Stream)?;
        Ok((Self::from_nonblocking(one), Self::from_nonblocking(other)))
    }

    /// Takes a socket that doesn't block.
    pub(super) fn from_nonblocking(socket: OwnedFd) -> Self {
        let inner = Async::from_nonblocking(Socket(socket.into()));
        Self { inner }
    }

    /// Takes a stream of the standard library and has it not block, which all duplicates of it
    /// share.
    ///
    /// # Errors
    ///
    /// What the system says when asked not to block.
    pub fn from_std(stream: std::os::unix::net::UnixStream) -> io::Result<Self> {
        let inner = Async::new(Socket(stream))?;
        Ok(Self { inner })
    }

    /// Gives back a stream of the standard library, which still doesn't block:
    /// `set_nonblocking(false)` changes that.
    ///
    /// # Errors
    ///
    /// None today; the signature leaves room for systems on which there is one.
    pub fn into_std(self) -> io::Result<std::os::unix::net::UnixStream> {
        Ok(self.inner.into_inner().0)
    }

    fn socket(&self) -> &std::os::unix::net::UnixStream {
        &self.inner.get_ref().0
    }

    /// Sends all of `bytes`, and with the first of them the descriptors, once; else as
    /// [`send_fds`](UnixStream::send_fds).
    ///
    /// # Errors
    ///
    /// As for [`send_fds`](UnixStream::send_fds). Some of the bytes may have been sent.
    ///
    /// # Cancel safety
    ///
    /// How much was sent before it is dropped isn't known; [`send_fds`](UnixStream::send_fds) and
    /// [`write_all_from`](UnixStream::write_all_from) tell it.
    pub async fn send_all_fds(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let sent = self.send_fds(bytes, fds).await?;
        self.write_all(&bytes[sent..]).await
    }

    /// Ends one direction or both: after `Shutdown::Write` the peer reads the end once it has read
    /// what was written; after `Shutdown::Read` reads here say 0.
    ///
    /// It doesn't wait. A connection that is over is shut down already, which is no error, though
    /// some systems say so (`ENOTCONN`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        super::shut_down(self.as_fd(), how)
    }

    /// Returns the name of this end.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<UnixAddr> {
        super::local_addr(self.as_fd())
    }

    /// Returns the name of the other end, which most often has none if that connected.
    ///
    /// # Errors
    ///
    /// `NotConnected` once the connection is over, on some systems; else what the system says.
    pub fn peer_addr(&self) -> io::Result<UnixAddr> {
        super::peer_addr(self.as_fd())
    }

    /// Says who is at the other end.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn peer_cred(&self) -> io::Result<Credentials> {
        credentials::of_peer(self.as_fd())
    }

    /// Takes the error that is pending on the socket (`SO_ERROR`), which no operation reports then.
    ///
    /// # Errors
    ///
    /// What the system says when asked.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket().take_error()
    }
}

impl ByteStream for UnixStream {
    type Socket = Socket;
    type Address = UnixAddr;

    fn inner(&self) -> &Async<Socket> {
        &self.inner
    }

    fn shut_down(&self, how: Shutdown) -> io::Result<()> {
        self.shutdown(how)
    }

    fn local_address(&self) -> io::Result<UnixAddr> {
        self.local_addr()
    }

    fn peer_address(&self) -> io::Result<UnixAddr> {
        self.peer_addr()
    }
}

/// Lends the descriptor, for what this type doesn't offer.
impl AsFd for UnixStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

/// As for [`AsFd`].
impl AsRawFd for UnixStream {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl TryFrom<std::os::unix::net::UnixStream> for UnixStream {
    type Error = io::Error;

    fn try_from(stream: std::os::unix::net::UnixStream) -> io::Result<Self> {
        Self::from_std(stream)
    }
}

impl fmt::Debug for UnixStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.socket(), f)
    }
}
