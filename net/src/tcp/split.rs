//! The two halves of a stream, borrowed; and what all halves offer.

use super::stream::TcpStream;
use std::future::Future;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Shutdown, SocketAddr};
use std::task::{Context, Poll};

/// The half of a stream that reads, borrowed; see [`TcpStream::split`].
#[derive(Debug)]
pub struct ReadHalf<'a>(&'a TcpStream);

/// The half of a stream that writes, borrowed; see [`TcpStream::split`].
///
/// Dropping it does not shut anything down.
#[derive(Debug)]
pub struct WriteHalf<'a>(&'a TcpStream);

impl TcpStream {
    /// Lends the half that reads and the half that writes. It costs nothing.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// # use windlass_net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// # let client = TcpStream::connect(listener.local_addr()?).await?;
    /// # let (server, _) = listener.accept().await?;
    /// client.write_all(b"request").await?;
    /// client.shutdown(std::net::Shutdown::Write)?;
    ///
    /// let (reader, writer) = server.split();
    /// let echoed = windlass_net::io::copy(reader, writer).await?;
    /// assert_eq!(echoed, 7);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn split(&self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        (ReadHalf(self), WriteHalf(self))
    }
}

impl AsRef<TcpStream> for ReadHalf<'_> {
    fn as_ref(&self) -> &TcpStream {
        self.0
    }
}

impl AsRef<TcpStream> for WriteHalf<'_> {
    fn as_ref(&self) -> &TcpStream {
        self.0
    }
}

/// What all halves that read offer; each does as the stream's method of its name.
macro_rules! reads {
    ($half:ty) => {
        impl $half {
            /// Reads what is there; see [`TcpStream::read`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::read`].
            ///
            /// # Cancel safety
            ///
            /// As for [`TcpStream::read`].
            pub fn read(&self, space: &mut [u8]) -> impl Future<Output = io::Result<usize>> {
                self.0.read(space)
            }

            /// Reads into several spaces; see [`TcpStream::read_vectored`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::read`].
            ///
            /// # Cancel safety
            ///
            /// As for [`TcpStream::read`].
            pub fn read_vectored(
                &self,
                spaces: &mut [IoSliceMut<'_>],
            ) -> impl Future<Output = io::Result<usize>> {
                self.0.read_vectored(spaces)
            }

            /// Reads until `space` is full; see [`TcpStream::read_exact`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::read_exact`].
            ///
            /// # Cancel safety
            ///
            /// As for [`TcpStream::read_exact`].
            pub fn read_exact(&self, space: &mut [u8]) -> impl Future<Output = io::Result<()>> {
                self.0.read_exact(space)
            }

            /// Reads, but leaves the bytes there; see [`TcpStream::peek`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::peek`].
            ///
            /// # Cancel safety
            ///
            /// As for [`TcpStream::peek`].
            pub fn peek(&self, space: &mut [u8]) -> impl Future<Output = io::Result<usize>> {
                self.0.peek(space)
            }

            /// Reads without waiting; see [`TcpStream::try_read`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::try_read`].
            pub fn try_read(&self, space: &mut [u8]) -> io::Result<usize> {
                self.0.try_read(space)
            }

            /// Waits until a read may succeed; see [`TcpStream::readable`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::readable`].
            ///
            /// # Cancel safety
            ///
            /// As for [`TcpStream::readable`].
            pub fn readable(&self) -> impl Future<Output = io::Result<()>> {
                self.0.readable()
            }

            /// Reads, for those who write futures by hand; see [`TcpStream::poll_read`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::read`].
            pub fn poll_read(
                &self,
                context: &mut Context<'_>,
                space: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                self.0.poll_read(context, space)
            }
        }
        addresses!($half);
    };
}

/// What all halves that write offer; each does as the stream's method of its name.
macro_rules! writes {
    ($half:ty) => {
        impl $half {
            /// Writes what there is room for; see [`TcpStream::write`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::write`].
            ///
            /// # Cancel safety
            ///
            /// As for [`TcpStream::write`].
            pub fn write(&self, bytes: &[u8]) -> impl Future<Output = io::Result<usize>> {
                self.0.write(bytes)
            }

            /// Writes from several buffers; see [`TcpStream::write_vectored`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::write`].
            ///
            /// # Cancel safety
            ///
            /// As for [`TcpStream::write`].
            pub fn write_vectored(
                &self,
                buffers: &[IoSlice<'_>],
            ) -> impl Future<Output = io::Result<usize>> {
                self.0.write_vectored(buffers)
            }

            /// Writes all of `bytes`; see [`TcpStream::write_all`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::write_all`].
            ///
            /// # Cancel safety
            ///
            /// As for [`TcpStream::write_all`].
            pub fn write_all(&self, bytes: &[u8]) -> impl Future<Output = io::Result<()>> {
                self.0.write_all(bytes)
            }

            /// Writes without waiting; see [`TcpStream::try_write`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::try_write`].
            pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
                self.0.try_write(bytes)
            }

            /// Waits until a write may succeed; see [`TcpStream::writable`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::writable`].
            ///
            /// # Cancel safety
            ///
            /// As for [`TcpStream::writable`].
            pub fn writable(&self) -> impl Future<Output = io::Result<()>> {
                self.0.writable()
            }

            /// Has the peer read the end once it has read what was written; see
            /// [`TcpStream::shutdown`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::shutdown`].
            pub fn shutdown(&self) -> io::Result<()> {
                self.0.shutdown(Shutdown::Write)
            }

            /// Writes, for those who write futures by hand; see [`TcpStream::poll_write`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::write`].
            pub fn poll_write(
                &self,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.0.poll_write(context, bytes)
            }
        }
        addresses!($half);
    };
}

/// What all halves offer.
macro_rules! addresses {
    ($half:ty) => {
        impl $half {
            /// Returns the address of this end.
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::local_addr`].
            pub fn local_addr(&self) -> io::Result<SocketAddr> {
                self.0.local_addr()
            }

            /// Returns the address of the other end.
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::peer_addr`].
            pub fn peer_addr(&self) -> io::Result<SocketAddr> {
                self.0.peer_addr()
            }
        }
    };
}

pub(super) use {addresses, reads, writes};

reads!(ReadHalf<'_>);
writes!(WriteHalf<'_>);
