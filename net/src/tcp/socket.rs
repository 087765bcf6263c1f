//! The operations of a stream, as the system has them: each is one attempt, which may say that it
//! would block.

use crate::stream::{StreamSocket, while_connecting};
use crate::system::{self, retry};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use windlass_reactor::{Taken, budget};

/// So many buffers one call uses on every system (`_XOPEN_IOV_MAX`, limits.h(0p)), and std no fewer.
const FEWEST_BUFFERS: usize = 16;

/// A socket that doesn't block, and what is needed to tell whether a short read drained it.
///
/// A stream read that fills its buffer only in part took all there was, so that the next one needs
/// not ask before it waits; see [`Taken::All`]. That holds as long as the socket is a plain one
/// that behaves as TCP does by default. Through the descriptor anybody may change it: with kernel
/// TLS (`TCP_ULP`) a read ends with the record, with `SO_OOBINLINE` at the urgent mark, and more may
/// be there without a new event. So the shortcut is for those sockets only whose descriptor nobody
/// else has seen.
#[derive(Debug)]
pub struct Socket {
    pub(super) stream: std::net::TcpStream,
    /// Somebody else has, or had, the descriptor; never unset. Relaxed: whoever changes the socket
    /// makes that known to readers by a system call, or by an order of their own.
    handed_out: AtomicBool,
}

impl Socket {
    pub(super) fn new(stream: std::net::TcpStream, handed_out: bool) -> Self {
        let handed_out = AtomicBool::new(handed_out);
        Self { stream, handed_out }
    }

    /// Takes note that somebody sees the descriptor.
    pub(super) fn hand_out(&self) {
        self.handed_out.store(true, Ordering::Relaxed);
    }

    /// Kept apart, so that a read that succeeds costs no look at errors.
    #[cold]
    #[inline(never)]
    fn receive_after(&self, error: io::Error, space: &mut [u8]) -> io::Result<Taken<usize>> {
        let mut first = Some(error);
        let count = retry(|| match first.take() {
            Some(error) => Err(error),
            None => (&self.stream).read(space),
        })?;
        budget::charge_bytes(count);
        Ok(self.taken(count, space.len()))
    }

    /// Says what a read of `count` bytes left behind. The end is never "all": it stays.
    #[inline]
    fn taken(&self, count: usize, space: usize) -> Taken<usize> {
        if 0 < count && count < space && !self.handed_out.load(Ordering::Relaxed) {
            Taken::All(count)
        } else {
            Taken::Some(count)
        }
    }

    /// Kept apart as for reading.
    #[cold]
    #[inline(never)]
    fn send_after(&self, error: io::Error, bytes: &[u8]) -> io::Result<Taken<usize>> {
        let mut first = Some(error);
        let sent = retry(|| match first.take() {
            Some(error) => Err(error),
            None => (&self.stream).write(bytes),
        });
        sent.map(charged).map_err(while_connecting)
    }
}

impl StreamSocket for Socket {
    #[inline]
    fn receive(&self, space: &mut [u8]) -> io::Result<Taken<usize>> {
        match (&self.stream).read(space) {
            Ok(count) => {
                budget::charge_bytes(count);
                Ok(self.taken(count, space.len()))
            }
            Err(error) => self.receive_after(error, space),
        }
    }

    fn receive_vectored(&self, spaces: &mut [IoSliceMut<'_>]) -> io::Result<Taken<usize>> {
        let count = retry(|| (&self.stream).read_vectored(spaces))?;
        budget::charge_bytes(count);
        if spaces.len() > FEWEST_BUFFERS {
            // Perhaps it hasn't used all of them, and has left something.
            return Ok(Taken::Some(count));
        }
        Ok(self.taken(count, spaces.iter().map(|space| space.len()).sum()))
    }

    fn peek(&self, space: &mut [u8]) -> io::Result<Taken<usize>> {
        // It takes nothing, so it never takes all.
        retry(|| self.stream.peek(space)).map(Taken::Some)
    }

    #[inline]
    fn send(&self, bytes: &[u8]) -> io::Result<Taken<usize>> {
        match (&self.stream).write(bytes) {
            Ok(count) => Ok(charged(count)),
            Err(error) => self.send_after(error, bytes),
        }
    }

    fn send_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<Taken<usize>> {
        let sent = retry(|| system::send_vectored(&self.stream, buffers));
        sent.map(charged).map_err(while_connecting)
    }
}

/// Takes what was sent from the budget of the task.
#[inline]
fn charged(count: usize) -> Taken<usize> {
    budget::charge_bytes(count);
    Taken::Some(count)
}

/// Urgent data.
impl Socket {
    /// Lends the descriptor for a question, without handing it out.
    pub(super) fn stream_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    pub(super) fn send_urgent(&self, byte: u8) -> io::Result<Taken<()>> {
        match retry(|| system::send_urgent(&self.stream, byte)).map_err(while_connecting)? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            _ => Ok(Taken::Some(())),
        }
    }

    /// Reads the urgent byte; `None` if none will come.
    pub(super) fn receive_urgent(&self) -> io::Result<Option<u8>> {
        match retry(|| system::receive_urgent(&self.stream)) {
            // recv(2): there is none, or it was taken. Or it is to be read among the others, and
            // then waiting for it would never do.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => self.no_urgent_byte(),
            done => done,
        }
    }

    #[cold]
    fn no_urgent_byte(&self) -> io::Result<Option<u8>> {
        if socket2::SockRef::from(&self.stream).out_of_band_inline()? {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "urgent data are read among the others on this stream; see `set_oob_inline`",
            ));
        }
        if system::has_ended(&self.stream)? {
            return Ok(None);
        }
        Err(io::ErrorKind::WouldBlock.into())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
