//! Unix sockets for datagrams.

use super::file::SocketFile;
use super::listener::bound;
use super::methods::{file_method, names, peer_methods};
use super::passing::passing_methods;
use super::pause::Pause;
use super::system::{self, Kind};
use super::transfer::message_methods;
use super::{UnixAddr, connect, message};
use crate::Received;
use parking_lot::Mutex;
use rustix::net::RecvFlags;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use windlass_reactor::time::{Sleep, sleep};
use windlass_reactor::{Async, Direction};

/// How long `poll_send_to` waits for room that it isn't told of.
const POLLED_PAUSE: Duration = Duration::from_millis(10);

/// A Unix socket for datagrams.
///
/// It may be connected to a peer or not, and it may have a name or not: without one nobody can
/// answer. All methods take `&self`, so that one task may send while another receives. Datagrams
/// are not lost and come in order; who sends waits while the receiver's queue is full.
///
/// For the file of a path, see [`UnixListener`](crate::UnixListener).
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::UnixDatagram;
///
/// # let folder = std::env::temp_dir().join(format!("windlass-doc-datagram-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("log");
/// let mut log = UnixDatagram::bind(&path)?;
/// log.remove_file_on_drop()?;
/// let program = UnixDatagram::unbound()?;
/// program.send_to(b"started", &path).await?;
///
/// let mut space = [0; 1024];
/// let (received, from) = log.recv_from(&mut space).await?;
/// assert_eq!(&space[..received.length], b"started");
/// assert!(from.is_unnamed());
/// # drop(log);
/// # std::fs::remove_dir(&folder)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct UnixDatagram {
    /// Comes first: the file goes before the socket.
    file: Option<SocketFile>,
    inner: Async<OwnedFd>,
    /// The pause of those who call `poll_send_to`.
    polled_sleep: Mutex<Option<Sleep>>,
}

message_methods!(
    UnixDatagram,
    message::datagram::send,
    "# let (one, other) = windlass_net::UnixDatagram::pair()?;",
    "Receives a datagram into `space`, waiting until one comes; says how long it is, and whether \
     some of it didn't fit and is lost.",
    "Sends `bytes` as one datagram to the peer, waiting while there is no room; returns how many \
     bytes went, which is all of them. It may be empty."
);
passing_methods!(
    UnixDatagram,
    "# let (one, other) = windlass_net::UnixDatagram::pair()?;",
    message::datagram::send_fds,
    "They go as one datagram to the peer."
);
names!(UnixDatagram);
file_method!(UnixDatagram);
peer_methods!(UnixDatagram);

impl UnixDatagram {
    /// Makes a socket that has a name.
    ///
    /// # Errors
    ///
    /// As for [`UnixListener::bind`](crate::UnixListener::bind).
    pub fn bind(address: impl Into<UnixAddr>) -> io::Result<Self> {
        bound(Kind::Datagram, &address.into()).map(Self::from_nonblocking)
    }

    /// Makes a socket without a name: it can send, but nobody can answer.
    ///
    /// # Errors
    ///
    /// What the system says: most often that there are too many open files.
    pub fn unbound() -> io::Result<Self> {
        system::socket(Kind::Datagram).map(Self::from_nonblocking)
    }

