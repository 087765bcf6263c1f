//! A TCP socket that waits for connections; how it accepts them is in the folder `accept`.

use super::builder::TcpSocket;
use super::stream::TcpStream;
use crate::accept::{Listening, Queue, accepting_methods};
use crate::address::{self, ToAddresses};
use crate::options::socket_options;
use crate::{resolve, system};
use rustix::io::Errno;
use socket2::SockRef;
use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many connections wait to be accepted at the most; the system may have a lower limit.
pub(super) const BACKLOG: i32 = 4096;

/// A TCP socket that accepts connections.
///
/// Any number of tasks may accept at once.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::{TcpListener, TcpStream};
///
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
/// let (_server, address) = listener.accept().await?;
/// assert_eq!(address, client.local_addr()?);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct TcpListener {
    queue: Queue<ListeningSocket>,
}

/// A listening socket that doesn't block.
#[derive(Debug)]
pub struct ListeningSocket {
    listener: std::net::TcpListener,
    /// Somebody else has, or had, the descriptor, and may have set options that accepted sockets
    /// inherit; as for a stream. All descriptors of the socket share this.
    handed_out: Arc<AtomicBool>,
}

impl ListeningSocket {
    fn hand_out(&self) {
        self.handed_out.store(true, Ordering::Relaxed);
    }

    fn was_handed_out(&self) -> bool {
        self.handed_out.load(Ordering::Relaxed)
    }
}

impl AsFd for ListeningSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Listening for ListeningSocket {
    type Accepted = (TcpStream, SocketAddr);

    fn accept_one(&self) -> Result<Option<Self::Accepted>, Errno> {
        let (accepted, address) = system::accept(self.as_fd())?;
        // Options that change what a read means are inherited.
        let stream = TcpStream::from_nonblocking(accepted, self.was_handed_out());
        // Of a peer that is gone already, some systems don't know the address.
        Ok(address.map(|address| (stream, address)))
    }
}

socket_options!(TcpListener);
accepting_methods!(
    TcpListener,
    TcpStream,
    SocketAddr,
    "let listener = windlass_net::TcpListener::bind(\"127.0.0.1:8080\").await?;"
);

impl TcpListener {
    /// Binds a socket to `address` and listens; if there are several addresses, to the first that
    /// is free. Port 0 has the system choose one.
    ///
    /// An address on which connections of an earlier listener are still being closed counts as
    /// free (`SO_REUSEADDR`). Whether `[::]` takes IPv4 connections, too, is left to the system.
    ///
    /// # Errors
    ///
    /// A [`BindError`], of the kind that the system says of the last address: most often
    /// `AddrInUse`, `AddrNotAvailable` or `PermissionDenied`. `InvalidInput` if there is no
    /// address, or if the text given for one is none; a [`LookupError`](crate::LookupError) if a
    /// name can't be looked up.
    ///
    /// # Cancel safety
    ///
    /// Nothing is left bound when it is dropped.
    pub async fn bind(address: impl ToAddresses) -> io::Result<Self> {
        let addresses = resolve::addresses(address).await?;
        let mut last_error = None;
        for address in addresses.as_slice() {
            match listen_on(*address) {
                Ok(listener) => return Ok(listener),
                Err(error) => last_error = Some(error),
            }
        }
        Err(last_error.unwrap_or_else(address::no_address))
    }

