//! All bytes up to a delimiter, but not without bound.

use super::ReadUntilError;
use futures_io::AsyncBufRead;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Pieces that each end with a delimiter, read one after the other; holds what came of the one that
/// is not whole yet.
///
/// What came of the piece after it stays in the reader: one that has a buffer, such as the
/// `BufReader` of futures around a stream of ours. Keep both, and nothing is lost, whichever
/// future is dropped.
///
/// ```
/// # futures::executor::block_on(async {
/// # use windlass_net::{TcpListener, TcpStream};
/// # let listener = TcpListener::bind("127.0.0.1:0").await?;
/// # let client = TcpStream::connect(listener.local_addr()?).await?;
/// # let (server, _) = listener.accept().await?;
/// use futures::io::BufReader;
/// use windlass_net::io::{ReadUntil, ReadUntilError};
///
/// let mut reader = BufReader::new(server);
/// let mut words = ReadUntil::new(b' ', 8);
/// client.write_all(b"short very-long-word short").await?;
/// client.shutdown(std::net::Shutdown::Write)?;
///
/// assert_eq!(words.read_from(&mut reader).await?, Some(b"short".to_vec()));
///
/// let error = words.read_from(&mut reader).await.unwrap_err();
/// assert!(matches!(error, ReadUntilError::TooLong { limit: 8 }));
/// assert_eq!(words.held(), b"very-lon");
/// // It may have more after all.
/// words.set_limit(80);
/// assert_eq!(words.read_from(&mut reader).await?, Some(b"very-long-word".to_vec()));
///
/// let error = words.read_from(&mut reader).await.unwrap_err();
/// assert!(matches!(error, ReadUntilError::Unfinished { length: 5 }));
/// assert_eq!(words.take(), b"short");
/// assert_eq!(words.read_from(&mut reader).await?, None);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[must_use = "it may hold bytes that were taken from the reader"]
pub struct ReadUntil {
    delimiter: u8,
    limit: usize,
    /// What came of the piece that is not whole yet: `limit` bytes at the most, unless the limit
    /// was lowered.
    held: Vec<u8>,
    /// The piece is passed over.
    skips: bool,
}

impl ReadUntil {
    /// Begins; a piece may have `limit` bytes, its delimiter not counted.
    ///
    /// ```
    /// # use windlass_net::io::ReadUntil;
    /// // What find(1) prints with -print0, for paths as long as Linux has them.
    /// let paths = ReadUntil::new(0, 4096);
    /// ```
    pub fn new(delimiter: u8, limit: usize) -> Self {
        Self {
            delimiter,
            limit,
            held: Vec::new(),
            skips: false,
        }
    }

    /// Returns what came of the piece that is not whole yet.
    pub fn held(&self) -> &[u8] {
        &self.held
    }

    /// Takes what came of the piece that is not whole yet; the next piece is what follows.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Returns how many bytes a piece may have.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Changes how many bytes a piece may have, also the one that has begun.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Gives up the piece that has begun, as when it is too long: whatever comes is passed over, up
    /// to the next delimiter or the end. Returns what came of it so far.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// # use windlass_net::io::ReadUntil;
    /// let mut reader = &b"much too long;fits;"[..];
    /// let mut pieces = ReadUntil::new(b';', 4);
    /// assert!(pieces.read_from(&mut reader).await.is_err());
    /// assert_eq!(pieces.skip(), b"much");
    /// assert_eq!(pieces.read_from(&mut reader).await?, Some(b"fits".to_vec()));
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn skip(&mut self) -> Vec<u8> {
        self.skips = true;
        self.take()
    }

    /// Reads until a piece is whole, and returns it without its delimiter; `None` if the reader has
    /// ended and nothing is [held](ReadUntil::held).
    ///
    /// # Errors
    ///
    /// One that says that the piece is too long or unfinished, or that of the reader. Nothing is
    /// lost by it; but unless something is done about it, it comes again.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: what came is in here and in the reader.
    pub async fn read_from<R>(&mut self, reader: &mut R) -> Result<Option<Vec<u8>>, ReadUntilError>
    where
        R: AsyncBufRead + Unpin + ?Sized,
    {
        poll_fn(|context| self.poll_read_from(context, Pin::new(&mut *reader))).await
    }

    /// As [`read_from`](ReadUntil::read_from), for those who write futures by hand.
    ///
    /// # Errors
    ///
    /// As for [`read_from`](ReadUntil::read_from).
    pub fn poll_read_from<R: AsyncBufRead + ?Sized>(
        &mut self,
        context: &mut Context<'_>,
        mut reader: Pin<&mut R>,
    ) -> Poll<Result<Option<Vec<u8>>, ReadUntilError>> {
        loop {
            let bytes = ready!(reader.as_mut().poll_fill_buf(context))?;
            if bytes.is_empty() {
                return Poll::Ready(self.end());
            }
            let end = bytes.iter().position(|byte| *byte == self.delimiter);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.skips {
                let passed = piece.len() + usize::from(end.is_some());
                self.skips = end.is_none();
                reader.as_mut().consume(passed);
                continue;
            }
            let room = self.limit.saturating_sub(self.held.len());
            let fits = piece.len().min(room);
            let is_too_long = fits < piece.len();
            self.held.extend_from_slice(&piece[..fits]);
            if is_too_long {
                reader.as_mut().consume(fits);
                let limit = self.limit;
                return Poll::Ready(Err(ReadUntilError::TooLong { limit }));
            }
            reader.as_mut().consume(fits + usize::from(end.is_some()));
            if end.is_some() {
                return Poll::Ready(Ok(Some(self.take())));
            }
        }
    }

    fn end(&mut self) -> Result<Option<Vec<u8>>, ReadUntilError> {
        self.skips = false;
        match self.held.len() {
            0 => Ok(None),
            length => Err(ReadUntilError::Unfinished { length }),
        }
    }
}

/// Shows how much it holds, not the bytes, which may be a secret.
impl fmt::Debug for ReadUntil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadUntil")
            .field("delimiter", &self.delimiter.escape_ascii().to_string())
            .field("limit", &self.limit)
            .field("held", &self.held.len())
            .finish()
    }
}
