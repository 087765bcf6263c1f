//! The operations of a socket that don't wait, and those for who writes futures by hand.

use super::attempt;
use super::{Received, UdpSocket};
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use windlass_reactor::Direction;

/// Without waiting.
impl UdpSocket {
    /// As [`recv`](UdpSocket::recv), but doesn't wait.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if no datagram is there; else as for [`recv`](UdpSocket::recv).
    pub fn try_recv(&self, space: &mut [u8]) -> io::Result<Received> {
        self.inner
            .try_io_taking(Direction::Read, |socket| attempt::receive(socket, space))
    }

    /// As [`recv_from`](UdpSocket::recv_from), but doesn't wait.
    ///
    /// # Errors
    ///
    /// As for [`try_recv`](UdpSocket::try_recv).
    pub fn try_recv_from(&self, space: &mut [u8]) -> io::Result<(Received, SocketAddr)> {
        self.inner.try_io_taking(Direction::Read, |socket| {
            attempt::receive_from(socket, space)
        })
    }

    /// As [`peek`](UdpSocket::peek), but doesn't wait.
    ///
    /// # Errors
    ///
    /// As for [`try_recv`](UdpSocket::try_recv).
    pub fn try_peek(&self, space: &mut [u8]) -> io::Result<Received> {
        self.inner
            .try_io_taking(Direction::Read, |socket| attempt::peek(socket, space))
    }

    /// As [`peek_from`](UdpSocket::peek_from), but doesn't wait.
    ///
    /// # Errors
    ///
    /// As for [`try_recv`](UdpSocket::try_recv).
    pub fn try_peek_from(&self, space: &mut [u8]) -> io::Result<(Received, SocketAddr)> {
        self.inner
            .try_io_taking(Direction::Read, |socket| attempt::peek_from(socket, space))
    }

    /// As [`send`](UdpSocket::send), but doesn't wait.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is no room; else as for [`send`](UdpSocket::send).
    pub fn try_send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.inner
            .try_io_taking(Direction::Write, |socket| attempt::send(socket, bytes))
    }

    /// As [`send_to`](UdpSocket::send_to), but doesn't wait.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is no room; else as for [`send_to`](UdpSocket::send_to).
    pub fn try_send_to(&self, bytes: &[u8], address: SocketAddr) -> io::Result<usize> {
        self.inner.try_io_taking(Direction::Write, |socket| {
            attempt::send_to(socket, bytes, address)
        })
    }
}

/// For futures written by hand.
impl UdpSocket {
    /// As [`recv`](UdpSocket::recv), for those who write futures by hand. Of several tasks that
    /// call a receiving `poll_` method, the latest is woken.
    ///
    /// # Errors
    ///
    /// As for [`recv`](UdpSocket::recv).
    pub fn poll_recv(
        &self,
        context: &mut Context<'_>,
        space: &mut [u8],
    ) -> Poll<io::Result<Received>> {
        self.inner.poll_io_with(context, Direction::Read, |socket| {
            attempt::receive(socket, space)
        })
    }

    /// As [`recv_from`](UdpSocket::recv_from); see [`poll_recv`](UdpSocket::poll_recv).
    ///
    /// # Errors
    ///
    /// As for [`recv`](UdpSocket::recv).
    pub fn poll_recv_from(
        &self,
        context: &mut Context<'_>,
        space: &mut [u8],
    ) -> Poll<io::Result<(Received, SocketAddr)>> {
        self.inner.poll_io_with(context, Direction::Read, |socket| {
            attempt::receive_from(socket, space)
        })
    }

    /// As [`peek_from`](UdpSocket::peek_from); see [`poll_recv`](UdpSocket::poll_recv).
    ///
    /// # Errors
    ///
    /// As for [`recv`](UdpSocket::recv).
    pub fn poll_peek_from(
        &self,
        context: &mut Context<'_>,
        space: &mut [u8],
    ) -> Poll<io::Result<(Received, SocketAddr)>> {
        self.inner.poll_io_with(context, Direction::Read, |socket| {
            attempt::peek_from(socket, space)
        })
    }

    /// As [`send`](UdpSocket::send), for those who write futures by hand. Of several tasks that
    /// call a sending `poll_` method, the latest is woken.
    ///
    /// # Errors
    ///
    /// As for [`send`](UdpSocket::send).
    pub fn poll_send(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.inner
            .poll_io_with(context, Direction::Write, |socket| {
                attempt::send(socket, bytes)
            })
    }

    /// As [`send_to`](UdpSocket::send_to); see [`poll_send`](UdpSocket::poll_send).
    ///
    /// # Errors
    ///
    /// As for [`send_to`](UdpSocket::send_to).
    pub fn poll_send_to(
        &self,
        context: &mut Context<'_>,
        bytes: &[u8],
        address: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.inner
            .poll_io_with(context, Direction::Write, |socket| {
                attempt::send_to(socket, bytes, address)
            })
    }

    /// As [`readable`](UdpSocket::readable); see [`poll_recv`](UdpSocket::poll_recv).
    ///
    /// # Errors
    ///
    /// As for [`readable`](UdpSocket::readable).
    pub fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_readable(context)
    }

    /// As [`writable`](UdpSocket::writable); see [`poll_send`](UdpSocket::poll_send).
    ///
    /// # Errors
    ///
    /// As for [`readable`](UdpSocket::readable).
    pub fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_writable(context)
    }
}
