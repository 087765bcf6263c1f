//! Moving bytes through a buffer.
//!
//! 1. What was kept is written before anything is read.
//! 2. Nothing is kept but what couldn't be written at once.
//! 3. Before a read is waited for, what was written is flushed: the peer may wait for it.
//! 4. After some rounds the other tasks get their turn.

use super::buffer::{Kept, Lent};
use super::{CopyFrom, CopyTo};
use std::io;
use std::task::{Context, Poll, ready};

/// How many buffers are filled in one go.
const MOST_ROUNDS: usize = 4;

/// The bytes on their way in one direction.
#[derive(Debug, Default)]
pub(super) struct Plain {
    kept: Option<Kept>,
    moved: u64,
    needs_flush: bool,
}

impl Plain {
    /// Returns how many bytes were written.
    pub(super) fn moved(&self) -> u64 {
        self.moved
    }

    /// Moves bytes until `reader` says that it has ended, and flushes what was written.
    pub(super) fn poll_to_end(
        &mut self,
        context: &mut Context<'_>,
        reader: &mut impl CopyFrom,
        writer: &mut impl CopyTo,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_write_kept(context, writer))?;
        for _ in 0..MOST_ROUNDS {
            // It goes back when this round is over: neither a wait nor another copy, which a
            // reader or writer may be about, finds it taken.
            let mut lent = Lent::take();
            let count = match reader.poll_read(context, lent.space())? {
                Poll::Ready(count) => count,
                Poll::Pending => {
                    ready!(self.poll_flush(context, writer))?;
                    return Poll::Pending;
                }
            };
            if count == 0 {
                return self.poll_flush(context, writer);
            }
            ready!(self.poll_write(context, writer, lent, count))?;
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Writes the first `count` bytes of `lent`, and keeps what can't be written now.
    fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        writer: &mut impl CopyTo,
        mut lent: Lent,
        count: usize,
    ) -> Poll<io::Result<()>> {
        let mut written = 0;
        while written < count {
            match self.poll_write_some(context, writer, &lent.space()[written..count]) {
                Poll::Ready(Ok(more)) => written += more,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.kept = Some(lent.keep(written, count));
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_write_kept(
        &mut self,
        context: &mut Context<'_>,
        writer: &mut impl CopyTo,
    ) -> Poll<io::Result<()>> {
        // It is put back, if something is left, before the wait.
        let Some(mut kept) = self.kept.take() else {
            return Poll::Ready(Ok(()));
        };
        while !kept.bytes().is_empty() {
            match self.poll_write_some(context, writer, kept.bytes()) {
                Poll::Ready(Ok(more)) => kept.advance(more),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.kept = Some(kept);
                    return Poll::Pending;
                }
            }
        }
        kept.give_back();
        Poll::Ready(Ok(()))
    }

    fn poll_write_some(
        &mut self,
        context: &mut Context<'_>,
        writer: &mut impl CopyTo,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(writer.poll_write(context, bytes))?;
        if count == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        self.moved += count as u64;
        self.needs_flush = true;
        Poll::Ready(Ok(count))
    }

    fn poll_flush(
        &mut self,
        context: &mut Context<'_>,
        writer: &mut impl CopyTo,
    ) -> Poll<io::Result<()>> {
        if self.needs_flush {
            ready!(writer.poll_flush(context))?;
            self.needs_flush = false;
        }
        Poll::Ready(Ok(()))
    }
}
