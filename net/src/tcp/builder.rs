//! A TCP socket before it is a connection or a listener: for what has to be set by then.

use super::connect::Connecting;
use super::listener::{BACKLOG, BindError, TcpListener};
use super::stream::TcpStream;
use crate::options::{common, connection_options, socket_options, table};
use crate::system;
use socket2::{Domain, SockRef, Socket};
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use windlass_reactor::sys::tcp::FastOpen;

/// A TCP socket that is neither connected nor listens yet.
///
/// It is for options that have to be set before, and for connecting from an address of one's
/// choice. What is set of a connection's options before [`listen`](TcpSocket::listen), accepted
/// streams inherit on most systems, Linux among them. An option that this system lacks is an error
/// of the kind `Unsupported` that names it.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::TcpSocket;
///
/// let socket = TcpSocket::new_v4()?;
/// socket.set_reuse_address(true)?;
/// socket.set_receive_buffer_size(1 << 20)?;
/// socket.bind("127.0.0.1:0".parse().unwrap())?;
/// let listener = socket.listen(1024)?;
///
/// let socket = TcpSocket::new_v4()?;
/// socket.set_nodelay(true)?;
/// let stream = socket.connect(listener.local_addr()?).await?;
/// assert!(stream.nodelay()?);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct TcpSocket {
    socket: Socket,
    /// As for a stream, which takes it over.
    handed_out: AtomicBool,
}

socket_options!(TcpSocket);
connection_options!(TcpSocket);

impl TcpSocket {
    /// Makes a socket for IPv4.
    ///
    /// # Errors
    ///
    /// What the system says: most often that there are too many open files.
    pub fn new_v4() -> io::Result<Self> {
        Self::of_family(Domain::IPV4)
    }

    /// Makes a socket for IPv6, and unless [`set_only_v6`](TcpSocket::set_only_v6) says otherwise,
    /// on most systems for IPv4 as well.
    ///
    /// # Errors
    ///
    /// As for [`new_v4`](TcpSocket::new_v4); or that there is no IPv6.
    pub fn new_v6() -> io::Result<Self> {
        Self::of_family(Domain::IPV6)
    }

    /// Makes a socket of the family that `address` is of.
    ///
    /// # Errors
    ///
    /// As for [`new_v4`](TcpSocket::new_v4) and [`new_v6`](TcpSocket::new_v6).
    pub fn for_address(address: SocketAddr) -> io::Result<Self> {
        Self::of_family(Domain::for_address(address))
    }

    fn of_family(domain: Domain) -> io::Result<Self> {
        Ok(Self {
            socket: system::tcp_socket(domain)?,
            handed_out: AtomicBool::new(false),
        })
    }

    /// Gives it an address of this machine; port 0 has the system choose one.
    ///
    /// # Errors
    ///
    /// A [`BindError`], of the kind that the system says.
    pub fn bind(&self, address: SocketAddr) -> io::Result<()> {
        self.try_bind(address)
            .map_err(|error| BindError::wrap(address, error))
    }

    /// As [`bind`](TcpSocket::bind), for a caller who says by himself what failed.
    pub(super) fn try_bind(&self, address: SocketAddr) -> io::Result<()> {
        self.socket.bind(&address.into())
    }

