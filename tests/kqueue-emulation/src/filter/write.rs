//! `EVFILT_WRITE`.

use std::os::fd::RawFd;

use super::kind::Kind;
use super::socket::{self, Look};
use crate::knote::Report;
use crate::sys::probe;

/// Looks at a descriptor.
pub(crate) fn look(fd: RawFd, kind: Kind) -> Option<Report> {
    match kind {
        // Refused when they are added.
        Kind::File | Kind::Queue => None,
        Kind::Tcp | Kind::UnixStream | Kind::Connected if socket::is_listening(fd) => None,
        Kind::Tcp | Kind::UnixStream | Kind::Connected => look_at_connection(fd, kind),
        Kind::Datagram | Kind::Pipe | Kind::Other => look_at_stream(fd, kind),
    }
}

/// Reports space, or that writing is over: shut by ourselves or gone with the connection. A peer
/// that has merely ended its own sending does not count.
fn look_at_connection(fd: RawFd, kind: Kind) -> Option<Report> {
    let look = Look::take(fd, kind, libc::POLLOUT)?;
    let eof = look.has(libc::POLLHUP | libc::POLLERR) || look.is_shut_for_writing();
    (eof || look.has(libc::POLLOUT)).then(|| Report {
        data: socket_space(fd),
        fflags: if eof { look.error() } else { 0 },
        eof,
    })
}

fn look_at_stream(fd: RawFd, kind: Kind) -> Option<Report> {
    let revents = probe::readiness(fd, libc::POLLOUT);
    if revents & libc::POLLNVAL != 0 {
        return None;
    }
    // A datagram socket's error is for the next call to find; nothing has been shut.
    let ended = kind != Kind::Datagram && revents & libc::POLLERR != 0;
    let eof = ended || revents & libc::POLLHUP != 0;
    let ready = revents & (libc::POLLOUT | libc::POLLERR) != 0;
    (ready || eof).then(|| Report {
        data: space(fd, kind),
        fflags: 0,
        eof,
    })
}

fn space(fd: RawFd, kind: Kind) -> isize {
    match kind {
        Kind::Datagram => socket_space(fd),
        Kind::Pipe => {
            let used = probe::amount(fd, libc::FIONREAD).unwrap_or(0);
            (probe::pipe_capacity(fd) - used).max(0)
        }
        // Nothing is known but that there is some.
        _ => 1,
    }
}

fn socket_space(fd: RawFd) -> isize {
    let buffer = probe::socket_option(fd, libc::SO_SNDBUF).unwrap_or(0) as isize;
    let queued = probe::amount(fd, libc::TIOCOUTQ).unwrap_or(0);
    (buffer - queued).max(0)
}
