//! The end of a pipe that is written to.

use super::end::{self, End};
use crate::system::retry;
use std::fmt;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll, ready};
use windlass_reactor::sys::sigpipe::without_signal;
use windlass_reactor::{Async, Direction, Taken, budget};

/// The end of a pipe that is written to; made by [`pipe`](crate::pipe()), by
/// [`open`](PipeWriter::open), or from a descriptor.
///
/// All methods but [`close`](PipeWriter::close) take `&self`. Of several tasks that write at once,
/// pieces of up to `PIPE_BUF` bytes (4096 on Linux, at least 512) go whole; larger ones may mix.
///
/// Readers see the end when all write ends are closed: dropped, or closed by `close`. So a program
/// must not keep one that it has given to a child.
///
/// The input of a child process:
///
/// ```
/// # futures::executor::block_on(async {
/// use std::process::{Command, Stdio};
/// use windlass_net::PipeWriter;
///
/// let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
/// let input = PipeWriter::try_from(child.stdin.take().unwrap())?;
/// input.write_all(b"hello\n").await?;
/// drop(input);
/// assert!(child.wait()?.success());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct PipeWriter {
    /// `None` once it is closed.
    inner: Option<Async<OwnedFd>>,
}

impl PipeWriter {
    pub(super) fn from_nonblocking(fd: OwnedFd) -> Self {
        Self {
            inner: Some(Async::from_nonblocking(fd)),
        }
    }

    /// Lends the descriptor; `None` once it is closed.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.inner.as_ref().map(AsFd::as_fd)
    }

    /// Gives back the descriptor, which still doesn't block; `None` once it is closed.
    pub fn into_fd(self) -> Option<OwnedFd> {
        self.inner.map(Async::into_inner)
    }

    /// Gives back the descriptor and has it block, which all duplicates of it share: for the
    /// standard output of a child process. See
    /// [`PipeReader::into_blocking_fd`](crate::PipeReader::into_blocking_fd).
    ///
    /// # Errors
    ///
    /// `BrokenPipe` if it is closed.
    pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
        let fd = self.into_fd().ok_or_else(closed)?;
        end::set_blocking(fd.as_fd())?;
        Ok(fd)
    }

    /// Closes it, as dropping it does; what is written later is an error.
    pub fn close(&mut self) {
        self.inner = None;
    }

    fn open_end(&self) -> io::Result<&Async<OwnedFd>> {
        self.inner.as_ref().ok_or_else(closed)
    }

    /// Writes as much of `bytes` as there is room for, waiting until there is some; returns how
    /// many bytes were taken. Up to `PIPE_BUF` of them are taken together.
    ///
    /// # Errors
    ///
    /// `BrokenPipe` if all readers are gone, or it is closed. There is no `SIGPIPE`, whatever the
    /// program has that do.
    ///
    /// # Cancel safety
    ///
    /// Nothing is written by a future that is dropped before it is done.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let operation = |fd: &OwnedFd| send(fd.as_fd(), bytes);
        self.open_end()?.io_with(Direction::Write, operation).await
    }

    /// Writes from several buffers, one after the other; else as [`write`](PipeWriter::write).
    ///
    /// # Errors
    ///
    /// As for [`write`](PipeWriter::write).
    ///
    /// # Cancel safety
    ///
    /// As for [`write`](PipeWriter::write).
    pub async fn write_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let operation = |fd: &OwnedFd| send_vectored(fd.as_fd(), buffers);
        self.open_end()?.io_with(Direction::Write, operation).await
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    ///
    /// As for [`write`](PipeWriter::write). Some of the bytes may have been written.
    ///
    /// # Cancel safety
    ///
    /// How much was written before it is dropped isn't known;
    /// [`write_all_from`](PipeWriter::write_all_from) tells it.
    pub async fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        self.write_all_from(bytes, &mut 0).await
    }

    /// Writes all of `bytes` but the first `written`, which were written before; counts on in
    /// `written`, so that it can go on later.
    ///
    /// # Errors
    ///
    /// As for [`write`](PipeWriter::write); `written` is right then, too.
    ///
    /// # Panics
    ///
    /// If `written` is more than there are bytes.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: `written` says how far it came.
    pub async fn write_all_from(&self, bytes: &[u8], written: &mut usize) -> io::Result<()> {
        assert!(
            *written <= bytes.len(),
            "more is written than there are bytes"
        );
        while *written < bytes.len() {
            match self.write(&bytes[*written..]).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => *written += count,
            }
        }
        Ok(())
    }

    /// Writes what there is room for, without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is no room, also for fewer than `PIPE_BUF` bytes that don't fit
    /// together; else as for [`write`](PipeWriter::write).
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let operation = |fd: &OwnedFd| send(fd.as_fd(), bytes);
        self.open_end()?.try_io_taking(Direction::Write, operation)
    }

    /// Writes from several buffers what there is room for, without waiting.
    ///
    /// # Errors
    ///
    /// As for [`try_write`](PipeWriter::try_write).
    pub fn try_write_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let operation = |fd: &OwnedFd| send_vectored(fd.as_fd(), buffers);
        self.open_end()?.try_io_taking(Direction::Write, operation)
    }

    /// Waits until a write may succeed, or all readers are gone. It may still say `WouldBlock`, and
    /// does if none was tried since there was room; so it is followed by
    /// [`try_write`](PipeWriter::try_write), in a loop.
    ///
    /// # Errors
    ///
    /// `BrokenPipe` if it is closed; what the system says when the pipe is registered with the
    /// reactor.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when it is dropped.
    pub async fn writable(&self) -> io::Result<()> {
        self.open_end()?.writable().await
    }

    /// As [`write`](PipeWriter::write), for those who write futures by hand. Of several tasks that
    /// call a `poll_` method, the latest is woken.
    ///
    /// # Errors
    ///
    /// As for [`write`](PipeWriter::write).
    pub fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let operation = |fd: &OwnedFd| send(fd.as_fd(), bytes);
        self.open_end()?
            .poll_io_with(context, Direction::Write, operation)
    }

    /// As [`write_vectored`](PipeWriter::write_vectored); see
    /// [`poll_write`](PipeWriter::poll_write).
    ///
    /// # Errors
    ///
    /// As for [`write`](PipeWriter::write).
    pub fn poll_write_vectored(
        &self,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let operation = |fd: &OwnedFd| send_vectored(fd.as_fd(), buffers);
        self.open_end()?
            .poll_io_with(context, Direction::Write, operation)
    }

    /// As [`writable`](PipeWriter::writable); see [`poll_write`](PipeWriter::poll_write).
    ///
    /// # Errors
    ///
    /// As for [`writable`](PipeWriter::writable).
    pub fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.open_end()?.poll_writable(context))?;
        Poll::Ready(Ok(()))
    }
}

fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<Taken<usize>> {
    sent(retry(|| {
        without_signal(fd, || Ok(rustix::io::write(fd, bytes)?))
    }))
}

fn send_vectored(fd: BorrowedFd<'_>, buffers: &[IoSlice<'_>]) -> io::Result<Taken<usize>> {
    sent(retry(|| {
        without_signal(fd, || Ok(rustix::io::writev(fd, buffers)?))
    }))
}

/// Takes what was sent from the budget of the task.
fn sent(count: io::Result<usize>) -> io::Result<Taken<usize>> {
    let count = count?;
    budget::charge_bytes(count);
    Ok(Taken::Some(count))
}

#[cold]
fn closed() -> io::Error {
    io::Error::new(
        io::ErrorKind::BrokenPipe,
        "the write end of this pipe was closed; nothing can be written to it any more",
    )
}

/// Takes a descriptor and has it not block, which all duplicates of it share.
///
/// # Errors
///
/// `InvalidInput` if it is no pipe, or only its read end.
impl TryFrom<OwnedFd> for PipeWriter {
    type Error = io::Error;

    fn try_from(fd: OwnedFd) -> io::Result<Self> {
        End::Write.check(fd.as_fd())?;
        rustix::io::ioctl_fionbio(&fd, true)?;
        Ok(Self::from_nonblocking(fd))
    }
}

impl TryFrom<std::process::ChildStdin> for PipeWriter {
    type Error = io::Error;

    fn try_from(input: std::process::ChildStdin) -> io::Result<Self> {
        OwnedFd::from(input).try_into()
    }
}

impl fmt::Debug for PipeWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PipeWriter").field(&self.fd()).finish()
    }
}
