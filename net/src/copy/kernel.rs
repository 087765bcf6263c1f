//! What the kernel has for moving bytes to a socket, in one table: from another socket by splice(2),
//! by way of a pipe, and from a file by sendfile(2), both on Linux and Android; nothing elsewhere.
//! (Other systems have a sendfile, too, but the crate rustix doesn't have theirs.)

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) use linux::{make_pipe, may_splice, send_file, splice};
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) use none::{make_pipe, may_splice, send_file, splice};

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    use crate::system::retry;
    use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with};
    use std::io;
    use std::os::fd::{BorrowedFd, OwnedFd};
    use windlass_reactor::sys::sigpipe;

    /// What an unprivileged process may ask for, unless the administrator has set another limit.
    const SIZE: usize = 1 << 20;

    /// Says whether splicing can do no harm: to a socket whose peer is gone it raises SIGPIPE, and
    /// has no flag against it, so that the signal must be ignored.
    pub(in crate::copy) fn may_splice() -> bool {
        sigpipe::is_ignored().unwrap_or(false)
    }

    /// Makes a pipe that doesn't block: its read end, its write end, and how many bytes it holds.
    pub(in crate::copy) fn make_pipe() -> io::Result<(OwnedFd, OwnedFd, usize)> {
        let (read_end, write_end) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // Refused (EPERM) beyond a limit for all pipes of a user; then the pipe stays as it is.
        let size = match fcntl_setpipe_size(&write_end, SIZE) {
            Ok(size) => size,
            Err(_refused) => fcntl_getpipe_size(&write_end)?,
        };
        Ok((read_end, write_end, size))
    }

    /// Moves up to `most` bytes, of which one end is a pipe.
    pub(in crate::copy) fn splice(
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        most: usize,
    ) -> io::Result<usize> {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        retry(|| Ok(rustix::pipe::splice(from, None, to, None, most, flags)?))
    }

    /// Sends up to `most` bytes of a file, from `offset` on; 0 is its end.
    pub(in crate::copy) fn send_file(
        file: BorrowedFd<'_>,
        offset: u64,
        most: usize,
        socket: BorrowedFd<'_>,
    ) -> io::Result<usize> {
        let send = || {
            Ok(rustix::fs::sendfile(
                socket,
                file,
                Some(&mut { offset }),
                most,
            )?)
        };
        retry(|| sigpipe::without_signal(socket, send))
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod none {
    use std::io;
    use std::os::fd::{BorrowedFd, OwnedFd};

    pub(in crate::copy) fn may_splice() -> bool {
        false
    }

    pub(in crate::copy) fn make_pipe() -> io::Result<(OwnedFd, OwnedFd, usize)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::copy) fn splice(
        _: BorrowedFd<'_>,
        _: BorrowedFd<'_>,
        _: usize,
    ) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in crate::copy) fn send_file(
        _: BorrowedFd<'_>,
        _: u64,
        _: usize,
        _: BorrowedFd<'_>,
    ) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
