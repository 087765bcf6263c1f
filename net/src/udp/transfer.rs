//! Sending and receiving datagrams, one at a time.

use super::attempt;
use super::{Received, UdpSocket};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use windlass_reactor::Direction;

impl UdpSocket {
    /// Receives a datagram into `space`, waiting until one comes; says how long it is, and whether
    /// some of it didn't fit and is lost.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// # use windlass_net::UdpSocket;
    /// # let server = UdpSocket::bind("127.0.0.1:0").await?;
    /// # let client = UdpSocket::bind("127.0.0.1:0").await?;
    /// client.send_to(b"too long", server.local_addr()?).await?;
    /// let mut space = [0; 3];
    /// let received = server.recv(&mut space).await?;
    /// assert_eq!(&space[..received.length], b"too");
    /// assert!(received.truncated);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// What the system says: of a connected socket `ConnectionRefused`, once, if nobody is where
    /// something was sent. The socket can be used on after that.
    ///
    /// # Cancel safety
    ///
    /// Nothing is received by a future that is dropped before it is done.
    pub fn recv(&self, space: &mut [u8]) -> impl Future<Output = io::Result<Received>> {
        self.inner.io_with(Direction::Read, move |socket| {
            attempt::receive(socket, space)
        })
    }

    /// As [`recv`](UdpSocket::recv), and says who sent it.
    ///
    /// # Errors
    ///
    /// As for [`recv`](UdpSocket::recv).
    ///
    /// # Cancel safety
    ///
    /// As for [`recv`](UdpSocket::recv).
    pub fn recv_from(
        &self,
        space: &mut [u8],
    ) -> impl Future<Output = io::Result<(Received, SocketAddr)>> {
        self.inner.io_with(Direction::Read, move |socket| {
            attempt::receive_from(socket, space)
        })
    }

    /// As [`recv`](UdpSocket::recv), but leaves the datagram where it is, for the next call.
    ///
    /// # Errors
    ///
    /// As for [`recv`](UdpSocket::recv).
    ///
    /// # Cancel safety
    ///
    /// Nothing is taken, whatever happens.
    pub fn peek(&self, space: &mut [u8]) -> impl Future<Output = io::Result<Received>> {
        self.inner
            .io_with(Direction::Read, move |socket| attempt::peek(socket, space))
    }

    /// As [`peek`](UdpSocket::peek), and says who sent it.
    ///
    /// # Errors
    ///
    /// As for [`recv`](UdpSocket::recv).
    ///
    /// # Cancel safety
    ///
    /// Nothing is taken, whatever happens.
    pub fn peek_from(
        &self,
        space: &mut [u8],
    ) -> impl Future<Output = io::Result<(Received, SocketAddr)>> {
        self.inner.io_with(Direction::Read, move |socket| {
            attempt::peek_from(socket, space)
        })
    }

    /// Sends `bytes` as one datagram to the peer, waiting while there is no room; returns how many
    /// bytes went, which is all of them. It may be empty.
    ///
    /// # Errors
    ///
    /// What the system says: `EDESTADDRREQ` or `NotConnected` if the socket isn't connected,
    /// `EMSGSIZE` if they are too many for a datagram, and `ConnectionRefused`, once, if nobody was
    /// where something was sent before: this datagram is not sent then.
    ///
    /// # Cancel safety
    ///
    /// Nothing is sent by a future that is dropped before it is done.
    pub fn send(&self, bytes: &[u8]) -> impl Future<Output = io::Result<usize>> {
        self.inner
            .io_with(Direction::Write, move |socket| attempt::send(socket, bytes))
    }

    /// Sends `bytes` as one datagram to `address`; else as [`send`](UdpSocket::send).
    ///
    /// A name is looked up by [`lookup_host`](crate::lookup_host) before: once, not for each
    /// datagram.
    ///
    /// # Errors
    ///
    /// What the system says: `PermissionDenied` if it is a broadcast address and
    /// [`set_broadcast`](UdpSocket::set_broadcast) doesn't allow that; some systems refuse any
    /// address when the socket is connected.
    ///
    /// # Cancel safety
    ///
    /// As for [`send`](UdpSocket::send).
    pub fn send_to(
        &self,
        bytes: &[u8],
        address: SocketAddr,
    ) -> impl Future<Output = io::Result<usize>> {
        self.inner.io_with(Direction::Write, move |socket| {
            attempt::send_to(socket, bytes, address)
        })
    }

    /// Waits until a datagram or an error may be there. There may be none all the same, so it is
    /// followed by [`try_recv`](UdpSocket::try_recv), in a loop.
    ///
    /// # Errors
    ///
    /// What the system says when asked to watch the socket.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when it is dropped.
    pub fn readable(&self) -> impl Future<Output = io::Result<()>> {
        self.inner.readable()
    }

    /// Waits until there may be room to send; as [`readable`](UdpSocket::readable).
    ///
    /// # Errors
    ///
    /// As for [`readable`](UdpSocket::readable).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when it is dropped.
    pub fn writable(&self) -> impl Future<Output = io::Result<()>> {
        self.inner.writable()
    }
}
