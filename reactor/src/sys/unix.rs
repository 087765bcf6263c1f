//! What is known of the process at the other end of a Unix socket, and how long names are.
//!
//! | | system call | tells the process |
//! | --- | --- | --- |
//! | Linux, Android | `SO_PEERCRED` | yes |
//! | OpenBSD | `SO_PEERCRED`, in another order | yes |
//! | NetBSD | `LOCAL_PEEREID` | yes |
//! | illumos, Solaris | `getpeerucred` | yes |
//! | Apple's systems | `getpeereid`, `LOCAL_PEERPID` | yes |
//! | FreeBSD, DragonFly | `getpeereid` | no |

use libc::sockaddr_un;
use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, BorrowedFd};

/// How many bytes of a name the system has room for, with the zero that ends a path.
pub const NAME_LENGTH: usize = size_of::<sockaddr_un>() - offset_of!(sockaddr_un, sun_path);

/// How many bytes an address has at the most that is handed over whole.
pub const ADDRESS_LENGTH: usize = size_of::<sockaddr_un>();

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The process, where it is told: 0 if it has no number here, as it is in another container.
    pub process: Option<libc::pid_t>,
    /// The effective user.
    pub user: libc::uid_t,
    /// The effective group.
    pub group: libc::gid_t,
}

/// Returns who made or connected the other end.
///
/// # Errors
///
/// What the system says: most say `ENOTCONN` of a socket that isn't connected, Linux that the user
/// and the group are -1.
pub fn peer(socket: BorrowedFd<'_>) -> io::Result<Peer> {
    system::peer(socket)
}

/// Asks for an option of a type that all zeroes are a value of.
#[cfg(not(any(
    target_os = "illumos",
    target_os = "solaris",
    target_os = "freebsd",
    target_os = "dragonfly"
)))]
fn option<T: Copy>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    zero: T,
) -> io::Result<T> {
    let mut value = zero;
    let mut length = size_of::<T>() as libc::socklen_t;
    let pointer = (&raw mut value).cast();
    // SAFETY: both pointers are to variables of this function, and the length says how much space
    // there is for the value. The callers' types are integers and structures of such.
    let got =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, pointer, &raw mut length) };
    super::check(got).map(|_| value)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use super::{BorrowedFd, Peer, io};

    pub(super) fn peer(socket: BorrowedFd<'_>) -> io::Result<Peer> {
        let none = libc::ucred {
            pid: 0,
            uid: 0,
            gid: 0,
        };
        let told = super::option(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, none)?;
        Ok(Peer {
            process: Some(told.pid),
            user: told.uid,
            group: told.gid,
        })
    }
}

#[cfg(target_os = "openbsd")]
mod system {
    use super::{BorrowedFd, Peer, io};

    pub(super) fn peer(socket: BorrowedFd<'_>) -> io::Result<Peer> {
        let none = libc::sockpeercred {
            uid: 0,
            gid: 0,
            pid: 0,
        };
        let told = super::option(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, none)?;
        Ok(Peer {
            process: Some(told.pid),
            user: told.uid,
            group: told.gid,
        })
    }
}

#[cfg(target_os = "netbsd")]
mod system {
    use super::{BorrowedFd, Peer, io};

    /// The level of the options of Unix sockets (`SOL_LOCAL`), which the crate libc lacks.
    const LOCAL: libc::c_int = 0;

    pub(super) fn peer(socket: BorrowedFd<'_>) -> io::Result<Peer> {
        let none = libc::unpcbid {
            unp_pid: 0,
            unp_euid: 0,
            unp_egid: 0,
        };
        let told = super::option(socket, LOCAL, libc::LOCAL_PEEREID, none)?;
        Ok(Peer {
            process: Some(told.unp_pid),
            user: told.unp_euid,
            group: told.unp_egid,
        })
    }
}

#[cfg(any(
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "dragonfly"
))]
mod system {
    use super::{AsRawFd, BorrowedFd, Peer, io};

    pub(super) fn peer(socket: BorrowedFd<'_>) -> io::Result<Peer> {
        let (mut user, mut group) = (0, 0);
        // SAFETY: both pointers are to variables of this function.
        let got = unsafe { libc::getpeereid(socket.as_raw_fd(), &raw mut user, &raw mut group) };
        super::super::check(got)?;
        Ok(Peer {
            process: process(socket),
            user,
            group,
        })
    }

    #[cfg(target_vendor = "apple")]
    fn process(socket: BorrowedFd<'_>) -> Option<libc::pid_t> {
        super::option(socket, libc::SOL_LOCAL, libc::LOCAL_PEERPID, 0).ok()
    }

    #[cfg(not(target_vendor = "apple"))]
    fn process(_: BorrowedFd<'_>) -> Option<libc::pid_t> {
        None
    }
}

#[cfg(any(target_os = "illumos", target_os = "solaris"))]
mod system {
    use super::{AsRawFd, BorrowedFd, Peer, io};

    pub(super) fn peer(socket: BorrowedFd<'_>) -> io::Result<Peer> {
        let mut told = std::ptr::null_mut();
        // SAFETY: the pointer is to a variable of this function; as it is null, space is allocated.
        super::super::check(unsafe { libc::getpeerucred(socket.as_raw_fd(), &raw mut told) })?;
        // SAFETY: the call has succeeded, so that this is what it has allocated, until it is freed.
        let process = unsafe { libc::ucred_getpid(told) };
        // SAFETY: as above.
        let user = unsafe { libc::ucred_geteuid(told) };
        // SAFETY: as above.
        let group = unsafe { libc::ucred_getegid(told) };
        // SAFETY: as above, and it is not used any more.
        unsafe { libc::ucred_free(told) };
        Ok(Peer {
            process: Some(process),
            user,
            group,
        })
    }
}
