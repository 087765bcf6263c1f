//! The system calls on sockets that differ between systems, in one table.
//!
//! Linux and most of the BSDs make a socket that doesn't block and is closed on exec in one call
//! (`accept4`, and flags of `socket`), and write without `SIGPIPE` by a flag (`MSG_NOSIGNAL`).
//! Apple's systems have neither: the flags are set by calls of their own, and the signal is turned
//! off for the socket (`SO_NOSIGPIPE`), which accepted sockets inherit. For Solaris the crate
//! socket2 knows no flag of `socket`.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendFlags, SocketAddrAny,
};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How many buffers one vectored call may have (`IOV_MAX`).
const MOST_BUFFERS: usize = 1024;

/// Runs `operation` until no signal interrupts it.
#[inline]
pub(crate) fn retry<R>(mut operation: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Returns the name of a kind of file, for messages.
pub(crate) fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a regular file",
        FileType::Directory => "a directory",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice => "a character device",
        FileType::BlockDevice => "a block device",
        _ => "a file of another kind",
    }
}

/// Makes a TCP socket of a family that doesn't block and is closed on exec.
pub(crate) fn tcp_socket(domain: Domain) -> io::Result<Socket> {
    let kind = nonblocking(Type::STREAM);
    made(Socket::new(domain, kind, Some(Protocol::TCP))?)
}

/// Makes a UDP socket of a family that doesn't block and is closed on exec.
pub(crate) fn udp_socket(domain: Domain) -> io::Result<Socket> {
    let kind = nonblocking(Type::DGRAM);
    made(Socket::new(domain, kind, Some(Protocol::UDP))?)
}

/// Makes a Unix socket that doesn't block and is closed on exec.
pub(crate) fn unix_socket(kind: Type) -> io::Result<Socket> {
    made(Socket::new(Domain::UNIX, nonblocking(kind), None)?)
}

/// Makes two of them that are connected.
pub(crate) fn unix_pair(kind: Type) -> io::Result<(Socket, Socket)> {
    let (one, other) = Socket::pair(Domain::UNIX, nonblocking(kind), None)?;
    Ok((made(one)?, made(other)?))
}

/// Says with which type a socket is made that doesn't block, where that is a flag of the type.
fn nonblocking(kind: Type) -> Type {
    #[cfg(not(any(target_vendor = "apple", target_os = "solaris")))]
    let kind = kind.nonblocking();
    kind
}

/// Has a socket that was just made not block, where that is no flag of its type.
fn made(socket: Socket) -> io::Result<Socket> {
    #[cfg(any(target_vendor = "apple", target_os = "solaris"))]
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Accepts one connection as a socket that doesn't block and is closed on exec.
///
/// The address is missing where the peer was gone before it could be told; of a Unix socket, where
/// it has none.
pub(crate) fn accept(listener: BorrowedFd<'_>) -> Result<(OwnedFd, Option<SocketAddr>), Errno> {
    let (socket, address) = accept_any(listener)?;
    let address = address.and_then(|address| SocketAddr::try_from(address).ok());
    Ok((socket, address))
}

#[cfg(not(target_vendor = "apple"))]
pub(crate) fn accept_any(
    listener: BorrowedFd<'_>,
) -> Result<(OwnedFd, Option<SocketAddrAny>), Errno> {
    use rustix::net::{SocketFlags, acceptfrom_with};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// The kernel is too old for `accept4`, or an emulator doesn't know it.
    static MISSING: AtomicBool = AtomicBool::new(false);

    if !MISSING.load(Ordering::Relaxed) {
        match acceptfrom_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Err(Errno::NOSYS) => MISSING.store(true, Ordering::Relaxed),
            done => return done,
        }
    }
    accept_and_set_flags(listener)
}

#[cfg(target_vendor = "apple")]
pub(crate) fn accept_any(
    listener: BorrowedFd<'_>,
) -> Result<(OwnedFd, Option<SocketAddrAny>), Errno> {
    accept_and_set_flags(listener)
}

/// Accepts without `accept4`: what the socket inherits differs between systems, so that both flags
/// are set, whatever they are.
fn accept_and_set_flags(
    listener: BorrowedFd<'_>,
) -> Result<(OwnedFd, Option<SocketAddrAny>), Errno> {
    let (socket, address) = rustix::net::acceptfrom(listener)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok((socket, address))
}

