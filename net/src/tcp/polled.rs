//! The operations of a stream for those who write futures by hand.

use super::stream::TcpStream;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::BorrowedFd;
use std::task::{Context, Poll};
use windlass_reactor::{Direction, Taken};

impl TcpStream {
    /// As [`read`](TcpStream::read), for those who write futures by hand. Of several tasks that
    /// call a reading `poll_` method, the latest is woken.
    ///
    /// # Errors
    ///
    /// As for [`read`](TcpStream::read).
    pub fn poll_read(
        &self,
        context: &mut Context<'_>,
        space: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.inner
            .poll_io_with(context, Direction::Read, |socket| socket.receive(space))
    }

    /// As [`read_vectored`](TcpStream::read_vectored); see [`poll_read`](TcpStream::poll_read).
    ///
    /// # Errors
    ///
    /// As for [`read`](TcpStream::read).
    pub fn poll_read_vectored(
        &self,
        context: &mut Context<'_>,
        spaces: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        self.inner.poll_io_with(context, Direction::Read, |socket| {
            socket.receive_vectored(spaces)
        })
    }

    /// As [`peek`](TcpStream::peek); see [`poll_read`](TcpStream::poll_read).
    ///
    /// # Errors
    ///
    /// As for [`read`](TcpStream::read).
    pub fn poll_peek(
        &self,
        context: &mut Context<'_>,
        space: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.inner
            .poll_io_with(context, Direction::Read, |socket| socket.peek(space))
    }

    /// As [`write`](TcpStream::write), for those who write futures by hand. Of several tasks that
    /// call a writing `poll_` method, the latest is woken.
    ///
    /// # Errors
    ///
    /// As for [`write`](TcpStream::write).
    pub fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.inner
            .poll_io_with(context, Direction::Write, |socket| socket.send(bytes))
    }

    /// As [`write_vectored`](TcpStream::write_vectored); see [`poll_write`](TcpStream::poll_write).
    ///
    /// # Errors
    ///
    /// As for [`write`](TcpStream::write).
    pub fn poll_write_vectored(
        &self,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.inner
            .poll_io_with(context, Direction::Write, |socket| {
                socket.send_vectored(buffers)
            })
    }

    /// As [`readable`](TcpStream::readable); see [`poll_read`](TcpStream::poll_read).
    ///
    /// # Errors
    ///
    /// As for [`readable`](TcpStream::readable).
    pub fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_readable(context)
    }

    /// As [`writable`](TcpStream::writable); see [`poll_write`](TcpStream::poll_write).
    ///
    /// # Errors
    ///
    /// As for [`readable`](TcpStream::readable).
    pub fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_writable(context)
    }

    /// Runs an operation that leaves the descriptor as it is, and says nothing of what is left,
    /// once it may succeed.
    pub(crate) fn poll_on_socket<R>(
        &self,
        context: &mut Context<'_>,
        direction: Direction,
        mut operation: impl FnMut(BorrowedFd<'_>) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.inner.poll_io_with(context, direction, |socket| {
            operation(socket.stream_fd()).map(Taken::Some)
        })
    }
}
