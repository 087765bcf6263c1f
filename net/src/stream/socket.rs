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

    /// Sends what there is room for; `rest` says how far it came. Until all is sent, it says
    /// `Interrupted`, so that it is tried again, but not while it is the turn of others: one who reads as
    /// fast as this sends would keep it from ending.
    fn send_rest(&self, rest: &mut &[u8]) -> io::Result<Taken<()>> {
        if rest.is_empty() {
            return Ok(Taken::Some(()));
        }
        match self.send(rest)? {
            Taken::Some(0) | Taken::All(0) => return Err(io::ErrorKind::WriteZero.into()),
            Taken::Some(count) | Taken::All(count) => *rest = &rest[count..],
        }
        if rest.is_empty() {
            Ok(Taken::Some(()))
        } else {
            Err(io::ErrorKind::Interrupted.into())
        }
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

    /// As [`Async::pause`].
    fn pause(&self, direction: Direction) {
        self.inner().pause(direction);
    }

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

#[cfg(test)]
mod tests {
    use super::{IoSlice, IoSliceMut, StreamSocket};
    use std::fs::File;
    use std::future::Future;
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd};
    use std::pin::pin;
    use std::task::{Context, Waker};
    use windlass_reactor::budget::{self, Budget};
    use windlass_reactor::{Async, Direction, Taken};

    /// Always has room for a page, as if somebody read as fast as this writes.
    struct Endless(File);

    impl AsFd for Endless {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }

    impl StreamSocket for Endless {
        fn receive(&self, _: &mut [u8]) -> io::Result<Taken<usize>> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn receive_vectored(&self, _: &mut [IoSliceMut<'_>]) -> io::Result<Taken<usize>> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn peek(&self, _: &mut [u8]) -> io::Result<Taken<usize>> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn send(&self, bytes: &[u8]) -> io::Result<Taken<usize>> {
            let count = bytes.len().min(4096);
            budget::charge_bytes(count);
            Ok(Taken::Some(count))
        }

        fn send_vectored(&self, _: &[IoSlice<'_>]) -> io::Result<Taken<usize>> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    #[test]
    fn what_is_long_goes_in_turns() {
        let socket = Async::from_nonblocking(Endless(File::open("/dev/null").unwrap()));
        let bytes = vec![0; 100 * 4096];
        let mut rest = &bytes[..];
        let mut sending = pin!(socket.io_with(Direction::Write, |socket| {
            let sent = socket.send_rest(&mut rest);
            sent.map(|_| Taken::Some(()))
        }));
        let mut context = Context::from_waker(Waker::noop());
        let mut polls = 1;
        while Budget::of(20).scope(|| sending.as_mut().poll(&mut context).is_pending()) {
            polls += 1;
            assert!(polls < 100, "it does not end");
        }
        // A page takes the operation, and one for its bytes.
        assert_eq!(polls, 10);
    }
}