    /// Returns the address it was bound to; before, one that says nothing.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address = self.socket.local_addr()?;
        // It is a socket of ours, so that it is of one of the two families.
        Ok(address.as_socket().expect("a TCP socket has an IP address"))
    }

    /// Connects to `address`.
    ///
    /// # Errors
    ///
    /// What the system says, unchanged.
    ///
    /// # Cancel safety
    ///
    /// Dropping it gives the connection up.
    pub fn connect(self, address: SocketAddr) -> impl Future<Output = io::Result<TcpStream>> {
        Connecting::new(self, address)
    }

    /// Takes connections; up to `backlog` of them wait to be accepted, if the system allows so
    /// many.
    ///
    /// # Errors
    ///
    /// What the system says: `AddrInUse` if somebody else listens there.
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
        self.socket.listen(backlog)?;
        Ok(self.into_listener())
    }

    /// As [`listen`](TcpSocket::listen), with as many waiting as the listeners of this crate have
    /// if nothing is said.
    pub(super) fn listen_by_default(self) -> io::Result<TcpListener> {
        self.socket.listen(BACKLOG)?;
        Ok(self.into_listener())
    }

    fn into_listener(self) -> TcpListener {
        let handed_out = self.handed_out.into_inner();
        TcpListener::from_nonblocking(self.socket.into(), handed_out)
    }

    pub(super) fn into_stream(self) -> TcpStream {
        TcpStream::from_nonblocking(self.socket.into(), self.handed_out.into_inner())
    }

    fn option_socket(&self) -> SockRef<'_> {
        SockRef::from(&self.socket)
    }

    /// Says whether the address may be that of connections that are being closed
    /// (`SO_REUSEADDR`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn reuse_address(&self) -> io::Result<bool> {
        self.socket.reuse_address()
    }

    /// Allows for the address to be that of connections of an earlier listener that are being
    /// closed (`SO_REUSEADDR`); set before it is bound.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_reuse_address(&self, reused: bool) -> io::Result<()> {
        self.socket.set_reuse_address(reused)
    }

    /// Says whether several sockets may have the address (`SO_REUSEPORT`).
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system has no such option; else what it says.
    pub fn reuse_port(&self) -> io::Result<bool> {
        table::reuse_port(&self.option_socket())
    }

    /// Allows for other sockets of the same user to have the address, too, if all say so
    /// (`SO_REUSEPORT`); set before it is bound. What they then share differs between systems; see
    /// [`bind_sharded`](TcpListener::bind_sharded) for listeners that share connections.
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system has no such option; else what it says.
    pub fn set_reuse_port(&self, shared: bool) -> io::Result<()> {
        table::set_reuse_port(&self.option_socket(), shared)
    }

    /// As [`set_reuse_port`](TcpSocket::set_reuse_port), where connections are shared evenly.
    pub(super) fn share_port_evenly(&self) -> io::Result<()> {
        table::set_balanced_port(&self.option_socket())
    }

    /// Says whether an IPv6 socket is for IPv6 only (`IPV6_V6ONLY`).
    ///
    /// # Errors
    ///
    /// What the system says, of an IPv4 socket among others.
    pub fn only_v6(&self) -> io::Result<bool> {
        self.socket.only_v6()
    }

    /// Has an IPv6 socket be for IPv6 only, or for IPv4 as well (`IPV6_V6ONLY`); set before it is
    /// bound. What holds if nothing is said is left to the system.
    ///
    /// # Errors
    ///
    /// What the system says: of an IPv4 socket, or where IPv4 can't be had as well.
    pub fn set_only_v6(&self, only: bool) -> io::Result<()> {
        self.socket.set_only_v6(only)
    }

    /// Binds it to the network device of that name, or to none (`SO_BINDTODEVICE`).
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system has no such option, `PermissionDenied` without the capability
    /// that Linux asks for when it was bound already; else what the system says.
    pub fn bind_device(&self, name: Option<&str>) -> io::Result<()> {
        table::bind_device(&self.option_socket(), name)
    }

    /// Says how many fast opened connections may be unconfirmed; see
    /// [`set_fast_open_backlog`](TcpSocket::set_fast_open_backlog).
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system has no such option; else what it says.
    pub fn fast_open_backlog(&self) -> io::Result<u32> {
        common::fast_open(&self.socket, FastOpen::Listen)
    }

    /// Has a listener take data with the first packet of peers it has seen before, for up to
    /// `count` connections that are not confirmed yet; 0 is none (`TCP_FASTOPEN`, RFC 7413). The
    /// system has to allow it, too: on Linux bit 1 of `net.ipv4.tcp_fastopen`.
    ///
    /// Such a request may come twice: it has to be one that does no harm then.
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system has no such option; else what it says.
    pub fn set_fast_open_backlog(&self, count: u32) -> io::Result<()> {
        common::set_fast_open(self.socket.as_fd(), FastOpen::Listen, count)
    }

    /// Says whether it connects with data in the first packet; see
    /// [`set_fast_open_connect`](TcpSocket::set_fast_open_connect).
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system has no such option; else what it says.
    pub fn fast_open_connect(&self) -> io::Result<bool> {
        Ok(common::fast_open(&self.socket, FastOpen::Connect)? != 0)
    }

    /// Has it connect to a peer that allowed this before only with the first write, whose data go
    /// in the first packet (`TCP_FASTOPEN_CONNECT`, RFC 7413).
    ///
    /// Connecting is done at once then, an error is told by the first operation, and nothing can be
    /// read before something was written.
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system has no such option; else what it says.
    pub fn set_fast_open_connect(&self, fast: bool) -> io::Result<()> {
        common::set_fast_open(self.socket.as_fd(), FastOpen::Connect, u32::from(fast))
    }
}

/// Lends the descriptor, for what this type doesn't offer; what that costs the stream, or those
/// that are accepted, is said at [`TcpStream::from_std`].
impl AsFd for TcpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handed_out.store(true, Ordering::Relaxed);
        self.socket.as_fd()
    }
}

/// As for [`AsFd`].
impl AsRawFd for TcpSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl fmt::Debug for TcpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TcpSocket").field(&self.socket).finish()
    }
}
