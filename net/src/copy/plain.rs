//! Moving bytes through a buffer.
//!
//! 1. What was kept is written before anything is read.
//! 2. Nothing is kept but what couldn't be written at once.
//! 3. Before a read is waited for, what was written is flushed: the peer may wait for it.
//! 4. After some rounds the other tasks get their turn.
//! 5. A writer that fails leaves what it has not taken kept.

use super::buffer::{Kept, Lent, SIZE};
use super::{CopyFrom, CopyTo};
use std::io;
use std::task::{Context, Poll, ready};
use windlass_reactor::Direction;

/// How many buffers are filled in one go.
const MOST_ROUNDS: usize = 4;
/// After how many full buffers in a row bytes come in bulk.
const BULK: u8 = 2;

/// The bytes on their way in one direction.
#[derive(Debug, Default)]
pub(super) struct Plain {
    /// In a box, as most connections never have any.
    kept: Option<Box<Kept>>,
    moved: u64,
    needs_flush: bool,
    /// How many reads in a row have filled the buffer; `BULK` at the most.
    full: u8,
    ignores_bulk: bool,
}

/// Why moving through a buffer is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The reader has ended.
    End,
    /// Bytes come in bulk.
    Bulk,
}

impl Plain {
    /// Returns how many bytes were written.
    pub(super) fn moved(&self) -> u64 {
        self.moved
    }

    /// Takes the bytes that were read and not written.
    pub(super) fn take_unwritten(&mut self) -> Vec<u8> {
        let kept = self.kept.take();
        kept.map_or(Vec::new(), |kept| kept.bytes().into())
    }

    /// Counts bytes that were written in another way.
    pub(super) fn count(&mut self, moved: u64) {
        self.moved += moved;
    }

    /// Begins again with bytes that were read in another way.
    pub(super) fn begin_with(&mut self, bytes: Vec<u8>) {
        debug_assert!(self.kept.is_none());
        self.full = 0;
        if !bytes.is_empty() {
            self.kept = Some(Box::new(Kept::from_vec(bytes)));
        }
    }

    /// Never says again that bytes come in bulk.
    pub(super) fn ignore_bulk(&mut self) {
        self.ignores_bulk = true;
        self.full = 0;
    }

    /// Moves bytes until `reader` says that it has ended, or until they come in bulk; flushes what
    /// was written.
    #[inline]
    pub(super) fn poll_until(
        &mut self,
        context: &mut Context<'_>,
        lent: &mut Lent,
        reader: &mut impl CopyFrom,
        writer: &mut impl CopyTo,
    ) -> Poll<io::Result<Stop>> {
        if self.kept.is_some() {
            let written = self.poll_write_kept(context, writer);
            ready!(or_hold_back(written, reader))?;
        }
        for _ in 0..MOST_ROUNDS {
            if self.full >= BULK {
                if !self.ignores_bulk {
                    ready!(self.poll_flush(context, writer))?;
                    return Poll::Ready(Ok(Stop::Bulk));
                }
                self.full = 0;
            }
            let count = match reader.poll_read(context, lent.space())? {
                Poll::Ready(count) => count,
                Poll::Pending => {
                    ready!(self.poll_flush(context, writer))?;
                    return Poll::Pending;
                }
            };
            if count == 0 {
                ready!(self.poll_flush(context, writer))?;
                return Poll::Ready(Ok(Stop::End));
            }
            self.full = if count == SIZE { self.full + 1 } else { 0 };
            match self.poll_write(context, writer, &lent.space()[..count]) {
                Poll::Ready(Ok(written)) if written >= count => {}
                first => {
                    let written = self.poll_write_rest(context, lent, writer, count, first);
                    ready!(or_hold_back(written, reader))?;
                }
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Goes on after the `first` of several writes of the first `count` bytes of `lent`, and keeps
    /// what can't be written now.
    #[cold]
    #[inline(never)]
    fn poll_write_rest(
        &mut self,
        context: &mut Context<'_>,
        lent: &mut Lent,
        writer: &mut impl CopyTo,
        count: usize,
        first: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<()>> {
        let (mut written, mut last) = (0, first);
        loop {
            match last {
                Poll::Ready(Ok(more)) => written += more,
                stopped => {
                    self.kept = Some(Box::new(lent.keep(written, count)));
                    return stopped.map_ok(drop);
                }
            }
            if written >= count {
                return Poll::Ready(Ok(()));
            }
            last = self.poll_write(context, writer, &lent.space()[written..count]);
        }
    }

    #[cold]
    #[inline(never)]
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
            match self.poll_write(context, writer, kept.bytes()) {
                Poll::Ready(Ok(more)) => kept.advance(more),
                stopped => {
                    self.kept = Some(kept);
                    return stopped.map_ok(drop);
                }
            }
        }
        kept.give_back();
        Poll::Ready(Ok(()))
    }

    /// Writes as many of `bytes` as there is room for.
    #[inline]
    fn poll_write(
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

/// While the writer is waited for, has what the reader gets wake nobody.
fn or_hold_back<R>(written: Poll<R>, reader: &impl CopyFrom) -> Poll<R> {
    if written.is_pending() {
        if let Some(end) = reader.kernel_end() {
            end.pause(Direction::Read);
        }
    }
    written
}
