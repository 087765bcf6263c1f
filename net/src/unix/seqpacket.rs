//! Connections between Unix sockets that keep records apart (`SOCK_SEQPACKET`).

use super::file::SocketFile;
use super::listener::{Connected, ListeningOf};
use super::methods::{listener_methods, names, peer_methods};
use super::passing::passing_methods;
use super::system::{self, Kind};
use super::transfer::message_methods;
use super::{UnixAddr, connect, message};
use crate::accept::{Queue, accepting_methods};
use rustix::net::RecvFlags;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll};
use windlass_reactor::{Async, Direction};

/// A connection between two Unix sockets that keeps records apart: what one call sends, one call
/// receives (`SOCK_SEQPACKET`). Linux and the BSDs have it.
///
/// All methods take `&self`, so that one task may send while another receives. Dropping it closes
/// the connection, and the peer receives what was sent, and then the end: a record of no bytes.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::UnixSeqpacket;
///
/// let (one, other) = UnixSeqpacket::pair()?;
/// one.send(b"first").await?;
/// one.send(b"second").await?;
/// drop(one);
///
/// let mut space = [0; 64];
/// assert_eq!(other.recv(&mut space).await?.length, 5);
/// assert_eq!(other.recv(&mut space).await?.length, 6);
/// assert_eq!(other.recv(&mut space).await?.length, 0);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct UnixSeqpacket {
    inner: Async<OwnedFd>,
}

message_methods!(
    UnixSeqpacket,
    message::record::send,
    "# let (one, other) = windlass_net::UnixSeqpacket::pair()?;",
    "Receives a record into `space`, waiting until one comes; says how long it is, and whether \
     some of it didn't fit and is lost. A length of 0 is the end.",
    "Sends `bytes` as one record, waiting while there is no room; returns how many bytes went, \
     which is all of them. It may not be empty (`InvalidInput`), as that is how the end reads."
);
passing_methods!(
    UnixSeqpacket,
    "# let (one, other) = windlass_net::UnixSeqpacket::pair()?;",
    message::record::send_fds,
    "They go as one record."
);
names!(UnixSeqpacket);
peer_methods!(UnixSeqpacket);

impl UnixSeqpacket {
    /// Connects to the socket that listens under a name; as
    /// [`UnixStream::connect`](crate::UnixStream::connect).
    ///
    /// # Errors
    ///
    /// As for [`UnixStream::connect`](crate::UnixStream::connect); `Unsupported` where the system
    /// has no such sockets.
    ///
    /// # Cancel safety
    ///
    /// When it is dropped before it is done, the connection isn't made.
    pub async fn connect(address: impl Into<UnixAddr>) -> io::Result<Self> {
        let made = Self::from_nonblocking(system::socket(Kind::Records)?);
        connect::connect(&made.inner, &address.into()).await?;
        Ok(made)
    }

    /// Makes two ends that are connected to each other.
    ///
    /// # Errors
    ///
    /// `Unsupported` where the system has no such sockets; else what it says.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = system::pair(Kind::Records)?;
        Ok((Self::from_nonblocking(one), Self::from_nonblocking(other)))
    }

    fn from_nonblocking(socket: OwnedFd) -> Self {
        let inner = Async::from_nonblocking(socket);
        Self { inner }
    }

    /// Takes a socket of this kind and has it not block, which all duplicates of it share.
    ///
    /// # Errors
    ///
    /// What the system says when asked not to block.
    pub fn from_fd(socket: OwnedFd) -> io::Result<Self> {
        let inner = Async::new(socket)?;
        Ok(Self { inner })
    }

    /// Gives back the socket, which still doesn't block.
    pub fn into_fd(self) -> OwnedFd {
        self.inner.into_inner()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl Connected for UnixSeqpacket {
    fn from_accepted(socket: OwnedFd) -> Self {
        Self::from_nonblocking(socket)
    }
}

type ListeningSocket = ListeningOf<UnixSeqpacket>;

/// A Unix socket that accepts connections that keep records apart; else as
/// [`UnixListener`](crate::UnixListener).
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::{UnixSeqpacket, UnixSeqpacketListener};
///
/// # let folder = std::env::temp_dir().join(format!("windlass-doc-records-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("service");
/// let mut listener = UnixSeqpacketListener::bind(&path)?;
/// listener.remove_file_on_drop()?;
/// let client = UnixSeqpacket::connect(&path).await?;
/// let (server, _address) = listener.accept().await?;
/// client.send(b"request").await?;
/// assert_eq!(server.recv(&mut [0; 64]).await?.length, 7);
/// # drop(listener);
/// # std::fs::remove_dir(&folder)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct UnixSeqpacketListener {
    /// Comes first: the file goes before the socket.
    file: Option<SocketFile>,
    queue: Queue<ListeningSocket>,
}

accepting_methods!(
    UnixSeqpacketListener,
    UnixSeqpacket,
    UnixAddr,
    "let listener = windlass_net::UnixSeqpacketListener::bind(\"/run/example\")?;"
);
listener_methods!(UnixSeqpacketListener, Kind::Records);
names!(UnixSeqpacketListener);

impl UnixSeqpacketListener {
    /// Takes a listening socket of this kind and has it not block, which all duplicates of it
    /// share.
    ///
    /// # Errors
    ///
    /// What the system says when asked not to block.
    pub fn from_fd(socket: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(Self {
            file: None,
            queue: Queue::from_nonblocking(ListeningOf::new(socket)),
        })
    }

    /// Gives back the socket, which still doesn't block. Its file isn't removed.
    pub fn into_fd(self) -> OwnedFd {
        SocketFile::keep(self.file);
        self.queue.into_socket().socket
    }
}
