//! The operations of a stream, as the system has them: each is one attempt, which may say that it
//! would block.
//!
//! A read that fills its buffer only in part says nothing of what is left, unlike a TCP socket's:
//! it ends where descriptors came with the next bytes, or other credentials, whoever asked for
//! them (unix(7)). As the peer may send such at any time, no read here counts as having taken all
//! there was.
//!
//! Of descriptors that come with bytes that are read without room for them, the system closes
//! those that nobody else has.

use crate::stream::StreamSocket;
use crate::system::{NO_SIGNAL, retry, send_vectored};
use rustix::net::RecvFlags;
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use windlass_reactor::{Taken, budget};

/// A stream socket that doesn't block.
#[derive(Debug)]
pub struct Socket(pub(super) UnixStream);

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl StreamSocket for Socket {
    #[inline]
    fn receive(&self, space: &mut [u8]) -> io::Result<Taken<usize>> {
        retry(|| (&self.0).read(space)).map(charged)
    }

    fn receive_vectored(&self, spaces: &mut [IoSliceMut<'_>]) -> io::Result<Taken<usize>> {
        retry(|| (&self.0).read_vectored(spaces)).map(charged)
    }

    fn peek(&self, space: &mut [u8]) -> io::Result<Taken<usize>> {
        let peeked = retry(|| Ok(rustix::net::recv(&self.0, &mut *space, RecvFlags::PEEK)?));
        peeked.map(|(count, _)| Taken::Some(count))
    }

    /// Not by way of std, which raises SIGPIPE here.
    #[inline]
    fn send(&self, bytes: &[u8]) -> io::Result<Taken<usize>> {
        retry(|| Ok(rustix::net::send(&self.0, bytes, NO_SIGNAL)?)).map(charged)
    }

    fn send_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<Taken<usize>> {
        retry(|| send_vectored(&self.0, buffers)).map(charged)
    }
}

/// Takes what was moved from the budget of the task.
#[inline]
pub(super) fn charged(count: usize) -> Taken<usize> {
    budget::charge_bytes(count);
    Taken::Some(count)
}
