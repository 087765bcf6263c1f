//! So many bytes, no more and no fewer.

use futures_io::AsyncRead;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Space that is read until it is full, and how much of it is.
///
/// Whoever reads keeps it; a future that fills it may be dropped at any time, and the next one goes
/// on from there. For a stream of ours alone there is also
/// [`TcpStream::read_exact_from`](crate::TcpStream::read_exact_from), which takes space and count
/// apart.
///
/// ```
/// # futures::executor::block_on(async {
/// # use windlass_net::{TcpListener, TcpStream};
/// # let listener = TcpListener::bind("127.0.0.1:0").await?;
/// # let client = TcpStream::connect(listener.local_addr()?).await?;
/// # let (mut server, _) = listener.accept().await?;
/// use std::time::Duration;
/// use windlass_net::io::ReadExact;
/// use windlass_reactor::time::timeout;
///
/// let mut head = ReadExact::new([0; 4]);
/// client.write_all(b"he").await?;
/// let reading = head.read_from(&mut server);
/// assert!(timeout(Duration::from_millis(20), reading).await.is_err());
/// assert_eq!(head.filled(), b"he");
///
/// client.write_all(b"adbody").await?;
/// head.read_from(&mut server).await?;
/// assert_eq!(head.into_parts(), (*b"head", 4));
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[must_use = "it has bytes that were taken from the stream"]
pub struct ReadExact<B> {
    space: B,
    filled: usize,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> ReadExact<B> {
    /// Takes space, of which nothing is filled yet: an array, a `Vec` as long as it is, a slice.
    ///
    /// ```
    /// # use windlass_net::io::ReadExact;
    /// assert_eq!(ReadExact::new(vec![0; 8]).missing(), 8);
    /// ```
    pub fn new(space: B) -> Self {
        Self { space, filled: 0 }
    }

    /// Returns the bytes that came so far.
    pub fn filled(&self) -> &[u8] {
        let space = self.space.as_ref();
        &space[..self.filled.min(space.len())]
    }

    /// Returns how many bytes are to come.
    pub fn missing(&self) -> usize {
        self.space.as_ref().len().saturating_sub(self.filled)
    }

    /// Gives the space back, and how many bytes of it are filled.
    ///
    /// ```
    /// # use windlass_net::io::ReadExact;
    /// assert_eq!(ReadExact::new([7; 2]).into_parts(), ([7; 2], 0));
    /// ```
    pub fn into_parts(self) -> (B, usize) {
        (self.space, self.filled)
    }

    /// Reads until nothing is missing; done at once if nothing is. Not a byte more is taken from
    /// the reader.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` if the reader ends first; else those of the reader.
    /// [`filled`](ReadExact::filled) has what came before, and reading may go on where the reader
    /// allows it.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: what came is in here.
    pub async fn read_from<R>(&mut self, reader: &mut R) -> io::Result<()>
    where
        R: AsyncRead + Unpin + ?Sized,
    {
        poll_fn(|context| self.poll_read_from(context, Pin::new(&mut *reader))).await
    }

    /// As [`read_from`](ReadExact::read_from), for those who write futures by hand.
    ///
    /// # Errors
    ///
    /// As for [`read_from`](ReadExact::read_from).
    pub fn poll_read_from<R: AsyncRead + ?Sized>(
        &mut self,
        context: &mut Context<'_>,
        mut reader: Pin<&mut R>,
    ) -> Poll<io::Result<()>> {
        loop {
            let space = self.space.as_mut();
            let length = space.len();
            let rest = space.get_mut(self.filled..).unwrap_or_default();
            if rest.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let room = rest.len();
            match ready!(reader.as_mut().poll_read(context, rest))? {
                0 => return Poll::Ready(Err(ended_early(self.filled, length))),
                count if count > room => return Poll::Ready(Err(impossible(count, room))),
                count => self.filled += count,
            }
        }
    }
}

/// Shows the counts, not the bytes, which may be a secret.
impl<B: AsRef<[u8]>> fmt::Debug for ReadExact<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadExact")
            .field("filled", &self.filled)
            .field("of", &self.space.as_ref().len())
            .finish()
    }
}

fn ended_early(filled: usize, length: usize) -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        format!("the stream ended after {filled} of {length} bytes"),
    )
}

/// What a reader or writer that is wrong says would be taken for bytes that are there.
#[cold]
pub(super) fn impossible(count: usize, most: usize) -> io::Error {
    io::Error::other(format!(
        "the stream says that {count} bytes were moved, of {most} at the most"
    ))
}
