//! The operations of sockets that keep messages apart, as the system has them: each is one attempt,
//! which may say that it would block.
//!
//! A message that fills its space only in part says nothing of those behind it: so no read here
//! counts as having taken all there was.

use super::UnixAddr;
use super::descriptors::{self, ReceivedFds};
use super::socket::charged;
use crate::Received;
use crate::system::{NO_SIGNAL, retry};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvAncillaryBuffer, RecvFlags, ReturnFlags, SendFlags, SocketAddrUnix};
use std::io::{self, IoSliceMut};
use std::os::fd::BorrowedFd;
use windlass_reactor::{Taken, budget};

/// Receives a message, and says who sent it.
pub(super) fn receive_from(
    socket: BorrowedFd<'_>,
    space: &mut [u8],
    flags: RecvFlags,
) -> io::Result<Taken<(Received, UnixAddr)>> {
    let spaces = &mut [IoSliceMut::new(space)];
    let message = retry(|| {
        let mut no_control = RecvAncillaryBuffer::default();
        let came = rustix::net::recvmsg(socket, spaces, &mut no_control, flags);
        Ok(came?)
    })?;
    budget::charge_bytes(message.bytes);
    let received = Received {
        length: message.bytes,
        truncated: message.flags.contains(ReturnFlags::TRUNC),
    };
    let from = UnixAddr::from_system(message.address).unwrap_or(UnixAddr::Unnamed);
    Ok(Taken::Some((received, from)))
}

pub(super) fn receive(
    socket: BorrowedFd<'_>,
    space: &mut [u8],
    flags: RecvFlags,
) -> io::Result<Taken<Received>> {
    match receive_from(socket, space, flags)? {
        Taken::Some((received, _)) | Taken::All((received, _)) => Ok(Taken::Some(received)),
    }
}

pub(super) fn receive_fds(
    socket: BorrowedFd<'_>,
    space: &mut [u8],
    most: usize,
) -> io::Result<Taken<ReceivedFds>> {
    let received = descriptors::receive(socket, space, most)?;
    budget::charge_bytes(received.length);
    Ok(Taken::Some(received))
}

/// A datagram: it may be empty.
pub(super) mod datagram {
    use super::{BorrowedFd, SendFlags, Taken, charged, descriptors, io, send_with};

    pub(in crate::unix) fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<Taken<usize>> {
        send_with(socket, bytes, SendFlags::empty())
    }

    pub(in crate::unix) fn send_fds(
        socket: BorrowedFd<'_>,
        bytes: &[u8],
        fds: &[BorrowedFd<'_>],
    ) -> io::Result<Taken<usize>> {
        descriptors::send(socket, bytes, fds, SendFlags::empty()).map(charged)
    }
}

/// A record: it may not be empty, as that is how the end reads.
pub(super) mod record {
    use super::{BorrowedFd, SendFlags, Taken, charged, descriptors, io, needs_byte, send_with};

    /// Some systems ask where a record ends.
    const END: SendFlags = SendFlags::EOR;

    const WHY_NOT_EMPTY: &str = "an empty record reads as the end; send a byte at least";

    pub(in crate::unix) fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<Taken<usize>> {
        needs_byte(bytes, WHY_NOT_EMPTY)?;
        send_with(socket, bytes, END)
    }

    pub(in crate::unix) fn send_fds(
        socket: BorrowedFd<'_>,
        bytes: &[u8],
        fds: &[BorrowedFd<'_>],
    ) -> io::Result<Taken<usize>> {
        needs_byte(bytes, WHY_NOT_EMPTY)?;
        descriptors::send(socket, bytes, fds, END).map(charged)
    }
}

/// Bytes of a stream.
pub(super) mod stream {
    use super::{BorrowedFd, SendFlags, Taken, charged, descriptors, io, needs_byte};

    pub(in crate::unix) fn send_fds(
        socket: BorrowedFd<'_>,
        bytes: &[u8],
        fds: &[BorrowedFd<'_>],
    ) -> io::Result<Taken<usize>> {
        needs_byte(
            bytes,
            "descriptors go with a byte of a stream; send one at least",
        )?;
        descriptors::send(socket, bytes, fds, SendFlags::empty()).map(charged)
    }
}

fn needs_byte(bytes: &[u8], why: &'static str) -> io::Result<()> {
    if bytes.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok(())
}

fn send_with(socket: BorrowedFd<'_>, bytes: &[u8], flags: SendFlags) -> io::Result<Taken<usize>> {
    retry(|| Ok(rustix::net::send(socket, bytes, NO_SIGNAL | flags)?)).map(charged)
}

/// Sends a datagram to a socket that isn't the peer; `None` if it is that socket that has no room.
///
/// There is no event for that: this socket is writable all the while.
pub(super) fn send_to(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    name: &SocketAddrUnix,
) -> io::Result<Taken<Option<usize>>> {
    match retry(|| Ok(rustix::net::sendto(socket, bytes, NO_SIGNAL, name)?)) {
        Ok(count) => {
            budget::charge_bytes(count);
            Ok(Taken::Some(Some(count)))
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock && is_writable(socket)? => {
            Ok(Taken::Some(None))
        }
        Err(error) => Err(error),
    }
}

fn is_writable(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let mut asked = [PollFd::from_borrowed_fd(socket, PollFlags::OUT)];
    let now = Timespec::default();
    Ok(retry(|| Ok(poll(&mut asked, Some(&now))?))? > 0)
}
