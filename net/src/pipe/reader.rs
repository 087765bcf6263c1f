//! The end of a pipe that is read.

use super::end::{self, End, State};
use crate::system::retry;
use std::fmt;
use std::future::Future;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use windlass_reactor::{Async, Direction, Taken, budget};

/// The end of a pipe that is read; made by [`pipe`](crate::pipe()), by [`open`](PipeReader::open),
/// or from a descriptor.
///
/// All methods take `&self`. Any number of tasks may wait at once, but what each of several readers
/// gets is left to chance.
///
/// The output of a child process:
///
/// ```
/// # futures::executor::block_on(async {
/// use std::process::{Command, Stdio};
/// use windlass_net::PipeReader;
///
/// let mut child = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
/// let output = PipeReader::try_from(child.stdout.take().unwrap())?;
/// let mut space = [0; 16];
/// let count = output.read(&mut space).await?;
/// assert_eq!(&space[..count], b"hello\n");
/// child.wait()?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct PipeReader {
    inner: Async<ReadEnd>,
}

struct ReadEnd {
    fd: OwnedFd,
    /// It was opened by its name, and nobody is known to have written to it yet. Relaxed: it only
    /// has those ask again who need not.
    awaits_writer: AtomicBool,
}

impl PipeReader {
    pub(super) fn from_nonblocking(fd: OwnedFd, awaits_writer: bool) -> Self {
        let awaits_writer = AtomicBool::new(awaits_writer);
        Self {
            inner: Async::from_nonblocking(ReadEnd { fd, awaits_writer }),
        }
    }

    /// Gives back the descriptor, which still doesn't block.
    pub fn into_fd(self) -> OwnedFd {
        self.inner.into_inner().fd
    }

    /// Gives back the descriptor and has it block, which all duplicates of it share: for the
    /// standard input of a child process.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// use std::process::Command;
    ///
    /// let (reader, writer) = windlass_net::pipe()?;
    /// let mut sort = Command::new("sort").stdin(reader.into_blocking_fd()?).spawn()?;
    /// writer.write_all(b"b\na\n").await?;
    /// drop(writer);
    /// assert!(sort.wait()?.success());
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// What the system says; none is known.
    pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
        let fd = self.into_fd();
        end::set_blocking(fd.as_fd())?;
        Ok(fd)
    }

    /// Reads what is there into `space`, waiting until there is something; returns how many bytes
    /// came, 0 once all writers are gone.
    ///
    /// # Errors
    ///
    /// What the system says; none is usual.
    ///
    /// # Cancel safety
    ///
    /// Nothing is read by a future that is dropped before it is done.
    pub fn read(&self, space: &mut [u8]) -> impl Future<Output = io::Result<usize>> {
        self.inner
            .io_with(Direction::Read, move |end| end.receive(space))
    }

    /// Reads into several spaces, one after the other; else as [`read`](PipeReader::read).
    ///
    /// # Errors
    ///
    /// As for [`read`](PipeReader::read).
    ///
    /// # Cancel safety
    ///
    /// As for [`read`](PipeReader::read).
    pub fn read_vectored(
        &self,
        spaces: &mut [IoSliceMut<'_>],
    ) -> impl Future<Output = io::Result<usize>> {
        self.inner
            .io_with(Direction::Read, move |end| end.receive_vectored(spaces))
    }

    /// Reads until `space` is full.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` if the end comes first; else as for [`read`](PipeReader::read).
    ///
    /// # Cancel safety
    ///
    /// What was read before it is dropped is lost;
    /// [`read_exact_from`](PipeReader::read_exact_from) loses nothing.
    pub async fn read_exact(&self, space: &mut [u8]) -> io::Result<()> {
        self.read_exact_from(space, &mut 0).await
    }

    /// Reads until `space` is full, of which the first `filled` bytes are there already; counts on
    /// in `filled`, so that it can go on later.
    ///
    /// # Errors
    ///
    /// As for [`read_exact`](PipeReader::read_exact); `filled` is right then, too.
    ///
    /// # Panics
    ///
    /// If `filled` is more than `space` has.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: `filled` says how much of `space` is there.
    pub async fn read_exact_from(&self, space: &mut [u8], filled: &mut usize) -> io::Result<()> {
        assert!(*filled <= space.len(), "more is filled than there is space");
        while *filled < space.len() {
            match self.read(&mut space[*filled..]).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => *filled += count,
            }
        }
        Ok(())
    }

    /// Reads what is there, without waiting. The kernel is always asked.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is nothing; else as for [`read`](PipeReader::read).
    pub fn try_read(&self, space: &mut [u8]) -> io::Result<usize> {
        self.inner
            .try_io_taking(Direction::Read, |end| end.receive(space))
    }

    /// Reads what is there into several spaces, without waiting.
    ///
    /// # Errors
    ///
    /// As for [`try_read`](PipeReader::try_read).
    pub fn try_read_vectored(&self, spaces: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.inner
            .try_io_taking(Direction::Read, |end| end.receive_vectored(spaces))
    }

    /// Waits until a read may succeed. It may still say `WouldBlock`, and does if none was tried
    /// since bytes came last; so it is followed by [`try_read`](PipeReader::try_read), in a loop.
    ///
    /// # Errors
    ///
    /// What the system says when the pipe is registered with the reactor.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when it is dropped.
    pub fn readable(&self) -> impl Future<Output = io::Result<()>> {
        self.inner.readable()
    }

    /// As [`read`](PipeReader::read), for those who write futures by hand. Of several tasks that
    /// call a `poll_` method, the latest is woken.
    ///
    /// # Errors
    ///
    /// As for [`read`](PipeReader::read).
    pub fn poll_read(
        &self,
        context: &mut Context<'_>,
        space: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.inner
            .poll_io_with(context, Direction::Read, |end| end.receive(space))
    }

    /// As [`read_vectored`](PipeReader::read_vectored); see [`poll_read`](PipeReader::poll_read).
    ///
    /// # Errors
    ///
    /// As for [`read`](PipeReader::read).
    pub fn poll_read_vectored(
        &self,
        context: &mut Context<'_>,
        spaces: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        self.inner
            .poll_io_with(context, Direction::Read, |end| end.receive_vectored(spaces))
    }

    /// As [`readable`](PipeReader::readable); see [`poll_read`](PipeReader::poll_read).
    ///
    /// # Errors
    ///
    /// As for [`readable`](PipeReader::readable).
    pub fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_readable(context)
    }
}

