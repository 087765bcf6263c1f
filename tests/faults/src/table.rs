//! What is to fail, and what is to come of it.
//!
//! The errors of a call are those under ERRORS on its page of the Linux manual (man-pages 6), and
//! for calls on TCP sockets those of tcp(7) and ip(7) that come up there. Left out is what is said
//! there of sockets of other families. (`EAGAIN` and `EINPROGRESS` are injected, too, though nothing
//! is under way then: so all that is to be expected is that the next event goes on.)

use crate::scene::{Server, When};
use Expected::{Ends, Later, Lost, Refused, Told, Unnoticed};

/// What a cell is expected to come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Nobody notices.
    Unnoticed,
    /// The server is told the error, and goes on: the victim is served.
    Told,
    /// The victim is served when something else happens to it, or to the server.
    Later,
    /// The connection is lost; the server is told why.
    Lost,
    /// The server does not start; it says why, and what it was about to do: these words.
    Refused(&'static str),
    /// The server ends while it runs, and says why: these words.
    Ends(&'static str),
}

/// How often the call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    Once,
    /// Each time, until strace leaves.
    Always,
}

/// One call and one error.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) call: &'static str,
    pub(crate) error: &'static str,
    pub(crate) server: Server,
    pub(crate) when: When,
    pub(crate) times: Times,
    pub(crate) expected: Expected,
    /// What is forced by `WINDLASS_BACKEND`.
    pub(crate) backend: Option<&'static str>,
    /// What is forced by `WINDLASS_NOTIFIER`.
    pub(crate) notifier: Option<&'static str>,
    /// What the server says of it, where that is not what the system says.
    pub(crate) says: Option<&'static str>,
    /// The call that fails would have closed a descriptor: that stays open.
    pub(crate) leaves_open: usize,
}

impl Cell {
    /// Returns what tells it from others.
    pub(crate) fn name(&self) -> String {
        let Cell { call, error, .. } = self;
        format!("{call} {error}, {}", self.place())
    }

    /// Says where it happens.
    pub(crate) fn place(&self) -> String {
        let forced = [(", on", self.backend), (", with a", self.notifier)];
        let forced = forced.map(|(how, what)| what.map(|what| format!("{how} {what}")));
        let always = (self.times == Times::Always).then_some(", each time");
        let (server, when) = (self.server.name(), self.when.name());
        let [backend, notifier] = forced.map(Option::unwrap_or_default);
        let always = always.unwrap_or_default();
        format!("{server}: {when}{backend}{notifier}{always}")
    }
}

/// The rows of one call in one place.
struct Row {
    cell: Cell,
    cells: Vec<Cell>,
}

fn row(call: &'static str, server: Server, when: When) -> Row {
    Row {
        cell: Cell {
            call,
            error: "",
            server,
            when,
            times: Times::Once,
            expected: Unnoticed,
            backend: None,
            notifier: None,
            says: None,
            leaves_open: 0,
        },
        cells: Vec::new(),
    }
}

impl Row {
    fn on(mut self, backend: &'static str) -> Self {
        self.cell.backend = Some(backend);
        self
    }

    fn with(mut self, notifier: &'static str) -> Self {
        self.cell.notifier = Some(notifier);
        self
    }

    fn always(mut self) -> Self {
        self.cell.times = Times::Always;
        self
    }

    fn leaves_open(mut self, descriptors: usize) -> Self {
        self.cell.leaves_open = descriptors;
        self
    }

    fn is(mut self, expected: Expected, errors: &'static str) -> Self {
        for error in errors.split_whitespace() {
            let mut cell = self.cell.clone();
            (cell.error, cell.expected) = (error, expected);
            self.cells.push(cell);
        }
        self
    }

    /// As `is`, where something else is said than what the system says.
    fn says(mut self, says: &'static str, expected: Expected, errors: &'static str) -> Self {
        self.cell.says = Some(says);
        self = self.is(expected, errors);
        self.cell.says = None;
        self
    }
}

/// Returns the whole table.
pub(crate) fn cells() -> Vec<Cell> {
    let rows = [
        starting(),
        accepting(),
        connecting(),
        transferring(),
        options(),
        ending(),
        copying(),
        datagrams(),
        unix(),
        detours(),
        waiting(),
        notifying(),
    ];
    let rows = rows.into_iter().flatten();
    rows.flat_map(|row| row.cells).collect()
}

