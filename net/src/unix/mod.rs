//! Unix sockets: streams, datagrams and records between processes of one machine, and what only
//! they can carry: descriptors, and who is at the other end.

mod address;
mod connect;
mod credentials;
mod datagram;
mod descriptors;
mod error;
mod file;
mod listener;
mod message;
mod methods;
mod passing;
mod pause;
mod seqpacket;
mod socket;
mod stream;
mod system;
mod transfer;

pub use address::UnixAddr;
pub use credentials::Credentials;
pub use datagram::UnixDatagram;
pub use descriptors::ReceivedFds;
pub use error::UnixAddrError;
pub use listener::UnixListener;
pub use seqpacket::{UnixSeqpacket, UnixSeqpacketListener};
pub use stream::UnixStream;

use socket2::SockRef;
use std::io;
use std::net::Shutdown;
use std::os::fd::BorrowedFd;

/// Shuts a connection down; one that is over is so already.
fn shut_down(socket: BorrowedFd<'_>, how: Shutdown) -> io::Result<()> {
    match SockRef::from(&socket).shutdown(how) {
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
        done => done,
    }
}

fn local_addr(socket: BorrowedFd<'_>) -> io::Result<UnixAddr> {
    let address = SockRef::from(&socket).local_addr()?;
    Ok(UnixAddr::from_socket2(&address))
}

fn peer_addr(socket: BorrowedFd<'_>) -> io::Result<UnixAddr> {
    let address = SockRef::from(&socket).peer_addr()?;
    Ok(UnixAddr::from_socket2(&address))
}
