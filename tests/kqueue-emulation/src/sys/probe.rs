//! Looking at a descriptor without changing anything about it.

use std::mem::MaybeUninit;
use std::os::fd::RawFd;

use libc::c_int;

use super::{Errno, check};

/// Which file a number names, so that a number that was reused is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

/// What `fstat` tells.
pub(crate) struct Status {
    /// Which file it is.
    pub(crate) identity: Identity,
    /// The type bits of the mode, `S_IFREG` and so on.
    pub(crate) format: libc::mode_t,
    /// The length of a regular file.
    pub(crate) length: i64,
    /// Which device it is, if it is one.
    pub(crate) device: u64,
}

/// Describes the file behind a number; the error is `EBADF` for one that is not open.
pub(crate) fn status(fd: RawFd) -> Result<Status, Errno> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `status` is room for the structure that the call fills.
    check(unsafe { libc::fstat(fd, status.as_mut_ptr()) })?;
    // SAFETY: the call has succeeded and filled it.
    let status = unsafe { status.assume_init() };
    Ok(Status {
        identity: Identity {
            device: status.st_dev,
            inode: status.st_ino,
        },
        format: status.st_mode & libc::S_IFMT,
        length: status.st_size,
        device: status.st_rdev,
    })
}

/// Asks `poll()` what is the case now; errors and hang-ups come unasked.
pub(crate) fn readiness(fd: RawFd, events: i16) -> i16 {
    let mut entry = libc::pollfd {
        fd,
        events,
        revents: 0,
    };
    // SAFETY: one live entry.
    unsafe { libc::poll(&raw mut entry, 1, 0) };
    entry.revents
}

/// Asks an ioctl that gives an int, such as FIONREAD.
pub(crate) fn amount(fd: RawFd, request: libc::c_ulong) -> Option<isize> {
    let mut value: c_int = 0;
    // SAFETY: the requests used here write one int, and `value` is one.
    check(unsafe { libc::ioctl(fd, request as _, &raw mut value) }).ok()?;
    Some(value as isize)
}

/// Asks an integer option of the socket itself.
pub(crate) fn socket_option(fd: RawFd, option: c_int) -> Option<c_int> {
    let mut value: c_int = 0;
    let mut length = size_of::<c_int>() as libc::socklen_t;
    let place = (&raw mut value).cast();
    // SAFETY: the place has the length given; the kernel writes no more than that.
    let result = unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, option, place, &raw mut length) };
    check(result).ok()?;
    Some(value)
}

/// What TCP says about a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpStatus {
    /// The state's number in the kernel, 1 for established.
    pub(crate) state: u8,
    /// Connections that wait to be accepted, for a listener.
    pub(crate) waiting: u32,
    /// Whether the connection has ever been established.
    pub(crate) was_established: bool,
    /// Bytes that the peer has acknowledged, ever.
    pub(crate) acknowledged: u64,
    /// Bytes that have been received, ever; the peer's end counts as one.
    pub(crate) received: u64,
    /// Whether anything had to be sent again.
    pub(crate) retransmitted: bool,
}

/// Asks `TCP_INFO`, which takes nothing away from the program (`SO_ERROR` would).
pub(crate) fn tcp_status(fd: RawFd) -> Option<TcpStatus> {
    // Offsets in the kernel's `struct tcp_info`, which only ever grows.
    const RETRANSMITS: usize = 2;
    const UNACKED: usize = 24;
    const ROUND_TRIP: usize = 68;
    const TOTAL_RETRANSMITS: usize = 100;
    const BYTES_ACKED: usize = 120;
    const BYTES_RECEIVED: usize = 128;
    let mut info = [0_u8; 136];
    let mut length = info.len() as libc::socklen_t;
    let place = info.as_mut_ptr().cast();
    // SAFETY: the place has the length given; the kernel writes no more than that.
    let result = unsafe {
        libc::getsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            place,
            &raw mut length,
        )
    };
    check(result).ok()?;
    let word = |at| u32::from_ne_bytes(field(&info, at));
    let acknowledged = u64::from_ne_bytes(field(&info, BYTES_ACKED));
    Some(TcpStatus {
        state: info[0],
        waiting: word(UNACKED),
        was_established: word(ROUND_TRIP) > 0 || acknowledged > 0,
        acknowledged,
        received: u64::from_ne_bytes(field(&info, BYTES_RECEIVED)),
        retransmitted: info[RETRANSMITS] > 0 || word(TOTAL_RETRANSMITS) > 0,
    })
}

fn field<const LENGTH: usize>(info: &[u8; 136], at: usize) -> [u8; LENGTH] {
    let mut field = [0; LENGTH];
    field.copy_from_slice(&info[at..at + LENGTH]);
    field
}

/// Tells whether writing to a Unix stream socket would give `EPIPE`, by writing nothing to it.
pub(crate) fn stream_is_shut_for_writing(fd: RawFd) -> bool {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: no bytes are read from the pointer, which is valid all the same.
    let result = unsafe { libc::send(fd, b"".as_ptr().cast(), 0, flags) };
    result < 0 && super::errno() == libc::EPIPE
}

/// Gives the file offset of a regular file.
pub(crate) fn offset(fd: RawFd) -> i64 {
    // SAFETY: lseek by nothing has no conditions.
    unsafe { libc::lseek(fd, 0, libc::SEEK_CUR) }
}

/// Gives the capacity of a pipe.
pub(crate) fn pipe_capacity(fd: RawFd) -> isize {
    super::next::fcntl(fd, libc::F_GETPIPE_SZ, 0) as isize
}

/// Tells whether a number is open.
pub(crate) fn is_open(fd: RawFd) -> bool {
    super::next::fcntl(fd, libc::F_GETFD, 0) >= 0
}

/// Tells whether a number is marked close-on-exec.
pub(crate) fn is_close_on_exec(fd: RawFd) -> bool {
    super::next::fcntl(fd, libc::F_GETFD, 0) & libc::FD_CLOEXEC != 0
}