const SOCKET: &str = "EACCES EAFNOSUPPORT EINVAL EMFILE ENFILE ENOBUFS ENOMEM EPROTONOSUPPORT";
const BIND: &str = "EACCES EADDRINUSE EADDRNOTAVAIL EBADF EFAULT EINVAL ENOMEM ENOTSOCK";
const LISTEN: &str = "EADDRINUSE EBADF ENOTSOCK EOPNOTSUPP";
const GETSOCKNAME: &str = "EBADF EFAULT EINVAL ENOBUFS ENOTSOCK";
const CONNECT: &str = "EACCES EADDRINUSE EADDRNOTAVAIL EAFNOSUPPORT EALREADY EBADF ECONNREFUSED \
                       EFAULT EISCONN ENETUNREACH ENOTSOCK EPERM EPROTOTYPE ETIMEDOUT";
const GETSOCKOPT: &str = "EBADF EFAULT EINVAL ENOPROTOOPT ENOTSOCK";
const SEND: &str = "EACCES EALREADY EBADF ECONNRESET EDESTADDRREQ EFAULT EINVAL EISCONN EMSGSIZE \
                    ENOBUFS ENOMEM ENOTCONN ENOTSOCK EOPNOTSUPP EPIPE ETIMEDOUT EHOSTUNREACH";
const RECEIVE: &str = "EBADF ECONNREFUSED ECONNRESET EFAULT EINVAL ENOMEM ENOTCONN ENOTSOCK \
                       ETIMEDOUT EHOSTUNREACH";
const EPOLL_CTL: &str = "EBADF EEXIST EINVAL ELOOP ENOENT ENOMEM ENOSPC EPERM";
const NO_NOTIFIER: Expected = Refused("the back end epoll does not take the notifier eventfd: ");
const LISTENS: Expected = Refused("cannot listen on 127.0.0.1:");

fn starting() -> Vec<Row> {
    let at_start = |call, server| row(call, server, When::Start);
    vec![
        at_start("socket", Server::Echo).is(LISTENS, SOCKET),
        at_start("setsockopt", Server::Echo).is(LISTENS, GETSOCKOPT),
        at_start("bind", Server::Echo).is(LISTENS, BIND),
        at_start("listen", Server::Echo).is(LISTENS, LISTEN),
        at_start("socket", Server::Sharded).is(LISTENS, SOCKET),
        at_start("setsockopt", Server::Sharded).is(LISTENS, GETSOCKOPT),
        at_start("bind", Server::Sharded).is(LISTENS, BIND),
        at_start("getsockname", Server::Sharded).is(LISTENS, GETSOCKNAME),
        at_start("listen", Server::Sharded)
            .is(LISTENS, "EADDRINUSE EBADF ENOTSOCK")
            // It goes on as where ports can't be shared.
            .is(Unnoticed, "EOPNOTSUPP"),
        at_start("ioctl", Server::Adopting).is(Refused(""), "EBADF EFAULT EINVAL ENOTTY"),
        at_start("socket", Server::Datagrams).is(Refused("cannot listen on 127.0.0.1:"), SOCKET),
        at_start("bind", Server::Datagrams).is(Refused("cannot listen on 127.0.0.1:"), BIND),
        at_start("fcntl", Server::ConnectedDatagrams).is(Refused(""), "EBADF EACCES EINVAL"),
        at_start("connect", Server::ConnectedDatagrams)
            .is(Refused(""), CONNECT)
            .is(Unnoticed, "EINTR"),
        at_start("epoll_create1", Server::Echo).is(Unnoticed, "EINVAL EMFILE ENFILE ENOMEM ENOSYS"),
        at_start("epoll_create1", Server::Echo)
            .on("epoll")
            .is(Refused("epoll"), "EINVAL EMFILE ENFILE ENOMEM ENOSYS"),
        at_start("eventfd2", Server::Echo)
            .is(Unnoticed, "EINVAL EMFILE ENFILE ENODEV ENOMEM ENOSYS"),
        at_start("epoll_ctl", Server::Echo)
            .is(NO_NOTIFIER, "EINVAL ELOOP ENOMEM ENOSPC")
            .says("is not open", NO_NOTIFIER, "EBADF")
            .says(
                "is registered with this epoll poller already",
                NO_NOTIFIER,
                "EEXIST",
            )
            .says(
                "is not registered with this epoll poller",
                NO_NOTIFIER,
                "ENOENT",
            )
            .says(
                "is a device that epoll cannot wait for",
                NO_NOTIFIER,
                "EPERM",
            ),
    ]
}

