//! The operations of a socket of bytes, as the system has them: each is one attempt, which may say
//! that it would block.

use rustix::io::Errno;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{Context, Poll};
use windlass_reactor::{Async, Direction, Taken};

/// A socket that doesn't block. Each attempt takes what it has moved from the budget of the task.
pub trait StreamSocket: AsFd {
    /// Reads what is there.
    fn receive(&self, space: &mut [u8]) -> io::Result<Taken<usize>>;

    fn receive_vectored(&self, spaces: &mut [IoSliceMut<'_>]) -> io::Result<Taken<usize>>;

    /// Reads, and leaves it there.
    fn peek(&self, space: &mut [u8]) -> io::Result<Taken<usize>>;

    /// Writes what there is room for, without a signal.
    fn send(&self, bytes: &[u8]) -> io::Result<Taken<usize>>;

    fn send_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<Taken<usize>>;

    /// Sends until all of `rest` is sent or it would block; `rest` says how far it came.
    fn send_rest(&self, rest: &mut &[u8]) -> io::Result<Taken<()>> {
        while !rest.is_empty() {
            match self.send(rest)? {
                Taken::Some(0) | Taken::All(0) => return Err(io::ErrorKind::WriteZero.into()),
                Taken::Some(count) | Taken::All(count) => *rest = &rest[count..],
            }
        }
        Ok(Taken::Some(()))
    }
}

/// A stream of any kind; which there are is this crate's business.
pub trait ByteStream {
    type Socket: StreamSocket;
    /// What its ends are known by.
    type Address;

    fn inner(&self) -> &Async<Self::Socket>;

    fn shut_down(&self, how: std::net::Shutdown) -> io::Result<()>;

    fn local_address(&self) -> io::Result<Self::Address>;

    fn peer_address(&self) -> io::Result<Self::Address>;

    /// Runs an operation that leaves the descriptor as it is, and says nothing of what is left,
    /// once it may succeed.
    fn poll_on_socket<R>(
        &self,
        context: &mut Context<'_>,
        direction: Direction,
        mut operation: impl FnMut(BorrowedFd<'_>) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.inner().poll_io_with(context, direction, |socket| {
            operation(socket.as_fd())
                .map(Taken::Some)
                .map_err(while_connecting)
        })
    }
}

/// A write that was to open a connection fast, and began an ordinary one as the peer's cookie was
/// not there any more: nothing is sent yet.
#[cold]
pub(crate) fn while_connecting(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::INPROGRESS) => io::ErrorKind::WouldBlock.into(),
        _ => error,
    }
}

/// Reads until `space` is full, and counts on in `filled`.
pub(crate) async fn read_exact_from(
    stream: &Async<impl StreamSocket>,
    space: &mut [u8],
    filled: &mut usize,
) -> io::Result<()> {
    while *filled < space.len() {
        let rest = &mut space[*filled..];
        let reading = stream.io_with(Direction::Read, |socket| socket.receive(rest));
        match reading.await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => *filled += count,
        }
    }
    assert!(*filled == space.len(), "more is filled than there is space");
    Ok(())
}
