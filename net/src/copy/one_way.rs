//! Copying in one direction.

use super::buffer::Lent;
use super::moving::Moving;
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
/// On Linux bytes that come in bulk are moved from one of our streams to another within the kernel,
/// by splice(2), unless the process has SIGPIPE do something (Rust's programs ignore it, and
/// splice(2) has no other way to leave it out).
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
/// Bytes that were read and not written, which there are only while the writer is blocked or after
/// an error, are lost when it is dropped. It can be awaited through `&mut`, so as not to drop it:
/// then it may go on later, or hand them back by [`take_unwritten`](Copy::take_unwritten).
pub fn copy<R: CopyFrom, W: CopyTo>(reader: R, writer: W) -> Copy<R, W> {
    Copy {
        reader,
        writer,
        moving: Moving::default(),
    }
}

/// The future of [`copy`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct Copy<R, W> {
    reader: R,
    writer: W,
    moving: Moving,
}

impl<R, W> Copy<R, W> {
    /// Returns how many bytes were written so far.
    pub fn moved(&self) -> u64 {
        self.moving.moved()
    }

    /// Takes the bytes that were read from the reader and not yet written: what is to be handed on
    /// when copying is given up in the middle. They are at most 1 MiB, and the count doesn't
    /// include them; copying may go on, without them.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// # use windlass_net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// # let address = listener.local_addr()?;
    /// # let reader = TcpStream::connect(address).await?;
    /// # let (_from, _) = listener.accept().await?;
    /// # let writer = TcpStream::connect(address).await?;
    /// # let (_to, _) = listener.accept().await?;
    /// use std::time::Duration;
    /// use windlass_reactor::time::timeout;
    ///
    /// let mut copying = windlass_net::io::copy(&reader, &writer);
    /// if timeout(Duration::from_millis(10), &mut copying).await.is_err() {
    ///     let written = copying.moved();
    ///     let unwritten = copying.take_unwritten()?;
    ///     println!("{written} bytes were written, {} are left", unwritten.len());
    ///     # assert!(unwritten.is_empty());
    /// }
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// What the system says when they are read from the pipe that may hold them; none is known.
    pub fn take_unwritten(&mut self) -> io::Result<Vec<u8>> {
        self.moving.take_unwritten()
    }
}

impl<R, W> Unpin for Copy<R, W> {}

impl<R: CopyFrom, W: CopyTo> Future for Copy<R, W> {
    type Output = io::Result<u64>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let Self {
            reader,
            writer,
            moving,
        } = self.get_mut();
        ready!(moving.poll_to_end(context, &mut Lent::default(), reader, writer))?;
        Poll::Ready(Ok(moving.moved()))
    }
}

/// One of two directions: when the reader has ended, the writer is told, and then it is over.
#[derive(Debug, Default)]
pub(super) struct OneWay {
    moving: Moving,
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
        self.moving.moved()
    }

    pub(super) fn take_unwritten(&mut self) -> io::Result<Vec<u8>> {
        self.moving.take_unwritten()
    }

    #[inline]
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
        lent: &mut Lent,
        reader: &mut impl CopyFrom,
        writer: &mut impl CopyTo,
    ) -> Poll<io::Result<()>> {
        if self.stage == Stage::Moving {
            ready!(self.moving.poll_to_end(context, lent, reader, writer))?;
            self.stage = Stage::Ending;
        }
        if self.stage == Stage::Ending {
            ready!(writer.poll_close(context))?;
            self.stage = Stage::Over;
        }
        Poll::Ready(Ok(()))
    }
}