fn accepting() -> Vec<Row> {
    let shortages = "EMFILE ENFILE ENOBUFS ENOMEM ENOSR";
    vec![
        row("accept4", Server::Echo, When::Comes)
            .is(
                Unnoticed,
                "ECONNABORTED EINTR EPERM EPROTO ENOPROTOOPT ENOSYS",
            )
            .is(
                Unnoticed,
                "ENETDOWN EHOSTDOWN ENONET EHOSTUNREACH EOPNOTSUPP ENETUNREACH",
            )
            .is(Unnoticed, "ESOCKTNOSUPPORT EPROTONOSUPPORT ETIMEDOUT")
            .is(Told, shortages)
            .is(Told, "EBADF EFAULT EINVAL ENOTSOCK")
            .is(Later, "EAGAIN"),
        row("accept4", Server::Echo, When::Comes)
            .always()
            .is(Told, shortages),
    ]
}

fn connecting() -> Vec<Row> {
    let comes = |call, server| row(call, server, When::Comes);
    let no_cause = "connecting has ended without a connection";
    vec![
        comes("socket", Server::Relay).is(Lost, SOCKET),
        comes("connect", Server::Relay)
            .is(Lost, CONNECT)
            .says("no local port or route", Lost, "EAGAIN")
            // It was not begun, so that the socket is not connected when it is looked at.
            .says(no_cause, Lost, "EINPROGRESS EINTR"),
        comes("getsockopt", Server::Relay).is(Lost, GETSOCKOPT),
        comes("getpeername", Server::Relay)
            .is(Lost, "EBADF EFAULT EINVAL ENOBUFS ENOTSOCK")
            .says(no_cause, Lost, "ENOTCONN"),
        comes("epoll_ctl", Server::Relay).is(Lost, "EINVAL ELOOP ENOMEM ENOSPC"),
        comes("socket", Server::RelayToTwo).is(Unnoticed, SOCKET),
        comes("connect", Server::RelayToTwo)
            .is(Unnoticed, CONNECT)
            .is(Unnoticed, "EAGAIN EINPROGRESS EINTR"),
        comes("getsockopt", Server::RelayToTwo).is(Unnoticed, GETSOCKOPT),
    ]
}

fn transferring() -> Vec<Row> {
    let speaks = |call, server| row(call, server, When::Speaks);
    vec![
        speaks("recvfrom", Server::Echo)
            .is(Unnoticed, "EINTR")
            .is(Later, "EAGAIN")
            .is(Lost, RECEIVE),
        speaks("sendto", Server::Echo)
            .is(Unnoticed, "EINTR EAGAIN")
            .is(Lost, SEND),
        speaks("readv", Server::Vectored)
            .is(Unnoticed, "EINTR")
            .is(Later, "EAGAIN")
            .is(Lost, "EBADF EFAULT EINVAL EIO EISDIR ECONNRESET ETIMEDOUT"),
        speaks("sendmsg", Server::Vectored)
            .is(Unnoticed, "EINTR EAGAIN")
            .is(Lost, SEND),
        speaks("recvfrom", Server::Relay)
            .is(Unnoticed, "EINTR")
            .is(Later, "EAGAIN")
            .is(Lost, RECEIVE),
        // Not EAGAIN: what is waited for then is room, and that there is always was told before.
        speaks("sendto", Server::Relay)
            .is(Unnoticed, "EINTR")
            .is(Lost, SEND),
    ]
}

fn options() -> Vec<Row> {
    let comes = |call, server| row(call, server, When::Comes);
    vec![
        comes("getsockname", Server::Options).is(Lost, GETSOCKNAME),
        comes("getpeername", Server::Options)
            .is(Lost, "EBADF EFAULT EINVAL ENOBUFS ENOTCONN ENOTSOCK"),
        comes("setsockopt", Server::Options).is(Lost, GETSOCKOPT),
        comes("getsockopt", Server::Options).is(Lost, GETSOCKOPT),
        comes("fcntl", Server::Adopting).is(Lost, "EBADF EACCES EINVAL EPERM"),
    ]
}