    /// Makes two sockets that are connected to each other.
    ///
    /// # Errors
    ///
    /// As for [`unbound`](UnixDatagram::unbound).
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = system::pair(Kind::Datagram)?;
        Ok((Self::from_nonblocking(one), Self::from_nonblocking(other)))
    }

    fn from_nonblocking(socket: OwnedFd) -> Self {
        Self {
            file: None,
            inner: Async::from_nonblocking(socket),
            polled_sleep: Mutex::default(),
        }
    }

    /// Has the socket send to one peer, and hear of no other. It may be done again, with another
    /// peer.
    ///
    /// # Errors
    ///
    /// A [`UnixAddrError`](crate::UnixAddrError), of the kind that the system says: most often
    /// `NotFound` or `ConnectionRefused`. `InvalidInput` if it is no name.
    ///
    /// # Cancel safety
    ///
    /// The socket is as it was before when it is dropped.
    pub async fn connect(&self, address: impl Into<UnixAddr>) -> io::Result<()> {
        connect::connect(&self.inner, &address.into()).await
    }

    /// As [`recv`](UnixDatagram::recv), and says who sent it.
    ///
    /// # Errors
    ///
    /// As for [`recv`](UnixDatagram::recv).
    ///
    /// # Cancel safety
    ///
    /// As for [`recv`](UnixDatagram::recv).
    pub fn recv_from(
        &self,
        space: &mut [u8],
    ) -> impl Future<Output = io::Result<(Received, UnixAddr)>> {
        self.inner.io_with(Direction::Read, move |socket| {
            message::receive_from(socket.as_fd(), space, RecvFlags::empty())
        })
    }

    /// As [`recv_from`](UnixDatagram::recv_from), but doesn't wait.
    ///
    /// # Errors
    ///
    /// As for [`try_recv`](UnixDatagram::try_recv).
    pub fn try_recv_from(&self, space: &mut [u8]) -> io::Result<(Received, UnixAddr)> {
        self.inner.try_io_taking(Direction::Read, |socket| {
            message::receive_from(socket.as_fd(), space, RecvFlags::empty())
        })
    }

    /// As [`recv_from`](UnixDatagram::recv_from); see [`poll_recv`](UnixDatagram::poll_recv).
    ///
    /// # Errors
    ///
    /// As for [`recv`](UnixDatagram::recv).
    pub fn poll_recv_from(
        &self,
        context: &mut Context<'_>,
        space: &mut [u8],
    ) -> Poll<io::Result<(Received, UnixAddr)>> {
        self.inner.poll_io_with(context, Direction::Read, |socket| {
            message::receive_from(socket.as_fd(), space, RecvFlags::empty())
        })
    }

    /// As [`peek`](UnixDatagram::peek), and says who sent it.
    ///
    /// # Errors
    ///
    /// As for [`recv`](UnixDatagram::recv).
    ///
    /// # Cancel safety
    ///
    /// Nothing is taken, whatever happens.
    pub fn peek_from(
        &self,
        space: &mut [u8],
    ) -> impl Future<Output = io::Result<(Received, UnixAddr)>> {
        self.inner.io_with(Direction::Read, move |socket| {
            message::receive_from(socket.as_fd(), space, RecvFlags::PEEK)
        })
    }

    /// Sends `bytes` as one datagram to the socket of that name; else as
    /// [`send`](UnixDatagram::send).
    ///
    /// The system doesn't tell when that socket has room again: while it has none, it is tried
    /// again after a pause of 1 ms at first and 50 ms later. To send much to one socket,
    /// [`connect`](UnixDatagram::connect) to it.
    ///
    /// # Errors
    ///
    /// What the system says: `NotFound` or `ConnectionRefused` if nobody has that name, and
    /// `PermissionDenied` if the socket is another's peer; some systems refuse any name when this
    /// socket is connected, and say `ENOBUFS` when there is no room.
    ///
    /// # Cancel safety
    ///
    /// Nothing is sent by a future that is dropped before it is done.
    pub async fn send_to(&self, bytes: &[u8], address: impl Into<UnixAddr>) -> io::Result<usize> {
        let name = address.into().to_system()?;
        let mut pause = Pause::default();
        loop {
            let attempt = |socket: &OwnedFd| message::send_to(socket.as_fd(), bytes, &name);
            match self.inner.io_with(Direction::Write, attempt).await? {
                Some(count) => return Ok(count),
                None => pause.wait().await,
            }
        }
    }

    /// As [`send_to`](UnixDatagram::send_to), for those who write futures by hand; while the other
    /// socket has no room, it is tried again every 10 ms. See [`poll_send`](UnixDatagram::poll_send).
    ///
    /// # Errors
    ///
    /// As for [`send_to`](UnixDatagram::send_to).
    pub fn poll_send_to(
        &self,
        context: &mut Context<'_>,
        bytes: &[u8],
        address: &UnixAddr,
    ) -> Poll<io::Result<usize>> {
        let name = address.to_system()?;
        loop {
            ready!(self.poll_pause(context));
            let attempt = |socket: &OwnedFd| message::send_to(socket.as_fd(), bytes, &name);
            let sent = self.inner.poll_io_with(context, Direction::Write, attempt);
            if let Some(count) = ready!(sent)? {
                return Poll::Ready(Ok(count));
            }
            let replaced = self.polled_sleep.lock().replace(sleep(POLLED_PAUSE));
            drop(replaced);
        }
    }

    /// Waits until the pause is over, if there is one.
    fn poll_pause(&self, context: &mut Context<'_>) -> Poll<()> {
        // A waker is never cloned under our lock, so the sleep is taken out to be polled.
        let Some(mut sleep) = self.polled_sleep.lock().take() else {
            return Poll::Ready(());
        };
        if Pin::new(&mut sleep).poll(context).is_ready() {
            return Poll::Ready(());
        }
        let replaced = self.polled_sleep.lock().replace(sleep);
        drop(replaced);
        Poll::Pending
    }

    /// As [`send_to`](UnixDatagram::send_to), but doesn't wait.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is no room; else as for [`send_to`](UnixDatagram::send_to).
    pub fn try_send_to(&self, bytes: &[u8], address: impl Into<UnixAddr>) -> io::Result<usize> {
        let name = address.into().to_system()?;
        let sent = self.inner.try_io_taking(Direction::Write, |socket| {
            message::send_to(socket.as_fd(), bytes, &name)
        });
        sent?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    /// Takes a socket of the standard library and has it not block, which all duplicates of it
    /// share.
    ///
    /// # Errors
    ///
    /// What the system says when asked not to block.
    pub fn from_std(socket: std::os::unix::net::UnixDatagram) -> io::Result<Self> {
        let socket = OwnedFd::from(socket);
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(Self::from_nonblocking(socket))
    }

    /// Gives back a socket of the standard library, which still doesn't block:
    /// `set_nonblocking(false)` changes that. Its file isn't removed.
    ///
    /// # Errors
    ///
    /// None today; the signature leaves room for systems on which there is one.
    pub fn into_std(self) -> io::Result<std::os::unix::net::UnixDatagram> {
        SocketFile::keep(self.file);
        Ok(self.inner.into_inner().into())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl TryFrom<std::os::unix::net::UnixDatagram> for UnixDatagram {
    type Error = io::Error;

    fn try_from(socket: std::os::unix::net::UnixDatagram) -> io::Result<Self> {
        Self::from_std(socket)
    }
}
