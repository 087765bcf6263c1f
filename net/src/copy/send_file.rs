//! Sending a file, or a part of one.
//!
//! 1. What was sent is known at all times: the range begins where it goes on.
//! 2. Nothing is kept between two polls: what couldn't be written is read again.
//! 3. A file that ends before the range does is an error, and is not asked again.
//! 4. Where the kernel won't have these ends, it goes on through a buffer.

use super::buffer::{Lent, SIZE};
use super::kernel;
use super::splice::is_unsupported;
use super::{CopyTo, KernelEnd};
use crate::system::{kind_name, retry};
use rustix::fs::FileType;
use std::fmt;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use windlass_reactor::Direction;

/// How many bytes are sent in one go, before the other tasks get their turn.
const MOST_AT_ONCE: usize = 512 * 1024;

/// Sends the bytes of `file` that are in `range` to `writer`; returns how many this call has sent.
///
/// The start of `range` moves on with what is sent, so that it says what is left when the future is
/// dropped or fails: another call goes on from there. Where the file itself stands (its cursor) is
/// neither used nor changed. The writer is flushed, but not shut down.
///
/// On Linux a stream of ours is sent to within the kernel, by sendfile(2): the file isn't copied
/// into the program, and what is changed in it afterwards may be changed for the receiver, too. To
/// other writers, and elsewhere, it goes through a buffer.
///
/// Reading a file blocks the thread until the disk has delivered, for parts that the system doesn't
/// have in memory. Where that matters, have them read ahead by `spawn_blocking`, or run this in a
/// runtime of its own.
///
/// ```
/// # futures::executor::block_on(async {
/// # use windlass_net::{TcpListener, TcpStream};
/// # let listener = TcpListener::bind("127.0.0.1:0").await?;
/// # let stream = TcpStream::connect(listener.local_addr()?).await?;
/// # let (peer, _) = listener.accept().await?;
/// use std::fs::File;
/// use windlass_net::io::send_file;
///
/// let file = File::open("Cargo.toml")?;
/// let mut rest = 0..file.metadata()?.len();
/// # let length = rest.end;
/// let sent = send_file(&file, &mut rest, &stream).await?;
/// # assert_eq!(sent, length);
/// assert!(rest.is_empty());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// # Errors
///
/// `UnexpectedEof` if the file ends before the range does, as when it is truncated meanwhile.
/// `InvalidInput` with a [`NotRegularFile`] inside if it is no regular file: others have no place to
/// send from, and may be given to [`copy`](super::copy()). Else the first error of the file or the
/// writer: `BrokenPipe` or `ConnectionReset` if the peer is gone. There is no `SIGPIPE`.
///
/// # Cancel safety
///
/// Nothing is lost or sent twice: `range` says where to go on.
pub fn send_file<'a, F: AsFd, W: CopyTo>(
    file: &'a F,
    range: &'a mut Range<u64>,
    writer: W,
) -> SendFile<'a, F, W> {
    SendFile {
        file,
        range,
        writer,
        sent: 0,
        stage: Stage::New,
    }
}

/// The future of [`send_file`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct SendFile<'a, F, W> {
    file: &'a F,
    range: &'a mut Range<u64>,
    writer: W,
    sent: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing is known of the file, and the writer may keep something back.
    New,
    /// Within the kernel, if the writer has an end there.
    Kernel,
    /// Through a buffer.
    Plain,
}

impl<F, W> Unpin for SendFile<'_, F, W> {}

impl<F: AsFd, W: CopyTo> Future for SendFile<'_, F, W> {
    type Output = io::Result<u64>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let sending = self.get_mut();
        if sending.stage == Stage::New {
            check(sending.file.as_fd())?;
            ready!(sending.writer.poll_flush(context))?;
            sending.stage = Stage::Kernel;
        }
        let sent_before = sending.sent;
        while !sending.range.is_empty() {
            if sending.sent - sent_before >= MOST_AT_ONCE as u64 {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            ready!(sending.poll_some(context))?;
        }
        ready!(sending.writer.poll_flush(context))?;
        Poll::Ready(Ok(sending.sent))
    }
}

impl<F: AsFd, W: CopyTo> SendFile<'_, F, W> {
    /// Sends a piece.
    fn poll_some(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.stage == Stage::Kernel {
            let file = self.file.as_fd();
            let most = self.most(MOST_AT_ONCE);
            let offset = self.range.start;
            let count = match self.writer.kernel_end() {
                Some(end) => ready!(poll_kernel(context, file, offset, most, end)),
                None => Err(io::ErrorKind::Unsupported.into()),
            };
            match count {
                Err(error) if is_unsupported(&error) => self.stage = Stage::Plain,
                count => return Poll::Ready(self.advance(count?)),
            }
        }
        self.poll_plain(context)
    }

    /// Reads a piece, and writes as much of it as there is room for.
    fn poll_plain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut lent = Lent::default();
        let most = self.most(SIZE);
        let (file, offset) = (self.file.as_fd(), self.range.start);
        let space = &mut lent.space()[..most];
        let count = retry(|| Ok(rustix::io::pread(file, &mut *space, offset)?))?;
        if count == 0 {
            return Poll::Ready(self.advance(0));
        }
        let mut rest = &space[..count];
        while !rest.is_empty() {
            let written = ready!(self.writer.poll_write(context, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(written)?;
            rest = &rest[written..];
        }
        Poll::Ready(Ok(()))
    }

    /// Returns how many bytes to send next, `limit` at the most.
    fn most(&self, limit: usize) -> usize {
        let left = self.range.end - self.range.start;
        usize::try_from(left).map_or(limit, |left| left.min(limit))
    }

    /// Takes note of what was sent; nothing is the end of the file.
    fn advance(&mut self, count: usize) -> io::Result<()> {
        if count == 0 {
            return Err(ended(self.range));
        }
        self.range.start += count as u64;
        self.sent += count as u64;
        Ok(())
    }
}

fn poll_kernel(
    context: &mut Context<'_>,
    file: BorrowedFd<'_>,
    offset: u64,
    most: usize,
    end: KernelEnd<'_>,
) -> Poll<io::Result<usize>> {
    end.poll_on(context, Direction::Write, |socket| {
        kernel::send_file(file, offset, most, socket)
    })
}

fn check(file: BorrowedFd<'_>) -> io::Result<()> {
    match FileType::from_raw_mode(rustix::fs::fstat(file)?.st_mode) {
        FileType::RegularFile => Ok(()),
        other => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            NotRegularFile(kind_name(other)),
        )),
    }
}

#[cold]
fn ended(left: &Range<u64>) -> io::Error {
    let Range { start, end } = left;
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        format!("the file ends at byte {start}, before the end of the range, {end}"),
    )
}

/// Why [`send_file`] refuses a descriptor; inside the [`io::Error`] that it returns.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::io::{FuturesIo, NotRegularFile, send_file};
///
/// let directory = std::fs::File::open("/")?;
/// let refused = send_file(&directory, &mut (0..1), FuturesIo(Vec::new())).await.unwrap_err();
/// assert!(refused.get_ref().unwrap().is::<NotRegularFile>());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotRegularFile(&'static str);

impl fmt::Display for NotRegularFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.0;
        write!(
            f,
            "this is {kind}, and only a regular file can be sent from a place in it; use `copy`"
        )
    }
}

impl std::error::Error for NotRegularFile {}