fn ending() -> Vec<Row> {
    let ends = |call, server| row(call, server, When::Ends);
    vec![
        ends("shutdown", Server::Echo)
            .is(Unnoticed, "ENOTCONN")
            .is(Lost, "EBADF EINVAL ENOTSOCK"),
        ends("epoll_ctl", Server::Echo).is(Unnoticed, EPOLL_CTL),
        ends("close", Server::Echo)
            .leaves_open(1)
            .is(Unnoticed, "EBADF EINTR EIO ENOSPC EDQUOT"),
    ]
}

fn copying() -> Vec<Row> {
    let bulk = |call| row(call, Server::Relay, When::Bulk);
    vec![
        bulk("pipe2").is(Unnoticed, "EFAULT EINVAL EMFILE ENFILE ENOPKG"),
        // The size of the pipe.
        bulk("fcntl").is(Unnoticed, "EBADF EBUSY EINVAL ENOMEM EPERM"),
        bulk("splice")
            .is(Unnoticed, "EAGAIN EINTR EINVAL ENOSYS EPERM")
            .is(Lost, "EBADF ENOMEM ESPIPE EPIPE ECONNRESET"),
    ]
}

fn datagrams() -> Vec<Row> {
    let speaks = |call, server| row(call, server, When::Speaks);
    let rows = |receive, send, server| {
        [
            speaks(receive, server)
                .is(Unnoticed, "EINTR")
                .is(Later, "EAGAIN")
                .is(Told, RECEIVE),
            // The answer is not sent.
            speaks(send, server)
                .is(Unnoticed, "EINTR EAGAIN")
                .is(Lost, SEND),
        ]
    };
    let one = rows("recvmsg", "sendto", Server::Datagrams);
    one.into_iter()
        .chain(rows("recvmmsg", "sendmmsg", Server::Batches))
        .collect()
}

fn unix() -> Vec<Row> {
    let at_start = |call| row(call, Server::Unix, When::Start);
    let speaks = |call| row(call, Server::Unix, When::Speaks);
    let shortages = "EMFILE ENFILE ENOBUFS ENOMEM";
    let named = Refused("cannot have the name ");
    vec![
        at_start("socket").is(named, "EACCES EAFNOSUPPORT EINVAL EMFILE ENFILE ENOMEM"),
        at_start("bind").is(
            named,
            "EACCES EADDRINUSE EBADF EFAULT EINVAL ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EROFS",
        ),
        at_start("listen").is(named, LISTEN),
        row("accept4", Server::Unix, When::Comes)
            .is(Unnoticed, "ECONNABORTED EINTR EPERM ENOSYS")
            .is(Told, shortages)
            .is(Told, "EBADF EFAULT EINVAL ENOTSOCK")
            .is(Later, "EAGAIN"),
        row("accept4", Server::Unix, When::Comes)
            .always()
            .is(Told, shortages),
        speaks("recvfrom")
            .is(Unnoticed, "EINTR")
            .is(Later, "EAGAIN")
            .is(
                Lost,
                "EBADF ECONNRESET EFAULT EINVAL ENOMEM ENOTCONN ENOTSOCK",
            ),
        speaks("sendto").is(Unnoticed, "EINTR EAGAIN").is(
            Lost,
            "EBADF ECONNRESET EFAULT EINVAL EMSGSIZE ENOBUFS ENOMEM ENOTCONN ENOTSOCK EPIPE",
        ),
        row("shutdown", Server::Unix, When::Ends)
            .is(Unnoticed, "ENOTCONN")
            .is(Lost, "EBADF EINVAL ENOTSOCK"),
    ]
}

/// Connections whose answers go through something else first.
fn detours() -> Vec<Row> {
    let speaks = |call, server| row(call, server, When::Speaks);
    vec![
        speaks("socketpair", Server::Passing).is(
            Lost,
            "EAFNOSUPPORT EFAULT EMFILE ENFILE EOPNOTSUPP EPROTONOSUPPORT",
        ),
        speaks("sendmsg", Server::Passing)
            .is(Unnoticed, "EINTR EAGAIN")
            .is(
                Lost,
                "EBADF ECONNRESET EINVAL EMFILE EMSGSIZE ENOBUFS ENOMEM ENOTCONN EPIPE",
            )
            .is(Lost, "ETOOMANYREFS"),
        speaks("recvmsg", Server::Passing)
            .is(Unnoticed, "EINTR EAGAIN")
            .is(
                Lost,
                "EBADF ECONNRESET EFAULT EINVAL EMFILE ENOMEM ENOTCONN",
            ),
        speaks("pipe2", Server::Piping).is(Lost, "EFAULT EINVAL EMFILE ENFILE ENOPKG"),
        speaks("write", Server::Piping)
            .is(Unnoticed, "EINTR EAGAIN")
            .is(Lost, "EBADF EDESTADDRREQ EFAULT EINVAL EIO ENOSPC EPIPE"),
        speaks("read", Server::Piping)
            .is(Unnoticed, "EINTR EAGAIN")
            .is(Lost, "EBADF EFAULT EINVAL EIO EISDIR"),
        speaks("sendfile", Server::Filing)
            // What the system can't do is copied.
            .is(Unnoticed, "EINTR EINVAL ENOSYS")
            .is(Lost, "EBADF EFAULT EIO ENOMEM EOVERFLOW EPIPE ESPIPE"),
    ]
}

