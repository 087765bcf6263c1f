//! What can be asked of a stream, set on it and ended without waiting; and its descriptor.

use super::stream::TcpStream;
use crate::options::{connection_options, socket_options};
use socket2::SockRef;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

socket_options!(TcpStream);
connection_options!(TcpStream);

impl TcpStream {
    pub(super) fn option_socket(&self) -> SockRef<'_> {
        SockRef::from(self.socket())
    }

    /// Closes the connection by a reset, whatever is still to be sent: the peer reads
    /// `ConnectionReset`, so that it doesn't take what has come for all there is.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// # use windlass_net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// # let client = TcpStream::connect(listener.local_addr()?).await?;
    /// # let (server, _) = listener.accept().await?;
    /// server.write_all(b"half of an ans").await?;
    /// server.reset()?;
    /// let mut space = [0; 64];
    /// let error = client.read_exact(&mut space).await.unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// What the system says; the connection is closed all the same.
    pub fn reset(self) -> io::Result<()> {
        self.set_linger(Some(Duration::ZERO))
    }

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
