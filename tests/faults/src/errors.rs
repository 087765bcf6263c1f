//! The names of errors.

/// Returns the number of an error of that name.
///
/// # Panics
///
/// If the name is in no manual page that the table goes by.
pub(crate) fn number(name: &str) -> i32 {
    let known = KNOWN.iter().find(|(known, _)| *known == name);
    known
        .unwrap_or_else(|| panic!("{name} is not in the list"))
        .1
}

/// Says what the system says of an error of that name, as it ends the text of an `io::Error`.
pub(crate) fn text(name: &str) -> String {
    std::io::Error::from_raw_os_error(number(name)).to_string()
}

macro_rules! known {
    ($($name:ident)*) => {
        &[$((stringify!($name), libc::$name)),*]
    };
}

const KNOWN: &[(&str, i32)] = known! {
    EACCES EADDRINUSE EADDRNOTAVAIL EAFNOSUPPORT EAGAIN EALREADY EBADF EBUSY ECONNABORTED
    ECONNREFUSED ECONNRESET EDESTADDRREQ EDQUOT EEXIST EFAULT EFBIG EHOSTDOWN EHOSTUNREACH
    EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR ELOOP EMFILE EMSGSIZE ENAMETOOLONG ENETDOWN
    ENETUNREACH ENFILE ENOBUFS ENODEV ENOENT ENOMEM ENONET ENOPKG ENOPROTOOPT ENOSPC ENOSR ENOSYS
    ENOTCONN ENOTDIR ENOTSOCK ENOTTY EOPNOTSUPP EOVERFLOW EPERM EPIPE EPROTO EPROTONOSUPPORT
    EPROTOTYPE EROFS ESOCKTNOSUPPORT ESPIPE ETIMEDOUT ETOOMANYREFS
};
