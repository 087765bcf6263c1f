//! Lines, one after the other.

use super::{ReadUntil, ReadUntilError};
use futures_core::Stream;
use futures_io::AsyncBufRead;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The lines of a reader that has a buffer, and what came of the one that is not whole yet.
///
/// A line ends with `\n` or `\r\n`, which is left out. It is bytes: `String::from_utf8` makes a text
/// of it, or gives the bytes back. A last line that nothing ends is an error, so that what was cut
/// off isn't taken for whole; [`take`](Lines::take) takes it nevertheless. It is a [`Stream`], too.
///
/// ```
/// # futures::executor::block_on(async {
/// # use windlass_net::{TcpListener, TcpStream};
/// # let listener = TcpListener::bind("127.0.0.1:0").await?;
/// # let client = TcpStream::connect(listener.local_addr()?).await?;
/// # let (server, _) = listener.accept().await?;
/// use futures::io::{AsyncWriteExt, BufReader, BufWriter};
/// use std::time::Duration;
/// use windlass_net::io::Lines;
/// use windlass_reactor::time::timeout;
///
/// // The two directions of a connection, each with a buffer of futures.
/// let (reader, writer) = server.into_split();
/// let mut lines = Lines::new(BufReader::new(reader), 1000);
/// let mut writer = BufWriter::new(writer);
///
/// client.write_all(b"EHLO there\r\nMAIL FR").await?;
/// assert_eq!(lines.next().await?, Some(b"EHLO there".to_vec()));
/// writer.write_all(b"250 hello\r\n").await?;
/// writer.flush().await?;
///
/// // Half a line is kept, whatever becomes of the future.
/// assert!(timeout(Duration::from_millis(20), lines.next()).await.is_err());
/// assert_eq!(lines.held(), b"MAIL FR");
/// client.write_all(b"OM:<>\r\n").await?;
/// assert_eq!(lines.next().await?, Some(b"MAIL FROM:<>".to_vec()));
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "it may hold bytes that were taken from the reader"]
pub struct Lines<R> {
    reader: R,
    until: ReadUntil,
}

impl<R> Lines<R> {
    /// Begins; a line may have `limit` bytes, of which a `\r` at its end is one.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// # use windlass_net::io::Lines;
    /// let mut lines = Lines::new(&b"one\ntwo\n"[..], 80);
    /// assert_eq!(lines.next().await?, Some(b"one".to_vec()));
    /// assert_eq!(lines.next().await?, Some(b"two".to_vec()));
    /// assert_eq!(lines.next().await?, None);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn new(reader: R, limit: usize) -> Self {
        let until = ReadUntil::new(b'\n', limit);
        Self { reader, until }
    }

    /// Returns what came of the line that is not whole yet.
    pub fn held(&self) -> &[u8] {
        self.until.held()
    }

    /// Takes what came of the line that is not whole yet; the next line is what follows.
    pub fn take(&mut self) -> Vec<u8> {
        self.until.take()
    }

    /// Gives up the line that has begun, as when it is too long; see [`ReadUntil::skip`].
    pub fn skip(&mut self) -> Vec<u8> {
        self.until.skip()
    }

    /// Changes how many bytes a line may have, also the one that has begun.
    pub fn set_limit(&mut self, limit: usize) {
        self.until.set_limit(limit);
    }

    /// Returns the reader.
    pub fn get_ref(&self) -> &R {
        &self.reader
    }

    /// Returns the reader, as to read a body that follows a line; what it gives is what comes after
    /// the last line, and after what is [held](Lines::held).
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Gives the reader back, and what came of the line that is not whole yet.
    pub fn into_parts(mut self) -> (R, Vec<u8>) {
        let held = self.until.take();
        (self.reader, held)
    }
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Reads the next line; `None` if the reader has ended and nothing is [held](Lines::held).
    ///
    /// # Errors
    ///
    /// As for [`ReadUntil::read_from`].
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: what came is in here.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, ReadUntilError> {
        poll_fn(|context| self.poll_line(context)).await
    }

    /// As [`next`](Lines::next), for those who write futures by hand.
    ///
    /// # Errors
    ///
    /// As for [`next`](Lines::next).
    pub fn poll_line(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Vec<u8>>, ReadUntilError>> {
        let reader = Pin::new(&mut self.reader);
        let mut line = ready!(self.until.poll_read_from(context, reader))?;
        if let Some(line) = &mut line {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
        }
        Poll::Ready(Ok(line))
    }
}

impl<R: AsyncBufRead + Unpin> Stream for Lines<R> {
    type Item = Result<Vec<u8>, ReadUntilError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_line(context).map(Result::transpose)
    }
}
