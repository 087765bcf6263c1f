//! A Unix socket that waits for connections; how it accepts them is in the folder `accept`.

use super::error::{Aim, UnixAddrError};
use super::file::SocketFile;
use super::methods::{listener_methods, names};
use super::system::{self, Kind};
use super::{UnixAddr, UnixStream, peer_addr};
use crate::accept::{Listening, Queue, accepting_methods};
use rustix::io::Errno;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How many connections wait to be accepted at the most; the system may have a lower limit.
const BACKLOG: i32 = 4096;

/// A listening socket that doesn't block, whose connections become a `T`.
#[derive(Debug)]
pub struct ListeningOf<T> {
    pub(super) socket: OwnedFd,
    becomes: PhantomData<fn() -> T>,
}

/// What connections become.
pub trait Connected {
    /// Takes a socket that doesn't block.
    fn from_accepted(socket: OwnedFd) -> Self;
}

impl<T> ListeningOf<T> {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            becomes: PhantomData,
        }
    }

    /// Makes a socket that has a name and listens.
    pub(super) fn bind(kind: Kind, address: &UnixAddr) -> io::Result<Self> {
        let socket = bound(kind, address)?;
        rustix::net::listen(&socket, BACKLOG)
            .map_err(|error| UnixAddrError::wrap(Aim::Bind, address, error.into()))?;
        Ok(Self::new(socket))
    }
}

/// Makes a socket that has a name.
pub(super) fn bound(kind: Kind, address: &UnixAddr) -> io::Result<OwnedFd> {
    let name = address.to_system()?;
    let named = |error| UnixAddrError::wrap(Aim::Bind, address, error);
    let socket = system::socket(kind).map_err(named)?;
    match rustix::net::bind(&socket, &name) {
        Ok(()) => Ok(socket),
        Err(error) => Err(named(error.into())),
    }
}

impl<T> AsFd for ListeningOf<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl<T: Connected> Listening for ListeningOf<T> {
    type Accepted = (T, UnixAddr);

    fn accept_one(&self) -> Result<Option<Self::Accepted>, Errno> {
        let (accepted, address) = crate::system::accept_any(self.as_fd())?;
        let address = match UnixAddr::from_system(address) {
            Some(address) => address,
            None => peer_addr(accepted.as_fd()).unwrap_or(UnixAddr::Unnamed),
        };
        Ok(Some((T::from_accepted(accepted), address)))
    }
}

impl Connected for UnixStream {
    fn from_accepted(socket: OwnedFd) -> Self {
        Self::from_nonblocking(socket)
    }
}

type ListeningSocket = ListeningOf<UnixStream>;

/// A Unix socket that accepts connections.
///
/// Any number of tasks may accept at once. The address of a peer most often is
/// [none](UnixAddr::Unnamed), since those who connect need no name.
///
/// A path that it has is made a file, which may not be there before, and which stays when it is
/// dropped, unless [`remove_file_on_drop`](UnixListener::remove_file_on_drop) says otherwise. Who
/// may connect is who may write to the file: which rights it gets, the process's umask says, so
/// that the surest is a folder that others may not enter. An abstract name needs no file, and
/// whoever knows it may connect.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::{UnixListener, UnixStream};
///
/// # let folder = std::env::temp_dir().join(format!("windlass-doc-listener-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("service");
/// let mut listener = UnixListener::bind(&path)?;
/// listener.remove_file_on_drop()?;
/// let _client = UnixStream::connect(&path).await?;
/// let (server, address) = listener.accept().await?;
/// assert!(address.is_unnamed());
/// println!("user {} has connected", server.peer_cred()?.uid);
/// # drop(listener);
/// # std::fs::remove_dir(&folder)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct UnixListener {
    /// Comes first: the file goes before the socket.
    file: Option<SocketFile>,
    queue: Queue<ListeningSocket>,
}

accepting_methods!(
    UnixListener,
    UnixStream,
    UnixAddr,
    "let listener = windlass_net::UnixListener::bind(\"/run/example\")?;"
);
listener_methods!(UnixListener, Kind::Stream);
names!(UnixListener);

impl UnixListener {
    /// Takes a listener of the standard library and has it not block, which all duplicates of it
    /// share.
    ///
    /// # Errors
    ///
    /// What the system says when asked not to block.
    pub fn from_std(listener: std::os::unix::net::UnixListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self {
            file: None,
            queue: Queue::from_nonblocking(ListeningOf::new(listener.into())),
        })
    }

    /// Gives back a listener of the standard library, which still doesn't block:
    /// `set_nonblocking(false)` changes that. Its file isn't removed.
    ///
    /// # Errors
    ///
    /// None today; the signature leaves room for systems on which there is one.
    pub fn into_std(self) -> io::Result<std::os::unix::net::UnixListener> {
        SocketFile::keep(self.file);
        Ok(self.queue.into_socket().socket.into())
    }
}

impl TryFrom<std::os::unix::net::UnixListener> for UnixListener {
    type Error = io::Error;

    fn try_from(listener: std::os::unix::net::UnixListener) -> io::Result<Self> {
        Self::from_std(listener)
    }
}