fn waiting() -> Vec<Row> {
    let broken = "the reactor of worker 0 failed: ";
    let waits = "EBADF EFAULT EINVAL";
    vec![
        refused_registration(row("epoll_ctl", Server::Echo, When::Comes)),
        refused_registration(row("epoll_ctl", Server::Echo, When::Floods)),
        row("epoll_wait", Server::Echo, When::Speaks)
            .is(Unnoticed, waits)
            .is(Unnoticed, "EINTR"),
        row("epoll_wait", Server::Echo, When::Speaks)
            .always()
            .is(Ends(broken), waits),
        row("epoll_pwait2", Server::Delaying, When::Speaks)
            .is(Unnoticed, waits)
            .is(Unnoticed, "EINTR ENOSYS"),
        row("ppoll", Server::Echo, When::Speaks)
            .on("poll")
            .is(Unnoticed, "EFAULT EINTR EINVAL ENOMEM"),
        row("ppoll", Server::Echo, When::Speaks)
            .on("poll")
            .always()
            .is(Ends(broken), "EFAULT EINVAL ENOMEM"),
        row("epoll_wait", Server::Foreign, When::Speaks)
            .is(Unnoticed, waits)
            .is(Unnoticed, "EINTR"),
        row("ppoll", Server::Foreign, When::Speaks)
            .on("poll")
            .is(Unnoticed, "EFAULT EINTR EINVAL ENOMEM"),
        row("ppoll", Server::Delaying, When::Speaks)
            .on("poll")
            .is(Unnoticed, "EFAULT EINTR EINVAL ENOMEM"),
    ]
}

/// Some errors have words of their own, the same on every back end.
fn refused_registration(row: Row) -> Row {
    row.is(Lost, "EINVAL ELOOP ENOMEM ENOSPC")
        .says("is not open", Lost, "EBADF")
        .says(
            "is registered with this epoll poller already",
            Lost,
            "EEXIST",
        )
        .says("is not registered with this epoll poller", Lost, "ENOENT")
        .says("is a device that epoll cannot wait for", Lost, "EPERM")
}

fn notifying() -> Vec<Row> {
    // Not EAGAIN: a counter says so at its maximum, which ends the wait by itself.
    let write = "EBADF EDESTADDRREQ EDQUOT EFAULT EFBIG EINTR EINVAL EIO ENOSPC EPERM EPIPE";
    let speaks = |call| row(call, Server::Offloading, When::Speaks);
    let comes = |call| row(call, Server::Foreign, When::Comes);
    vec![
        // There another thread tells the one that waits of each new descriptor.
        comes("write").on("poll").is(Unnoticed, write),
        speaks("write").is(Unnoticed, write),
        speaks("write").on("poll").is(Unnoticed, write),
        speaks("write").with("pipe").is(Unnoticed, write),
        speaks("read")
            .with("pipe")
            .is(Unnoticed, "EAGAIN EBADF EFAULT EINTR EINVAL EIO EISDIR"),
        speaks("read")
            .on("poll")
            .is(Unnoticed, "EAGAIN EBADF EFAULT EINTR EINVAL EIO EISDIR"),
    ]
}

#[cfg(test)]
mod tests {
    use super::cells;
    use crate::errors;
    use std::collections::HashSet;

    #[test]
    fn each_cell_is_there_once_and_its_error_is_known() {
        let mut names = HashSet::new();
        for cell in cells() {
            assert!(errors::text(cell.error).contains("os error"));
            assert!(names.insert(cell.name()), "{} is there twice", cell.name());
        }
    }
}
