//! Moving bytes within the kernel.
//!
//! 1. The pipe is filled only when it is empty, and emptied before it is filled again. So a call
//!    that would block is about the socket, never about the pipe.
//! 2. A pipe is kept only while bytes are in it: those were read and not written.
//! 3. A call that moves less than was asked for says nothing about what is left: only one that
//!    would block does.
//! 4. Nothing that comes from the reader is an end before a plain read has said so: splice(2)
//!    moves nothing also when urgent data are next.

use super::pipe::Pipe;
use super::traits::KernelEnd;
use rustix::io::Errno;
use std::io;
use std::os::fd::BorrowedFd;
use std::task::{Context, Poll, ready};
use windlass_reactor::Direction;

/// How many bytes are moved in one go, before the other tasks get their turn: most of a millisecond's
/// work. With a quarter of this, eight connections at once cost a third more processor time a byte.
const MOST_AT_ONCE: usize = 4 << 20;
/// What comes in pieces smaller than this isn't bulk any more,
const LEAST_BULK: usize = 16 * 1024;
/// when so many of them follow each other: now and then one comes between large ones.
const MOST_LITTLE: u32 = 8;

/// The bytes on their way in one direction.
#[derive(Debug, Default)]
pub(super) struct Splice {
    pipe: Option<Pipe>,
    /// How many bytes were written since that was asked for.
    moved: u64,
    /// How many small pieces have come in a row.
    little: u32,
}

/// Why moving within the kernel is over, for now or for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Little is coming, or nothing: which, a plain read tells.
    Little,
    /// There is no pipe to be had.
    NoPipe,
    /// The system can't do it with these ends.
    Unsupported,
}

impl Splice {
    /// Returns how many bytes were written since the last call.
    pub(super) fn take_moved(&mut self) -> u64 {
        std::mem::take(&mut self.moved)
    }

    /// Takes the bytes that were read and not written.
    pub(super) fn take_unwritten(&mut self) -> io::Result<Vec<u8>> {
        self.pipe.take().map_or(Ok(Vec::new()), Pipe::read_out)
    }

    /// Moves bytes while they come in bulk.
    pub(super) fn poll_bulk(
        &mut self,
        context: &mut Context<'_>,
        reader: KernelEnd<'_>,
        writer: KernelEnd<'_>,
    ) -> Poll<io::Result<Stop>> {
        match ready!(self.poll_rounds(context, reader, writer)) {
            Err(error) if is_unsupported(&error) => Poll::Ready(Ok(Stop::Unsupported)),
            done => Poll::Ready(done),
        }
    }

    fn poll_rounds(
        &mut self,
        context: &mut Context<'_>,
        reader: KernelEnd<'_>,
        writer: KernelEnd<'_>,
    ) -> Poll<io::Result<Stop>> {
        if self.pipe.is_some() {
            ready!(self.poll_empty(context, reader, writer))?;
        }
        let mut total = 0;
        while total < MOST_AT_ONCE {
            let Some(pipe) = Pipe::take() else {
                return Poll::Ready(Ok(Stop::NoPipe));
            };
            let count = ready!(self.poll_fill(context, reader, pipe))?;
            ready!(self.poll_empty(context, reader, writer))?;
            if self.is_over_after(count) {
                return Poll::Ready(Ok(Stop::Little));
            }
            total += count;
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Takes note of a piece that came, and says whether bulk is over, for all that is known.
    fn is_over_after(&mut self, count: usize) -> bool {
        self.little = match count {
            LEAST_BULK.. => 0,
            _ => self.little + 1,
        };
        let is_over = count == 0 || self.little == MOST_LITTLE;
        if is_over {
            self.little = 0;
        }
        is_over
    }

    /// Fills the pipe, and keeps it unless it is still empty.
    fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        reader: KernelEnd<'_>,
        mut pipe: Pipe,
    ) -> Poll<io::Result<usize>> {
        let filled = reader.poll_on(context, Direction::Read, |socket| pipe.fill_from(socket));
        if pipe.held() > 0 {
            self.pipe = Some(pipe);
        } else {
            pipe.give_back();
        }
        filled
    }

    /// Empties the pipe, if there is one, and gives it back. What the reader gets while the writer is
    /// waited for is not looked at, so it need not wake anybody.
    fn poll_empty(
        &mut self,
        context: &mut Context<'_>,
        reader: KernelEnd<'_>,
        writer: KernelEnd<'_>,
    ) -> Poll<io::Result<()>> {
        // It stays where it is until it is empty: whatever happens, its bytes are not lost.
        let Some(pipe) = &mut self.pipe else {
            return Poll::Ready(Ok(()));
        };
        while pipe.held() > 0 {
            let empty = |socket: BorrowedFd<'_>| pipe.empty_into(socket);
            let Poll::Ready(emptied) = writer.poll_on(context, Direction::Write, empty) else {
                reader.pause(Direction::Read);
                return Poll::Pending;
            };
            let count = emptied?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.moved += count as u64;
        }
        self.pipe.take().into_iter().for_each(Pipe::give_back);
        Poll::Ready(Ok(()))
    }
}

/// Says whether splice(2), or sendfile(2), can't be used on these ends, or at all; no byte was moved
/// then.
pub(super) fn is_unsupported(error: &io::Error) -> bool {
    let refusals = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::PERM];
    error.kind() == io::ErrorKind::Unsupported
        || Errno::from_io_error(error).is_some_and(|errno| refusals.contains(&errno))
}
