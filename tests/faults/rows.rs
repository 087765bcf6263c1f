//! Which calls fail, in what, and how.

/// One call that fails in a subject.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) subject: &'static str,
    pub(crate) call: &'static str,
    pub(crate) error: &'static str,
    /// As strace(1) understands it: `2` is the second call of each thread, `2+` all from there.
    pub(crate) which: &'static str,
}

/// A subject, a call, which one, and its errors.
type Row = (&'static str, &'static str, &'static str, &'static str);

/// From the sections about errors of the manual pages of each call, as far as they can come to a
/// socket of ours: not those of wrong arguments, but for one that stands for them. `EAGAIN` only
/// where the kernel may say so: once it has, it owes an event, which nobody sends for a call that
/// was made fail. Nor close(2): the descriptor would stay open, and nobody looks at what it returns.
/// Nor read(2) and write(2) of pipes, which everything around a subject calls as well.
const ROWS: &[Row] = &[
    // What a server begins with.
    ("tcp server", "epoll_create1", "1", "EMFILE ENFILE ENOMEM"),
    ("tcp server", "eventfd2", "1", "EMFILE ENFILE ENODEV ENOMEM"),
    (
        "tcp server",
        "socket",
        "1",
        "EACCES EAFNOSUPPORT EMFILE ENFILE ENOBUFS ENOMEM EPROTONOSUPPORT",
    ),
    ("tcp server", "setsockopt", "1", "EINVAL ENOPROTOOPT ENOMEM"),
    (
        "tcp server",
        "bind",
        "1",
        "EACCES EADDRINUSE EADDRNOTAVAIL ENOMEM",
    ),
    ("tcp server", "listen", "1", "EADDRINUSE EOPNOTSUPP"),
    ("tcp server", "getsockname", "1", "ENOBUFS"),
    // What it does all the time.
    (
        "tcp server",
        "accept4",
        "2",
        "ECONNABORTED EINTR EINVAL EMFILE ENFILE ENOBUFS ENOMEM EPERM EPROTO ENETDOWN \
         ENOPROTOOPT EHOSTDOWN ENONET EHOSTUNREACH EOPNOTSUPP ENETUNREACH ETIMEDOUT",
    ),
    (
        "tcp server",
        "recvfrom",
        "2",
        "ECONNREFUSED ECONNRESET EINTR ENOMEM ENOTCONN ETIMEDOUT EHOSTUNREACH ENETUNREACH",
    ),
    (
        "tcp server",
        "sendto",
        "2",
        "EACCES ECONNRESET EINTR ENOBUFS ENOMEM ENOTCONN EPIPE EHOSTUNREACH ENETUNREACH \
         ETIMEDOUT",
    ),
    ("tcp server", "epoll_ctl", "1", "ENOMEM ENOSPC"),
    ("tcp server", "epoll_ctl", "2", "ENOMEM ENOSPC"),
    ("tcp server", "epoll_ctl", "3", "ENOMEM ENOSPC"),
    ("tcp server", "epoll_pwait2", "2", "EINTR"),
    ("tcp server", "epoll_pwait2", "1+", "ENOSYS"),
    // Clients.
    (
        "tcp client",
        "socket",
        "1",
        "EACCES EAFNOSUPPORT EMFILE ENFILE ENOBUFS ENOMEM",
    ),
    (
        "tcp client",
        "connect",
        "1",
        "EACCES EPERM EADDRINUSE EADDRNOTAVAIL EAFNOSUPPORT EAGAIN ECONNREFUSED EINTR ENETUNREACH \
         EHOSTUNREACH ETIMEDOUT ECONNRESET",
    ),
    ("tcp client", "getsockopt", "1", "ENOBUFS"),
    ("tcp client", "getpeername", "1", "ENOBUFS ENOTCONN"),
    (
        "tcp client",
        "recvfrom",
        "1",
        "ECONNRESET EINTR ENOMEM ETIMEDOUT",
    ),
    ("tcp client", "sendto", "1", "ECONNRESET EINTR EPIPE"),
    ("tcp client", "epoll_ctl", "2", "ENOMEM ENOSPC"),
    (
        "tcp client, two addresses",
        "socket",
        "1",
        "EACCES EAFNOSUPPORT EMFILE ENOMEM",
    ),
    (
        "tcp client, two addresses",
        "connect",
        "1",
        "EACCES EADDRNOTAVAIL ECONNREFUSED ENETUNREACH EHOSTUNREACH ETIMEDOUT",
    ),
    // Datagrams.
    (
        "udp server",
        "socket",
        "1",
        "EACCES EMFILE ENFILE ENOBUFS ENOMEM",
    ),
    ("udp server", "bind", "1", "EACCES EADDRINUSE EADDRNOTAVAIL"),
    (
        "udp server",
        "recvmsg",
        "2",
        "ECONNREFUSED EINTR ENOMEM EHOSTUNREACH",
    ),
    (
        "udp server",
        "sendto",
        "2",
        "EACCES ECONNREFUSED EINTR EMSGSIZE ENOBUFS ENOMEM EPERM EHOSTUNREACH ENETUNREACH",
    ),
    (
        "udp batches",
        "recvmmsg",
        "2",
        "ECONNREFUSED EINTR ENOMEM ENOSYS",
    ),
    (
        "udp batches",
        "sendmmsg",
        "2",
        "EACCES ECONNREFUSED EINTR EMSGSIZE ENOBUFS ENOMEM EPERM EHOSTUNREACH",
    ),
    // Unix sockets.
    (
        "unix server",
        "socket",
        "1",
        "EACCES EAFNOSUPPORT EMFILE ENFILE ENOMEM",
    ),
    (
        "unix server",
        "bind",
        "1",
        "EACCES EADDRINUSE ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR EROFS",
    ),
    ("unix server", "listen", "1", "EADDRINUSE"),
    (
        "unix server",
        "accept4",
        "2",
        "ECONNABORTED EINTR EINVAL EMFILE ENFILE ENOBUFS ENOMEM EPERM",
    ),
    ("unix server", "recvfrom", "2", "ECONNRESET EINTR ENOMEM"),
    (
        "unix server",
        "sendto",
        "2",
        "ECONNRESET EINTR ENOBUFS ENOMEM EPIPE",
    ),
    (
        "unix descriptors",
        "socketpair",
        "1",
        "EMFILE ENFILE EOPNOTSUPP",
    ),
    (
        "unix descriptors",
        "sendmsg",
        "1",
        "EAGAIN EINTR ENOBUFS ENOMEM EPIPE ECONNRESET ETOOMANYREFS EMFILE",
    ),
    (
        "unix descriptors",
        "recvmsg",
        "1",
        "EAGAIN EINTR ENOMEM ECONNRESET EMFILE",
    ),
    // Within the kernel.
    ("copy server", "pipe2", "1+", "EMFILE ENFILE ENOMEM"),
    ("copy server", "fcntl", "1+", "EPERM EBUSY"),
    (
        "copy server",
        "splice",
        "3",
        "EINTR EINVAL ENOMEM ECONNRESET EPIPE",
    ),
    ("copy server", "splice", "1+", "EINVAL ENOSYS"),
    (
        "send file",
        "sendfile",
        "1",
        "EINTR EINVAL EIO ENOMEM ENOSYS EOVERFLOW EPIPE",
    ),
    ("pipe", "pipe2", "1", "EMFILE ENFILE"),
];

/// Returns all faults.
pub(crate) fn all() -> Vec<Fault> {
    let of_row = |&(subject, call, which, errors): &Row| {
        errors.split_whitespace().map(move |error| Fault {
            subject,
            call,
            error,
            which,
        })
    };
    ROWS.iter().flat_map(of_row).collect()
}
