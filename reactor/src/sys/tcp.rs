//! What TCP sockets have that std, socket2 and rustix don't offer: fast open, and the urgent mark.
//!
//! | option | Linux, Android | FreeBSD | Apple | elsewhere |
//! | --- | --- | --- | --- | --- |
//! | [`FastOpen::Listen`] | `TCP_FASTOPEN` | `TCP_FASTOPEN` | `TCP_FASTOPEN` | `Unsupported` |
//! | [`FastOpen::Connect`] | `TCP_FASTOPEN_CONNECT` | `Unsupported` | `Unsupported` | `Unsupported` |

use super::check;
use libc::c_int;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Which end of a connection is to be opened fast: with data in its first segment (RFC 7413).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastOpen {
    /// A listener; the value is how many connections may be open that are not confirmed yet. (On
    /// FreeBSD and Apple's systems it only counts whether it is zero.)
    Listen,
    /// A socket that connects; the value is 0 or 1.
    Connect,
}

impl FastOpen {
    /// Returns the name of the option, for messages.
    pub fn name(self) -> &'static str {
        match self {
            FastOpen::Listen => "TCP_FASTOPEN",
            FastOpen::Connect => "TCP_FASTOPEN_CONNECT",
        }
    }

    /// Returns the number of the option on this system, if it has one.
    fn number(self) -> io::Result<c_int> {
        match self {
            #[cfg(any(
                target_os = "linux",
                target_os = "android",
                target_os = "freebsd",
                target_vendor = "apple"
            ))]
            FastOpen::Listen => Ok(libc::TCP_FASTOPEN),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            FastOpen::Connect => Ok(libc::TCP_FASTOPEN_CONNECT),
            #[allow(unreachable_patterns, reason = "some systems have both")]
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Sets an option of fast open.
///
/// # Errors
///
/// `Unsupported` if this system has no such option; else what it says.
pub fn set_fast_open(socket: BorrowedFd<'_>, option: FastOpen, value: c_int) -> io::Result<()> {
    let number = option.number()?;
    let length = size_of::<c_int>() as libc::socklen_t;
    let pointer = (&raw const value).cast();
    // SAFETY: the pointer is to an integer that lives over the call, and the length is its size.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            number,
            pointer,
            length,
        )
    };
    check(set).map(drop)
}

/// Returns the value of an option of fast open.
///
/// # Errors
///
/// As for [`set_fast_open`].
pub fn fast_open(socket: BorrowedFd<'_>, option: FastOpen) -> io::Result<c_int> {
    let number = option.number()?;
    let mut value: c_int = 0;
    let mut length = size_of::<c_int>() as libc::socklen_t;
    let pointer = (&raw mut value).cast();
    // SAFETY: both pointers are to variables of this function, and the length says how much space
    // there is for the value.
    let got = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            number,
            pointer,
            &raw mut length,
        )
    };
    check(got).map(|_| value)
}

/// `SIOCATMARK`, which the crate libc has for few systems.
#[cfg(all(
    any(target_os = "linux", target_os = "android"),
    not(any(target_arch = "mips", target_arch = "mips64", target_arch = "sparc64"))
))]
const AT_MARK: u32 = 0x8905;
/// The same on the BSDs, Apple's systems, Solaris, and where Linux follows it: `_IOR('s', 7, int)`.
#[cfg(not(all(
    any(target_os = "linux", target_os = "android"),
    not(any(target_arch = "mips", target_arch = "mips64", target_arch = "sparc64"))
)))]
const AT_MARK: u32 = 0x4004_7307;

/// Says whether the next byte to read is the one after which urgent data were sent (sockatmark(3)).
///
/// # Errors
///
/// What the system says: `NotATty`, by its number `ENOTTY`, of what is no stream socket.
pub fn is_at_mark(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let mut answer: c_int = 0;
    // SAFETY: this request writes one integer, and the pointer is to one that lives over the call.
    let asked = unsafe { libc::ioctl(socket.as_raw_fd(), AT_MARK as _, &raw mut answer) };
    check(asked).map(|_| answer != 0)
}