/// Says whether a socket is for datagrams, so that there is nothing to accept.
pub(crate) fn is_for_datagrams(socket: impl AsFd) -> bool {
    rustix::net::sockopt::socket_type(socket) == Ok(rustix::net::SocketType::DGRAM)
}

#[cfg(not(target_vendor = "apple"))]
pub(crate) const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
#[cfg(target_vendor = "apple")]
pub(crate) const NO_SIGNAL: SendFlags = SendFlags::empty();

/// Sends from several buffers without `SIGPIPE`, which `writev` would raise.
pub(crate) fn send_vectored(socket: impl AsFd, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
    let buffers = &buffers[..buffers.len().min(MOST_BUFFERS)];
    let mut no_control = SendAncillaryBuffer::default();
    Ok(rustix::net::sendmsg(
        socket,
        buffers,
        &mut no_control,
        NO_SIGNAL,
    )?)
}

/// Sends a byte as urgent data.
pub(crate) fn send_urgent(socket: impl AsFd, byte: u8) -> io::Result<usize> {
    Ok(rustix::net::send(
        socket,
        &[byte],
        SendFlags::OOB | NO_SIGNAL,
    )?)
}

/// Reads the urgent byte; `None` at the end.
pub(crate) fn receive_urgent(socket: impl AsFd) -> io::Result<Option<u8>> {
    let mut byte = [0];
    let (count, _) = rustix::net::recv(socket, &mut byte, RecvFlags::OOB)?;
    Ok((count > 0).then_some(byte[0]))
}

/// A datagram that came.
pub(crate) struct Datagram {
    /// How many bytes of it are there.
    pub(crate) length: usize,
    /// There were more.
    pub(crate) truncated: bool,
    /// Who sent it, where that has an IP address.
    pub(crate) from: Option<SocketAddr>,
}

/// Receives a datagram. `recvfrom`, as std has it, doesn't tell whether all of it fitted.
pub(crate) fn receive_datagram(
    socket: impl AsFd,
    space: &mut [u8],
    flags: RecvFlags,
) -> io::Result<Datagram> {
    let mut no_control = RecvAncillaryBuffer::default();
    let spaces = &mut [IoSliceMut::new(space)];
    let message = rustix::net::recvmsg(socket, spaces, &mut no_control, flags)?;
    let from = message.address;
    Ok(Datagram {
        length: message.bytes,
        truncated: message.flags.contains(ReturnFlags::TRUNC),
        from: from.and_then(|address| SocketAddr::try_from(address).ok()),
    })
}

/// The end of what the peer sends, also behind data that were not read yet.
#[cfg(any(
    target_os = "freebsd",
    target_os = "illumos",
    all(
        any(target_os = "linux", target_os = "android"),
        not(any(target_arch = "sparc", target_arch = "sparc64"))
    )
))]
const END: PollFlags = PollFlags::RDHUP;
#[cfg(not(any(
    target_os = "freebsd",
    target_os = "illumos",
    all(
        any(target_os = "linux", target_os = "android"),
        not(any(target_arch = "sparc", target_arch = "sparc64"))
    )
)))]
const END: PollFlags = PollFlags::empty();

/// Says whether the peer will send no more: where the system can't tell while there are data to
/// read, once they are read.
pub(crate) fn has_ended(socket: impl AsFd) -> io::Result<bool> {
    let mut asked = [PollFd::new(&socket, END)];
    let now = rustix::event::Timespec::default();
    if retry(|| Ok(poll(&mut asked, Some(&now))?))? > 0 {
        return Ok(true);
    }
    let left = rustix::net::recv(&socket, &mut [0_u8], RecvFlags::PEEK);
    Ok(matches!(left, Ok((0, _))))
}

#[cfg(test)]
mod tests {
    use super::accept_and_set_flags;
    use std::io::{self, Read};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    /// Without `accept4`, the flags are there all the same.
    #[test]
    fn accepts_without_accept4() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, address) = accept_and_set_flags(listener.as_fd()).unwrap();
        let flags = rustix::io::fcntl_getfd(&socket).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
        let would_block = TcpStream::from(socket).read(&mut [0]).unwrap_err();
        assert_eq!(would_block.kind(), io::ErrorKind::WouldBlock);
        let address = std::net::SocketAddr::try_from(address.unwrap()).unwrap();
        assert_eq!(address, peer.local_addr().unwrap());
    }
}
