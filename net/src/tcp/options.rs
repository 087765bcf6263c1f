//! What can be asked of a stream, set on it and ended without waiting; and its descriptor.

use super::stream::TcpStream;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

impl TcpStream {
    /// Ends one direction or both: after `Shutdown::Write` the peer reads the end once it has read
    /// what was written; after `Shutdown::Read` reads here say 0.
    ///
    /// It doesn't wait. A connection that the peer has reset is shut down already, which is no
    /// error, though some systems say so (`ENOTCONN`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self.socket().shutdown(how) {
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            done => done,
        }
    }

    /// Returns the address of this end.
    ///
    /// # Errors
    ///
    /// What the system says; some don't tell after a reset.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket().local_addr()
    }

    /// Returns the address of the other end.
    ///
    /// # Errors
    ///
    /// `NotConnected` once the connection is over; else what the system says.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket().peer_addr()
    }

    /// Says whether small writes are sent at once (`TCP_NODELAY`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.socket().nodelay()
    }

    /// Has small writes sent at once, not gathered while data are unacknowledged (`TCP_NODELAY`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.socket().set_nodelay(nodelay)
    }

    /// Returns how many routers a packet may pass (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn ttl(&self) -> io::Result<u32> {
        self.socket().ttl()
    }

    /// Sets how many routers a packet may pass (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.socket().set_ttl(ttl)
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
///
/// From then on each read that comes before a wait costs one system call more, since options set
/// through the descriptor may change what a short read means.
impl AsFd for TcpStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.get_ref().hand_out();
        self.socket().as_fd()
    }
}

/// As for [`AsFd`].
impl AsRawFd for TcpStream {
    fn as_raw_fd(&self) -> RawFd {
        self.inner.get_ref().hand_out();
        self.socket().as_raw_fd()
    }
}
