//! What differs between systems in Unix sockets, in one table.
//!
//! | | where |
//! | --- | --- |
//! | abstract names | Linux, Android |
//! | sockets of records | Linux, Android, the BSDs |
//! | descriptors that come are closed on exec from the start | Linux, Android, the BSDs |
//! | descriptors without room are closed by the system | Linux, Android |
//!
//! Elsewhere there is an error that names the system; descriptors are marked right after they came,
//! so that a program started by another thread in between inherits them; and room is given for as
//! many as can come, of which those that weren't asked for are closed here.

use super::descriptors::MOST;
use rustix::net::{RecvFlags, SocketAddrUnix};
use std::io;
use std::os::fd::OwnedFd;

/// Flags of each receive with room for descriptors.
#[cfg(not(any(target_vendor = "apple", target_os = "illumos", target_os = "solaris")))]
pub(super) const RECEIVE: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(any(target_vendor = "apple", target_os = "illumos", target_os = "solaris"))]
pub(super) const RECEIVE: RecvFlags = RecvFlags::empty();

/// Has a descriptor that came closed on exec, where that isn't done by a flag.
pub(super) fn close_on_exec(descriptor: &OwnedFd) -> io::Result<()> {
    if RECEIVE.is_empty() {
        rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC)?;
    }
    Ok(())
}

/// Returns how many descriptors room is to be given for, if `most` are wanted.
pub(super) fn room(most: usize) -> usize {
    if cfg!(any(target_os = "linux", target_os = "android")) {
        most.min(MOST)
    } else {
        MOST
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod names {
    use super::{SocketAddrUnix, io};

    pub(in crate::unix) fn abstract_name(name: &[u8]) -> io::Result<SocketAddrUnix> {
        Ok(SocketAddrUnix::new_abstract_name(name)?)
    }

    pub(in crate::unix) fn as_abstract_name(address: &SocketAddrUnix) -> Option<&[u8]> {
        address.abstract_name()
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod names {
    use super::{SocketAddrUnix, io, missing};

    pub(in crate::unix) fn abstract_name(_: &[u8]) -> io::Result<SocketAddrUnix> {
        Err(missing("abstract names of sockets; give a path"))
    }

    pub(in crate::unix) fn as_abstract_name(_: &SocketAddrUnix) -> Option<&[u8]> {
        None
    }
}

pub(super) use names::{abstract_name, as_abstract_name};

/// Says whether there are sockets of records.
const HAS_RECORDS: bool = cfg!(any(
    target_os = "linux",
    target_os = "android",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "dragonfly"
));

/// What a socket is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Stream,
    Datagram,
    Records,
}

impl Kind {
    fn to_system(self) -> io::Result<socket2::Type> {
        match self {
            Kind::Stream => Ok(socket2::Type::STREAM),
            Kind::Datagram => Ok(socket2::Type::DGRAM),
            Kind::Records if HAS_RECORDS => Ok(socket2::Type::SEQPACKET),
            Kind::Records => Err(missing(
                "Unix sockets of records; use a stream, and say how long each record is",
            )),
        }
    }
}

/// Makes a socket that doesn't block and is closed on exec.
pub(super) fn socket(kind: Kind) -> io::Result<OwnedFd> {
    crate::system::unix_socket(kind.to_system()?).map(OwnedFd::from)
}

/// Makes two of them that are connected.
pub(super) fn pair(kind: Kind) -> io::Result<(OwnedFd, OwnedFd)> {
    let (one, other) = crate::system::unix_pair(kind.to_system()?)?;
    Ok((one.into(), other.into()))
}

fn missing(what: &str) -> io::Error {
    let system = std::env::consts::OS;
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!("{system} doesn't have {what}"),
    )
}
