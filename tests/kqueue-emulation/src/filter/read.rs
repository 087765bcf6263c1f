//! `EVFILT_READ`.

use std::os::fd::RawFd;

use super::kind::Kind;
use super::socket::{self, Look};
use crate::knote::Report;
use crate::sys::probe;

/// Looks at a descriptor that is not a queue. `refusal_shows_in_write` says that a refused connect
/// is reported by the write filter alone.
pub(crate) fn look(fd: RawFd, kind: Kind, refusal_shows_in_write: bool) -> Option<Report> {
    match kind {
        Kind::File => look_at_file(fd),
        Kind::Datagram => look_at_datagrams(fd),
        Kind::Tcp | Kind::UnixStream | Kind::Connected if socket::is_listening(fd) => {
            look_at_listener(fd)
        }
        Kind::Tcp | Kind::UnixStream | Kind::Connected => {
            look_at_connection(fd, kind, refusal_shows_in_write)
        }
        Kind::Pipe | Kind::Other | Kind::Queue => look_at_stream(fd),
    }
}

/// Reports a regular file while its offset is before, or beyond, its end.
fn look_at_file(fd: RawFd) -> Option<Report> {
    let length = probe::status(fd).ok()?.length;
    let data = length - probe::offset(fd);
    (data != 0).then(|| Report {
        data: data as isize,
        ..Report::default()
    })
}

/// Reports a datagram, an error that the next receive gives, or our own shutdown.
fn look_at_datagrams(fd: RawFd) -> Option<Report> {
    let revents = probe::readiness(fd, libc::POLLIN | libc::POLLRDHUP);
    let eof = revents & (libc::POLLRDHUP | libc::POLLHUP) != 0;
    let ready = eof || revents & (libc::POLLIN | libc::POLLERR) != 0;
    ready.then(|| Report {
        data: bytes(fd),
        fflags: 0,
        eof,
    })
}

/// Reports connections that wait to be accepted.
fn look_at_listener(fd: RawFd) -> Option<Report> {
    if probe::readiness(fd, libc::POLLIN) & libc::POLLIN == 0 {
        return None;
    }
    // Only TCP tells how many; elsewhere there is at least one.
    let waiting = probe::tcp_status(fd).map_or(1, |tcp| tcp.waiting.max(1));
    Some(Report {
        data: waiting as isize,
        ..Report::default()
    })
}

/// Reports data, and the end of it together with what is left of it.
fn look_at_connection(fd: RawFd, kind: Kind, refusal_shows_in_write: bool) -> Option<Report> {
    let look = Look::take(fd, kind, libc::POLLIN)?;
    let eof = look.has(libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR);
    let hidden = refusal_shows_in_write && look.is_refused();
    if hidden || !(eof || look.has(libc::POLLIN)) {
        return None;
    }
    Some(Report {
        data: bytes(fd),
        fflags: if eof { look.error() } else { 0 },
        eof,
    })
}

/// Reports a pipe, a terminal or the like. An error is that of a pipe's writing end whose reader
/// has gone, which some systems show in the read filter.
fn look_at_stream(fd: RawFd) -> Option<Report> {
    let revents = probe::readiness(fd, libc::POLLIN);
    if revents & libc::POLLNVAL != 0 {
        return None;
    }
    let eof = revents & (libc::POLLHUP | libc::POLLERR) != 0;
    let readable = revents & libc::POLLIN != 0;
    (readable || eof).then(|| Report {
        data: probe::amount(fd, libc::FIONREAD).unwrap_or(isize::from(readable)),
        fflags: 0,
        eof,
    })
}

fn bytes(fd: RawFd) -> isize {
    probe::amount(fd, libc::FIONREAD).unwrap_or(0)
}
