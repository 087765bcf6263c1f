//! What sort of file a descriptor is, as far as the filters treat it differently.

use std::os::fd::RawFd;

use crate::knote::Filter;
use crate::sys::{self, Errno};
use crate::variant::{System, Variant};

/// The sort of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A TCP socket, listening or not.
    Tcp,
    /// A Unix stream socket, listening or not.
    UnixStream,
    /// Any other socket with connections.
    Connected,
    /// A socket without connections.
    Datagram,
    /// A pipe or FIFO.
    Pipe,
    /// A regular file or directory.
    File,
    /// Another queue.
    Queue,
    /// Anything else that the kernel can poll.
    Other,
}

/// Finds the sort of an open descriptor that is not a queue.
pub(crate) fn classify(fd: RawFd, status: &sys::probe::Status) -> Kind {
    match status.format {
        libc::S_IFSOCK => classify_socket(fd),
        libc::S_IFIFO => Kind::Pipe,
        libc::S_IFREG | libc::S_IFDIR => Kind::File,
        _ => Kind::Other,
    }
}

fn classify_socket(fd: RawFd) -> Kind {
    let option = |option| sys::probe::socket_option(fd, option).unwrap_or(-1);
    match option(libc::SO_TYPE) {
        libc::SOCK_STREAM => {}
        libc::SOCK_SEQPACKET => return Kind::Connected,
        _ => return Kind::Datagram,
    }
    if option(libc::SO_PROTOCOL) == libc::IPPROTO_TCP {
        Kind::Tcp
    } else if option(libc::SO_DOMAIN) == libc::AF_UNIX {
        Kind::UnixStream
    } else {
        Kind::Connected
    }
}

/// How a new knote is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is registered.
    Accepted,
    /// It is registered, and the client gets an error all the same.
    AcceptedWith(Errno),
    /// It is refused.
    Refused(Errno),
}

/// Decides about a new knote on a descriptor.
pub(crate) fn admit(
    fd: RawFd,
    kind: Kind,
    device: u64,
    filter: Filter,
    variant: &Variant,
) -> Admission {
    match kind {
        Kind::File | Kind::Queue if filter == Filter::Write => Admission::Refused(libc::EINVAL),
        Kind::Pipe if filter == Filter::Write && has_no_reader(fd) => admit_broken_pipe(variant),
        // The terminal that any process calls its own; the real terminals work.
        Kind::Other if variant.system == System::MacOs && device == libc::makedev(5, 0) => {
            Admission::Refused(libc::EINVAL)
        }
        _ => Admission::Accepted,
    }
}

fn has_no_reader(fd: RawFd) -> bool {
    sys::probe::readiness(fd, libc::POLLOUT) & libc::POLLERR != 0
}

fn admit_broken_pipe(variant: &Variant) -> Admission {
    if variant.pipe_error {
        Admission::AcceptedWith(libc::EPIPE)
    } else if variant.system == System::NetBsd {
        Admission::Refused(libc::EBADF)
    } else {
        Admission::Accepted
    }
}
