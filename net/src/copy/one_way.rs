//! Copying in one direction.

use super::plain::Plain;
use super::{CopyFrom, CopyTo};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Copies from `reader` to `writer` until the reader has ended; returns how many bytes that were.
///
/// The writer is flushed, also whenever there is nothing to read for the moment, but not shut down.
/// While it waits for the reader it holds no buffer.
///
/// ```
/// # futures::executor::block_on(async {
/// # use windlass_net::{TcpListener, TcpStream};
/// # let listener = TcpListener::bind("127.0.0.1:0").await?;
/// # let client = TcpStream::connect(listener.local_addr()?).await?;
/// # let (server, _) = listener.accept().await?;
/// # client.write_all(b"hello").await?;
/// # client.shutdown(std::net::Shutdown::Write)?;
/// // An echo server's connection:
/// let count = windlass_net::io::copy(&server, &server).await?;
/// # assert_eq!(count, 5);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// # Errors
///
/// The first of the reader or the writer; [`Copy::moved`] tells how many bytes were written by
/// then.
///
/// # Cancel safety
///
/// Bytes that were read and not written, which is at most 64 KiB while the writer is blocked, are
/// lost when it is dropped; and it can be awaited through `&mut`, so as not to drop it.
pub fn copy<R: CopyFrom, W: CopyTo>(reader: R, writer: W) -> Copy<R, W> {
    Copy {
        reader,
        writer,
        plain: Plain::default(),
    }
}

/// The future of [`copy`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct Copy<R, W> {
    reader: R,
    writer: W,
    plain: Plain,
}

impl<R, W> Copy<R, W> {
    /// Returns how many bytes were written so far.
    pub fn moved(&self) -> u64 {
        self.plain.moved()
    }
}

impl<R, W> Unpin for Copy<R, W> {}

impl<R: CopyFrom, W: CopyTo> Future for Copy<R, W> {
    type Output = io::Result<u64>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let Self {
            reader,
            writer,
            plain,
        } = self.get_mut();
        ready!(plain.poll_to_end(context, reader, writer))?;
        Poll::Ready(Ok(plain.moved()))
    }
}

/// One of two directions: when the reader has ended, the writer is told, and then it is over.
#[derive(Debug, Default)]
pub(super) struct OneWay {
    plain: Plain,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Bytes are moved.
    #[default]
    Moving,
    /// The reader has ended; the writer is being shut down.
    Ending,
    Over,
}

impl OneWay {
    pub(super) fn moved(&self) -> u64 {
        self.plain.moved()
    }

    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
        reader: &mut impl CopyFrom,
        writer: &mut impl CopyTo,
    ) -> Poll<io::Result<()>> {
        if self.stage == Stage::Moving {
            ready!(self.plain.poll_to_end(context, reader, writer))?;
            self.stage = Stage::Ending;
        }
        if self.stage == Stage::Ending {
            ready!(writer.poll_close(context))?;
            self.stage = Stage::Over;
        }
        Poll::Ready(Ok(()))
    }
}
