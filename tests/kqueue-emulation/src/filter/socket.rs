//! What the read and write filters both need to know about a socket with connections.
//!
//! Facts about Linux that this rests on:
//!
//! 1. A stream socket that was never connected polls as hung up (HUP) without RDHUP and without an
//!    error; a connection that has ended polls with RDHUP beside HUP.
//! 2. A pending error shows as ERR in `poll()`, and `poll()` leaves it there. There is no way to read
//!    its number without taking it away, so the number is worked out from what is known about the
//!    connection: `ECONNREFUSED` or `ETIMEDOUT` for a TCP connection that was never established,
//!    `ECONNRESET` for any other. The program still finds the real one in `SO_ERROR`. Once it has
//!    taken it there, `fflags` is 0.
//! 3. `TCP_INFO` tells the state, and with it whether the write side is shut; for a Unix stream
//!    socket sending no bytes tells, as it gives `EPIPE` then and does nothing otherwise.
//! 4. When either side of a connection is shut, both filters get an edge. On TCP the one that is
//!    not concerned is told from a real one: if no byte has been written (or received) since the
//!    filter's last report, and it would report the same end and error, then nothing has happened
//!    to its side. For as long as nothing is written, what was writable stays so.

use std::os::fd::RawFd;

use super::kind::Kind;
use crate::knote::Filter;
use crate::sys::probe;

/// A look at a socket with connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    fd: RawFd,
    kind: Kind,
    revents: i16,
}

impl Look {
    /// Looks at a socket; `None` for one that has never been connected (fact 1), which neither
    /// filter reports.
    pub(crate) fn take(fd: RawFd, kind: Kind, events: i16) -> Option<Self> {
        let revents = probe::readiness(fd, events | libc::POLLRDHUP);
        let ended = libc::POLLRDHUP | libc::POLLERR;
        let never_connected = revents & libc::POLLHUP != 0 && revents & ended == 0;
        let closed = revents & libc::POLLNVAL != 0;
        (!never_connected && !closed).then_some(Self { fd, kind, revents })
    }

    /// Tells whether any of the bits of `poll()` is set.
    pub(crate) fn has(&self, events: i16) -> bool {
        self.revents & events != 0
    }

    /// Works out the pending error (fact 2), 0 for none.
    pub(crate) fn error(&self) -> u32 {
        if !self.has(libc::POLLERR) {
            return 0;
        }
        let error = match self.tcp() {
            Some(tcp) if !tcp.was_established && tcp.retransmitted => libc::ETIMEDOUT,
            Some(tcp) if !tcp.was_established => libc::ECONNREFUSED,
            _ => libc::ECONNRESET,
        };
        error.unsigned_abs()
    }

    /// Tells whether this is a TCP connection that failed before it was established.
    pub(crate) fn is_refused(&self) -> bool {
        self.has(libc::POLLHUP) && self.tcp().is_some_and(|tcp| !tcp.was_established)
    }

    /// Tells whether the write side is shut (fact 3).
    pub(crate) fn is_shut_for_writing(&self) -> bool {
        // From the kernel's list of states: the ones after our own FIN, and the closed one.
        const FIN_WAIT_1: u8 = 4;
        const FIN_WAIT_2: u8 = 5;
        const TIME_WAIT: u8 = 6;
        const CLOSED: u8 = 7;
        const LAST_ACK: u8 = 9;
        const CLOSING: u8 = 11;
        match self.kind {
            Kind::UnixStream => probe::stream_is_shut_for_writing(self.fd),
            _ => self.tcp().is_some_and(|tcp| {
                matches!(
                    tcp.state,
                    FIN_WAIT_1 | FIN_WAIT_2 | TIME_WAIT | CLOSED | LAST_ACK | CLOSING
                )
            }),
        }
    }

    fn tcp(&self) -> Option<probe::TcpStatus> {
        (self.kind == Kind::Tcp)
            .then(|| probe::tcp_status(self.fd))
            .flatten()
    }
}

/// Counts the bytes that have ever passed through one side of a TCP connection (fact 4); `None` for
/// other sockets and for a listener, whose connections are not counted.
pub(crate) fn progress(fd: RawFd, kind: Kind, filter: Filter) -> Option<u64> {
    const LISTENING: u8 = 10;
    // The queue is asked before the acknowledged bytes: an acknowledgement in between then makes
    // the sum too large, which at worst lets an edge through, and never too small.
    let queued = (filter == Filter::Write)
        .then(|| probe::amount(fd, libc::TIOCOUTQ))
        .flatten();
    let tcp = (kind == Kind::Tcp)
        .then(|| probe::tcp_status(fd))
        .flatten()?;
    match filter {
        _ if tcp.state == LISTENING => None,
        Filter::Write => Some(tcp.acknowledged + u64::try_from(queued?).ok()?),
        _ => Some(tcp.received),
    }
}

/// Tells whether a socket listens.
pub(crate) fn is_listening(fd: RawFd) -> bool {
    probe::socket_option(fd, libc::SO_ACCEPTCONN) == Some(1)
}