impl ReadEnd {
    fn receive(&self, space: &mut [u8]) -> io::Result<Taken<usize>> {
        let has_space = !space.is_empty();
        self.receive_by(has_space, || rustix::io::read(&self.fd, &mut *space))
    }

    fn receive_vectored(&self, spaces: &mut [IoSliceMut<'_>]) -> io::Result<Taken<usize>> {
        let has_space = spaces.iter().any(|space| !space.is_empty());
        self.receive_by(has_space, || rustix::io::readv(&self.fd, spaces))
    }

    /// Reads. A short read is not believed to have taken all: a pipe in packet mode (`O_DIRECT`)
    /// has more.
    fn receive_by(
        &self,
        has_space: bool,
        mut read: impl FnMut() -> rustix::io::Result<usize>,
    ) -> io::Result<Taken<usize>> {
        loop {
            match retry(|| Ok(read()?)) {
                Ok(0) if has_space && self.awaits_writer.load(Ordering::Relaxed) => {
                    if self.has_ended()? {
                        return Ok(Taken::Some(0));
                    }
                }
                Ok(count) => {
                    budget::charge_bytes(count);
                    return Ok(Taken::Some(count));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Tells the end from a FIFO that nobody has opened for writing yet, which is `WouldBlock`. If
    /// bytes have come meanwhile, it is neither.
    #[cold]
    fn has_ended(&self) -> io::Result<bool> {
        let state = State::of(&self.fd)?;
        if state == State::Nothing {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // Somebody writes, or has done so: from now on the end is one.
        self.awaits_writer.store(false, Ordering::Relaxed);
        Ok(state == State::Ended)
    }
}

impl AsFd for ReadEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsFd for PipeReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

/// Takes a descriptor and has it not block, which all duplicates of it share.
///
/// # Errors
///
/// `InvalidInput` if it is no pipe, or only its write end.
impl TryFrom<OwnedFd> for PipeReader {
    type Error = io::Error;

    fn try_from(fd: OwnedFd) -> io::Result<Self> {
        End::Read.check(fd.as_fd())?;
        rustix::io::ioctl_fionbio(&fd, true)?;
        Ok(Self::from_nonblocking(fd, false))
    }
}

impl TryFrom<std::process::ChildStdout> for PipeReader {
    type Error = io::Error;

    fn try_from(output: std::process::ChildStdout) -> io::Result<Self> {
        OwnedFd::from(output).try_into()
    }
}

impl TryFrom<std::process::ChildStderr> for PipeReader {
    type Error = io::Error;

    fn try_from(errors: std::process::ChildStderr) -> io::Result<Self> {
        OwnedFd::from(errors).try_into()
    }
}

impl fmt::Debug for PipeReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PipeReader")
            .field(&self.inner.get_ref().fd)
            .finish()
    }
}
