//! Moving bytes in one direction, in the way that is best at the time.
//!
//! 1. It begins with a buffer, which is best for small messages.
//! 2. When buffers are filled one after the other, and both ends can, it goes on within the kernel.
//! 3. It goes back to the buffer when little comes, and for every end: the buffer's way alone says
//!    that the reader has ended.
//! 4. Where there is no pipe, or the system won't have these ends, it goes back, too, with what the
//!    pipe held; it doesn't try again.

use super::buffer::Lent;
use super::kernel::may_splice;
use super::plain::{self, Plain};
use super::splice::{self, Splice};
use super::{CopyFrom, CopyTo};
use std::io;
use std::task::{Context, Poll, ready};

/// The bytes on their way in one direction.
#[derive(Debug, Default)]
pub(super) struct Moving {
    plain: Plain,
    /// Set while bytes are moved within the kernel; in a box, as most connections never get there.
    splice: Option<Box<Splice>>,
}

impl Moving {
    /// Returns how many bytes were written.
    pub(super) fn moved(&self) -> u64 {
        self.plain.moved()
    }

    /// Takes the bytes that were read and not written.
    pub(super) fn take_unwritten(&mut self) -> io::Result<Vec<u8>> {
        // Only the way that it goes has some: it is left with nothing kept.
        match &mut self.splice {
            Some(splice) => splice.take_unwritten(),
            None => Ok(self.plain.take_unwritten()),
        }
    }

    /// Moves bytes until `reader` says that it has ended, and flushes what was written.
    #[inline]
    pub(super) fn poll_to_end(
        &mut self,
        context: &mut Context<'_>,
        lent: &mut Lent,
        reader: &mut impl CopyFrom,
        writer: &mut impl CopyTo,
    ) -> Poll<io::Result<()>> {
        if self.splice.is_some() {
            ready!(self.poll_splice(context, reader, writer))?;
        }
        match ready!(self.plain.poll_until(context, lent, reader, writer))? {
            plain::Stop::End => Poll::Ready(Ok(())),
            plain::Stop::Bulk => {
                self.go_over(reader, writer);
                // The next poll goes on that way: so nothing goes back and forth within one.
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }

    /// Has bytes moved within the kernel, if both ends can, and if that harms nobody.
    #[cold]
    fn go_over(&mut self, reader: &impl CopyFrom, writer: &impl CopyTo) {
        if reader.kernel_end().is_some() && writer.kernel_end().is_some() && may_splice() {
            self.splice = Some(Box::default());
        } else {
            self.plain.ignore_bulk();
        }
    }

    /// Moves bytes within the kernel until the buffer's way is to be gone.
    #[inline(never)]
    fn poll_splice(
        &mut self,
        context: &mut Context<'_>,
        reader: &impl CopyFrom,
        writer: &impl CopyTo,
    ) -> Poll<io::Result<()>> {
        let Some(splice) = &mut self.splice else {
            return Poll::Ready(Ok(()));
        };
        let stop = match (reader.kernel_end(), writer.kernel_end()) {
            (Some(from), Some(to)) => {
                let polled = splice.poll_bulk(context, from, to);
                self.plain.count(splice.take_moved());
                ready!(polled)?
            }
            _ => splice::Stop::Unsupported,
        };
        let unwritten = splice.take_unwritten()?;
        self.plain.begin_with(unwritten);
        self.splice = None;
        if stop != splice::Stop::Little {
            self.plain.ignore_bulk();
        }
        Poll::Ready(Ok(()))
    }
}
