//! A UDP socket: making it, and the addresses of its ends.

use super::kept::Socket;
use crate::address::{self, ToAddresses};
use crate::{BindError, ConnectError, resolve, system};
use socket2::{Domain, SockRef};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use windlass_reactor::Async;

/// A UDP socket.
///
/// It may be connected to a peer, which then is the only one it hears of, or not, and then each
/// datagram has an address. All methods take `&self`, so that one task may send while another
/// receives, through a reference or an `Arc`. Any number of tasks may wait at once; which of several
/// gets a datagram is left to chance.
///
/// Datagrams come whole or not at all, perhaps twice, and in any order. What didn't fit into the
/// space that was given is lost, which [`Received::truncated`](crate::Received::truncated) tells.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::UdpSocket;
///
/// let server = UdpSocket::bind("127.0.0.1:0").await?;
/// let client = UdpSocket::bind("127.0.0.1:0").await?;
/// client.connect(server.local_addr()?).await?;
/// client.send(b"ping").await?;
///
/// let mut space = [0; 1500];
/// let (received, from) = server.recv_from(&mut space).await?;
/// assert_eq!(&space[..received.length], b"ping");
/// server.send_to(b"pong", from).await?;
/// assert_eq!(client.recv(&mut space).await?.length, 4);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// What has to be set before it has an address is set on one made by
/// [`new_v4`](UdpSocket::new_v4), [`new_v6`](UdpSocket::new_v6) or
/// [`for_address`](UdpSocket::for_address):
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::UdpSocket;
///
/// let socket = UdpSocket::new_v4()?;
/// socket.set_reuse_address(true)?;
/// socket.bind_to("127.0.0.1:0".parse().unwrap())?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct UdpSocket {
    pub(super) inner: Async<Socket>,
}

impl UdpSocket {
    /// Makes a socket with an address of this machine; if there are several addresses, with the
    /// first that is free. Port 0 has the system choose one.
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
            match Self::bound(*address) {
                Ok(socket) => return Ok(socket),
                Err(error) => last_error = Some(error),
            }
        }
        Err(last_error.unwrap_or_else(address::no_address))
    }

    fn bound(address: SocketAddr) -> io::Result<Self> {
        let socket = Self::for_address(address).map_err(|error| BindError::wrap(address, error))?;
        socket.bind_to(address)?;
        Ok(socket)
    }

    /// Makes a socket for IPv4 that has no address yet: it is given one by
    /// [`bind_to`](UdpSocket::bind_to), or by the system when it is connected or first sends.
    ///
    /// # Errors
    ///
    /// What the system says: most often that there are too many open files.
    pub fn new_v4() -> io::Result<Self> {
        Self::of_family(Domain::IPV4)
    }

    /// Makes a socket for IPv6 that has no address yet; unless
    /// [`set_only_v6`](UdpSocket::set_only_v6) says otherwise, on most systems for IPv4 as well.
    /// Else as [`new_v4`](UdpSocket::new_v4).
    ///
    /// # Errors
    ///
    /// As for [`new_v4`](UdpSocket::new_v4); or that there is no IPv6.
    pub fn new_v6() -> io::Result<Self> {
        Self::of_family(Domain::IPV6)
    }

    /// Makes a socket without an address, of the family that `address` is of.
    ///
    /// # Errors
    ///
    /// As for [`new_v4`](UdpSocket::new_v4) and [`new_v6`](UdpSocket::new_v6).
    pub fn for_address(address: SocketAddr) -> io::Result<Self> {
        Self::of_family(Domain::for_address(address))
    }

    fn of_family(domain: Domain) -> io::Result<Self> {
        let socket = OwnedFd::from(system::udp_socket(domain)?);
        Ok(Self {
            inner: Async::from_nonblocking(Socket::new(socket.into())),
        })
    }

    /// Gives a socket that has none an address of this machine; port 0 has the system choose one.
    ///
    /// # Errors
    ///
    /// A [`BindError`], of the kind that the system says: `InvalidInput` if it has an address.
    pub fn bind_to(&self, address: SocketAddr) -> io::Result<()> {
        self.option_socket()
            .bind(&address.into())
            .map_err(|error| BindError::wrap(address, error))
    }

    /// Has the socket send to one peer and hear of no other; if there are several addresses, the
    /// first to which there is a way. It may be done again, with another peer.
    ///
    /// Nothing is sent by this: whether anybody is there, shows later, when sending or receiving
    /// says `ConnectionRefused`. Datagrams of others that came before are received all the same.
    ///
    /// # Errors
    ///
    /// What the system says of the address, in a [`ConnectError`] if there are several;
    /// `InvalidInput` and [`LookupError`](crate::LookupError) as for [`bind`](UdpSocket::bind).
    ///
    /// # Cancel safety
    ///
    /// The socket is as it was before when it is dropped.
    pub async fn connect(&self, address: impl ToAddresses) -> io::Result<()> {
        let addresses = resolve::addresses(address).await?;
        let mut failures = Vec::new();
        for address in addresses.as_slice() {
            match system::retry(|| self.socket().connect(address)) {
                Ok(()) => return Ok(()),
                Err(error) => failures.push((*address, error)),
            }
        }
        if failures.is_empty() {
            return Err(address::no_address());
        }
        Err(ConnectError::wrap(failures))
    }

    /// Takes a socket of the standard library and has it not block, which all duplicates of it
    /// share.
    ///
    /// # Errors
    ///
    /// What the system says when asked not to block.
    pub fn from_std(socket: std::net::UdpSocket) -> io::Result<Self> {
        let inner = Async::new(Socket::new(socket))?;
        Ok(Self { inner })
    }

    /// Gives back a socket of the standard library, which still doesn't block:
    /// `set_nonblocking(false)` changes that.
    ///
    /// # Errors
    ///
    /// None today; the signature leaves room for systems on which there is one.
    pub fn into_std(self) -> io::Result<std::net::UdpSocket> {
        Ok(self.inner.into_inner().into_inner())
    }

    pub(super) fn socket(&self) -> &std::net::UdpSocket {
        self.inner.get_ref().get_ref()
    }

    pub(super) fn option_socket(&self) -> SockRef<'_> {
        SockRef::from(self.socket())
    }

    /// Returns the address of this end, with the port that the system has chosen.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket().local_addr()
    }

    /// Returns the address of the peer.
    ///
    /// # Errors
    ///
    /// `NotConnected` if it isn't connected; else what the system says.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket().peer_addr()
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

/// Lends the descriptor, for what this type doesn't offer.
impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }
}

/// As for [`AsFd`].
impl AsRawFd for UdpSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket().as_raw_fd()
    }
}

impl TryFrom<std::net::UdpSocket> for UdpSocket {
    type Error = io::Error;

    fn try_from(socket: std::net::UdpSocket) -> io::Result<Self> {
        Self::from_std(socket)
    }
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.socket(), f)
    }
}
