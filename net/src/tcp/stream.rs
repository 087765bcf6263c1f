//! A TCP connection: reading, writing and waiting.

use super::socket::Socket;
use std::fmt;
use std::future::Future;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::OwnedFd;
use windlass_reactor::{Async, Direction};

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

    /// Reads what is there into `space`, waiting until there is something; returns how many bytes
    /// came, 0 at the end.
    ///
    /// # Errors
    ///
    /// What the system says of the connection: most often `ConnectionReset`.
    ///
    /// # Cancel safety
    ///
    /// Nothing is read by a future that is dropped before it is done.
    pub fn read(&self, space: &mut [u8]) -> impl Future<Output = io::Result<usize>> {
        self.inner
            .io_with(Direction::Read, move |socket| socket.receive(space))
    }

    /// Reads into several spaces, one after the other; else as [`read`](TcpStream::read).
    ///
    /// # Errors
    ///
    /// As for [`read`](TcpStream::read).
    ///
    /// # Cancel safety
    ///
    /// As for [`read`](TcpStream::read).
    pub fn read_vectored(
        &self,
        spaces: &mut [IoSliceMut<'_>],
    ) -> impl Future<Output = io::Result<usize>> {
        self.inner.io_with(Direction::Read, move |socket| {
            socket.receive_vectored(spaces)
        })
    }

    /// Reads until `space` is full.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` if the end comes first; else as for [`read`](TcpStream::read). What came
    /// before is in `space`, but how much that is isn't told; see
    /// [`read_exact_from`](TcpStream::read_exact_from).
    ///
    /// # Cancel safety
    ///
    /// What was read before it is dropped is lost; [`read_exact_from`](TcpStream::read_exact_from)
    /// loses nothing.
    pub async fn read_exact(&self, space: &mut [u8]) -> io::Result<()> {
        self.read_exact_from(space, &mut 0).await
    }

    /// Reads until `space` is full, of which the first `filled` bytes are there already; counts on
    /// in `filled`, so that it can go on later.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// # use windlass_net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// # let client = TcpStream::connect(listener.local_addr()?).await?;
    /// # let (server, _) = listener.accept().await?;
    /// use std::time::Duration;
    /// use windlass_reactor::time::timeout;
    ///
    /// let (mut space, mut filled) = ([0; 4], 0);
    /// client.write_all(b"he").await?;
    /// let reading = server.read_exact_from(&mut space, &mut filled);
    /// assert!(timeout(Duration::from_millis(20), reading).await.is_err());
    /// client.write_all(b"ad").await?;
    /// server.read_exact_from(&mut space, &mut filled).await?;
    /// assert_eq!(&space, b"head");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`read_exact`](TcpStream::read_exact); `filled` is right then, too.
    ///
    /// # Panics
    ///
    /// If `filled` is more than `space` has.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: `filled` says how much of `space` is there.
    pub async fn read_exact_from(&self, space: &mut [u8], filled: &mut usize) -> io::Result<()> {
        while *filled < space.len() {
            match self.read(&mut space[*filled..]).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => *filled += count,
            }
        }
        assert!(*filled == space.len(), "more is filled than there is space");
        Ok(())
    }

    /// Reads as [`read`](TcpStream::read) does, but leaves the bytes there to be read again.
    ///
    /// # Errors
    ///
    /// As for [`read`](TcpStream::read).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when it is dropped.
    pub fn peek(&self, space: &mut [u8]) -> impl Future<Output = io::Result<usize>> {
        self.inner
            .io_with(Direction::Read, move |socket| socket.peek(space))
    }

    /// Writes as much of `bytes` as there is room for, waiting until there is some; returns how
    /// many bytes were taken.
    ///
    /// # Errors
    ///
    /// What the system says of the connection: `BrokenPipe` or `ConnectionReset` if the peer is
    /// gone. There is no `SIGPIPE`.
    ///
    /// # Cancel safety
    ///
    /// Nothing is written by a future that is dropped before it is done.
    pub fn write(&self, bytes: &[u8]) -> impl Future<Output = io::Result<usize>> {
        self.inner
            .io_with(Direction::Write, move |socket| socket.send(bytes))
    }

    /// Writes from several buffers, one after the other; else as [`write`](TcpStream::write).
    ///
    /// # Errors
    ///
    /// As for [`write`](TcpStream::write).
    ///
    /// # Cancel safety
    ///
    /// As for [`write`](TcpStream::write).
    pub fn write_vectored(
        &self,
        buffers: &[IoSlice<'_>],
    ) -> impl Future<Output = io::Result<usize>> {
        self.inner.io_with(Direction::Write, move |socket| {
            socket.send_vectored(buffers)
        })
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    ///
    /// As for [`write`](TcpStream::write). Some of the bytes may have been written.
    ///
    /// # Cancel safety
    ///
    /// How much was written before it is dropped isn't known;
    /// [`write_all_from`](TcpStream::write_all_from) tells it.
    pub fn write_all(&self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> {
        let mut rest = bytes;
        self.inner
            .io_with(Direction::Write, move |socket| socket.send_rest(&mut rest))
    }

    /// Writes all of `bytes` but the first `written`, which were written before; counts on in
    /// `written`, so that it can go on later.
    ///
    /// # Errors
    ///
    /// As for [`write`](TcpStream::write); `written` is right then, too.
    ///
    /// # Panics
    ///
    /// If `written` is more than there are bytes.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: `written` says how far it came.
    pub fn write_all_from(
        &self,
        bytes: &[u8],
        written: &mut usize,
    ) -> impl Future<Output = io::Result<()>> {
        self.inner.io_with(Direction::Write, move |socket| {
            let mut rest = &bytes[*written..];
            let sent = socket.send_rest(&mut rest);
            *written = bytes.len() - rest.len();
            sent
        })
    }

    /// Reads what is there, without waiting. The kernel is always asked.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is nothing; else as for [`read`](TcpStream::read).
    pub fn try_read(&self, space: &mut [u8]) -> io::Result<usize> {
        self.inner
            .try_io_taking(Direction::Read, |socket| socket.receive(space))
    }

    /// Reads what is there into several spaces, without waiting.
    ///
    /// # Errors
    ///
    /// As for [`try_read`](TcpStream::try_read).
    pub fn try_read_vectored(&self, spaces: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.inner
            .try_io_taking(Direction::Read, |socket| socket.receive_vectored(spaces))
    }

    /// Writes what there is room for, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is no room; else as for [`write`](TcpStream::write).
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.inner
            .try_io_taking(Direction::Write, |socket| socket.send(bytes))
    }

    /// Writes from several buffers what there is room for, without waiting.
    ///
    /// # Errors
    ///
    /// As for [`try_write`](TcpStream::try_write).
    pub fn try_write_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.inner
            .try_io_taking(Direction::Write, |socket| socket.send_vectored(buffers))
    }

    /// Waits until a read may succeed. It may still say `WouldBlock`, and does if none was tried
    /// since data came last; so it is followed by [`try_read`](TcpStream::try_read), in a loop.
    ///
    /// # Errors
    ///
    /// What the system says when the socket is registered with the reactor.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when it is dropped.
    pub fn readable(&self) -> impl Future<Output = io::Result<()>> {
        self.inner.readable()
    }

    /// Waits until a write may succeed; else as [`readable`](TcpStream::readable).
    ///
    /// # Errors
    ///
    /// As for [`readable`](TcpStream::readable).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when it is dropped.
    pub fn writable(&self) -> impl Future<Output = io::Result<()>> {
        self.inner.writable()
    }

    /// Runs an operation of your own on the socket, once, and takes note if it would block, so that
    /// [`readable`](TcpStream::readable) and [`writable`](TcpStream::writable) wait afterwards.
    ///
    /// # Errors
    ///
    /// What the operation says.
    pub fn try_io<R>(
        &self,
        direction: Direction,
        operation: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        self.inner.try_io(direction, |_| operation())
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

impl AsRef<TcpStream> for TcpStream {
    fn as_ref(&self) -> &TcpStream {
        self
    }
}