    /// Takes a listener of the standard library and has it not block, which all duplicates of it
    /// share.
    ///
    /// As others may have set whatever options on it, which accepted streams inherit, each of their
    /// reads that comes before a wait costs one system call more.
    ///
    /// # Errors
    ///
    /// What the system says when asked not to block.
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self::from_nonblocking(listener, true))
    }

    pub(super) fn from_nonblocking(listener: std::net::TcpListener, handed_out: bool) -> Self {
        Self::from_socket(ListeningSocket {
            listener,
            handed_out: Arc::new(AtomicBool::new(handed_out)),
        })
    }

    fn from_socket(socket: ListeningSocket) -> Self {
        Self {
            queue: Queue::from_nonblocking(socket),
        }
    }

    /// Gives back a listener of the standard library, which still doesn't block:
    /// `set_nonblocking(false)` changes that.
    ///
    /// # Errors
    ///
    /// None today; the signature leaves room for systems on which there is one.
    pub fn into_std(self) -> io::Result<std::net::TcpListener> {
        let socket = self.queue.into_socket();
        socket.hand_out();
        Ok(socket.listener)
    }

    /// Makes another descriptor for the same socket.
    pub(super) fn duplicate(&self) -> io::Result<Self> {
        Ok(Self::from_socket(ListeningSocket {
            listener: self.socket().try_clone()?,
            handed_out: self.queue.socket().handed_out.clone(),
        }))
    }

    fn option_socket(&self) -> SockRef<'_> {
        SockRef::from(self.socket())
    }

    fn socket(&self) -> &std::net::TcpListener {
        &self.queue.socket().listener
    }

    /// Returns the address it listens on, with the port that the system has chosen.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket().local_addr()
    }

    /// Takes the error that is pending on the socket (`SO_ERROR`).
    ///
    /// # Errors
    ///
    /// What the system says when asked.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket().take_error()
    }
}

pub(super) fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    // Whichever step fails, the error says what for.
    let listen = || {
        let socket = TcpSocket::for_address(address)?;
        socket.set_reuse_address(true)?;
        socket.try_bind(address)?;
        socket.listen_by_default()
    };
    listen().map_err(|error| BindError::wrap(address, error))
}

/// Lends the descriptor, for what this type doesn't offer; what that costs the accepted streams is
/// said at [`TcpListener::from_std`].
impl AsFd for TcpListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        let socket = self.queue.socket();
        socket.hand_out();
        socket.as_fd()
    }
}

/// As for [`AsFd`].
impl AsRawFd for TcpListener {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl TryFrom<std::net::TcpListener> for TcpListener {
    type Error = io::Error;

    fn try_from(listener: std::net::TcpListener) -> io::Result<Self> {
        Self::from_std(listener)
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.socket(), f)
    }
}

/// Why a listener can't have an address; inside the [`io::Error`] that is returned, which is of the
/// same kind as the system's.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::{BindError, TcpListener};
///
/// let first = TcpListener::bind("127.0.0.1:0").await?;
/// let error = TcpListener::bind(first.local_addr()?).await.unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
/// let error = error.get_ref().unwrap().downcast_ref::<BindError>().unwrap();
/// assert_eq!(error.address(), first.local_addr()?);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct BindError {
    address: SocketAddr,
    cause: io::Error,
}

impl BindError {
    pub(crate) fn wrap(address: SocketAddr, cause: io::Error) -> io::Error {
        io::Error::new(cause.kind(), Self { address, cause })
    }

    /// Returns the address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, cause } = self;
        write!(f, "cannot listen on {address}: {cause}")?;
        f.write_str(match cause.kind() {
            io::ErrorKind::AddrInUse => {
                "; choose another port, or 0 to have a free one chosen, or end what listens there"
            }
            io::ErrorKind::AddrNotAvailable => {
                "; give an address of this machine, or 0.0.0.0 or [::] for all of them"
            }
            io::ErrorKind::PermissionDenied => {
                "; a port below 1024 may need a privilege, so choose a higher one"
            }
            _ => "",
        })
    }
}

impl Error for BindError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::listen_on;
    use std::os::fd::AsFd;

    /// Options that are set through one descriptor of a socket are inherited by the streams of all.
    #[test]
    fn what_one_duplicate_has_handed_out_all_know() {
        let listener = listen_on("127.0.0.1:0".parse().unwrap()).unwrap();
        let duplicates = [(); 2].map(|()| listener.duplicate().unwrap());
        assert!(!duplicates[1].queue.socket().was_handed_out());
        let _lent = duplicates[0].as_fd();
        assert!(duplicates[1].queue.socket().was_handed_out());
        let other = listen_on("127.0.0.1:0".parse().unwrap()).unwrap();
        let duplicate = other.duplicate().unwrap();
        drop(other.into_std().unwrap());
        assert!(duplicate.queue.socket().was_handed_out());
    }
}
