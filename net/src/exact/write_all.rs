//! All of some bytes.

use super::read_exact::impossible;
use futures_io::AsyncWrite;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Bytes that are written until none is left, and how many were.
///
/// Whoever writes keeps it; a future that writes may be dropped at any time, and the next one goes
/// on from there: no byte is left out, none is sent twice.
///
/// ```
/// # futures::executor::block_on(async {
/// # use windlass_net::{TcpListener, TcpStream};
/// # let listener = TcpListener::bind("127.0.0.1:0").await?;
/// # let mut client = TcpStream::connect(listener.local_addr()?).await?;
/// # let (server, _) = listener.accept().await?;
/// use std::time::Duration;
/// use windlass_net::io::WriteAll;
/// use windlass_reactor::time::timeout;
///
/// let mut answer = WriteAll::new(vec![7; 10_000_000]);
/// let writing = answer.write_to(&mut client);
/// // The peer does not read yet.
/// assert!(timeout(Duration::from_millis(20), writing).await.is_err());
/// println!("{} bytes were written, {} are left", answer.written(), answer.rest().len());
/// # let reading = async { server.read_exact(&mut vec![0; 10_000_000]).await };
/// # let (read, written) = futures::future::join(reading, answer.write_to(&mut client)).await;
/// # read?;
/// # written?;
/// # assert!(answer.rest().is_empty());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[must_use = "nothing is written until it is told where to"]
pub struct WriteAll<B> {
    bytes: B,
    written: usize,
}

impl<B: AsRef<[u8]>> WriteAll<B> {
    /// Takes bytes, of which nothing is written yet.
    ///
    /// ```
    /// # use windlass_net::io::WriteAll;
    /// assert_eq!(WriteAll::new("hello").rest(), b"hello");
    /// ```
    pub fn new(bytes: B) -> Self {
        Self { bytes, written: 0 }
    }

    /// Returns how many bytes the writer has taken so far.
    pub fn written(&self) -> usize {
        self.written
    }

    /// Returns the bytes that are not written yet.
    pub fn rest(&self) -> &[u8] {
        self.bytes.as_ref().get(self.written..).unwrap_or_default()
    }

    /// Gives the bytes back, and how many of them were written.
    ///
    /// ```
    /// # use windlass_net::io::WriteAll;
    /// assert_eq!(WriteAll::new("hello").into_parts(), ("hello", 0));
    /// ```
    pub fn into_parts(self) -> (B, usize) {
        (self.bytes, self.written)
    }

    /// Writes until nothing is left; done at once if nothing is.
    ///
    /// A byte is written when the writer has taken it. One that keeps bytes back, such as TLS or
    /// the `BufWriter` of futures, is to be flushed after the last piece, which may be cancelled and
    /// done again.
    ///
    /// # Errors
    ///
    /// `WriteZero` if the writer takes no more; else those of the writer.
    /// [`rest`](WriteAll::rest) has what it hasn't taken.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost or doubled: how much was written is in here.
    pub async fn write_to<W>(&mut self, writer: &mut W) -> io::Result<()>
    where
        W: AsyncWrite + Unpin + ?Sized,
    {
        poll_fn(|context| self.poll_write_to(context, Pin::new(&mut *writer))).await
    }

    /// As [`write_to`](WriteAll::write_to), for those who write futures by hand.
    ///
    /// # Errors
    ///
    /// As for [`write_to`](WriteAll::write_to).
    pub fn poll_write_to<W: AsyncWrite + ?Sized>(
        &mut self,
        context: &mut Context<'_>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<()>> {
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let length = rest.len();
            match ready!(writer.as_mut().poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count if count > length => return Poll::Ready(Err(impossible(count, length))),
                count => self.written += count,
            }
        }
    }
}

/// Shows the counts, not the bytes, which may be a secret.
impl<B: AsRef<[u8]>> fmt::Debug for WriteAll<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteAll")
            .field("written", &self.written)
            .field("of", &self.bytes.as_ref().len())
            .finish()
    }
}
