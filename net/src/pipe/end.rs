//! What may be used as an end of a pipe, and how an end is handed on.

use crate::system::{kind_name, retry};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, OFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Which end of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Read,
    Write,
}

impl End {
    /// Refuses what is no pipe, and what is only its other end.
    pub(super) fn check(self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode);
        if kind != FileType::Fifo {
            return Err(no_pipe(kind));
        }
        let mode = rustix::fs::fcntl_getfl(fd)? & OFlags::RWMODE;
        match self {
            End::Read if mode == OFlags::WRONLY => Err(refuse(
                "the descriptor is the write end of a pipe; give the read end",
            )),
            End::Write if mode == OFlags::RDONLY => Err(refuse(
                "the descriptor is the read end of a pipe; give the write end",
            )),
            _ => Ok(()),
        }
    }
}

/// Says that it is something else.
pub(super) fn no_pipe(kind: FileType) -> io::Error {
    refuse(&format!(
        "this is {}, not a pipe; use windlass_reactor::Async for other kinds",
        kind_name(kind)
    ))
}

fn refuse(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Has the end block again, for programs that expect it.
pub(super) fn set_blocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(fd, false)?)
}

/// What poll(2) says of a read end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// There is something to read.
    Bytes,
    /// All writers are gone.
    Ended,
    /// There is nothing, and perhaps nobody who writes.
    Nothing,
}

impl State {
    /// Asks for it.
    pub(super) fn of(fd: impl AsFd) -> io::Result<Self> {
        let now = rustix::event::Timespec::default();
        let mut asked = [PollFd::new(&fd, PollFlags::IN)];
        retry(|| Ok(poll(&mut asked, Some(&now))?))?;
        let found = asked[0].revents();
        Ok(if found.contains(PollFlags::IN) {
            State::Bytes
        } else if found.is_empty() {
            State::Nothing
        } else {
            State::Ended
        })
    }
}
