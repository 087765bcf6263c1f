//! The two halves of a stream, borrowed; and what all halves offer.

use super::{ByteStream, StreamSocket};
use crate::TcpStream;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::task::{Context, Poll};
use windlass_reactor::Direction;

/// The half of a stream that reads, borrowed; see [`TcpStream::split`] and
/// [`UnixStream::split`](crate::UnixStream::split).
#[derive(Debug)]
pub struct ReadHalf<'a, S = TcpStream>(pub(super) &'a S);

/// The half of a stream that writes, borrowed; see [`TcpStream::split`] and
/// [`UnixStream::split`](crate::UnixStream::split).
///
/// Dropping it does not shut anything down.
#[derive(Debug)]
pub struct WriteHalf<'a, S = TcpStream>(pub(super) &'a S);

impl<'a, S> ReadHalf<'a, S> {
    pub(crate) fn of(stream: &'a S) -> Self {
        Self(stream)
    }
}

impl<'a, S> WriteHalf<'a, S> {
    pub(crate) fn of(stream: &'a S) -> Self {
        Self(stream)
    }
}

impl<S> AsRef<S> for ReadHalf<'_, S> {
    fn as_ref(&self) -> &S {
        self.0
    }
}

impl<S> AsRef<S> for WriteHalf<'_, S> {
    fn as_ref(&self) -> &S {
        self.0
    }
}

/// What all halves that read offer; each does as the stream's method of its name.
macro_rules! reads {
    ($half:ty) => {
        impl<S: ByteStream> $half {
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
                self.0
                    .inner()
                    .io_with(Direction::Read, move |socket| socket.receive(space))
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
                self.0.inner().io_with(Direction::Read, move |socket| {
                    socket.receive_vectored(spaces)
                })
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
            pub async fn read_exact(&self, space: &mut [u8]) -> io::Result<()> {
                $crate::stream::read_exact_from(self.0.inner(), space, &mut 0).await
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
                self.0
                    .inner()
                    .io_with(Direction::Read, move |socket| socket.peek(space))
            }

            /// Reads without waiting; see [`TcpStream::try_read`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::try_read`].
            pub fn try_read(&self, space: &mut [u8]) -> io::Result<usize> {
                self.0
                    .inner()
                    .try_io_taking(Direction::Read, |socket| socket.receive(space))
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
                self.0.inner().readable()
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
                self.0
                    .inner()
                    .poll_io_with(context, Direction::Read, |socket| socket.receive(space))
            }
        }
        addresses!($half);
    };
}

/// What all halves that write offer; each does as the stream's method of its name.
macro_rules! writes {
    ($half:ty) => {
        impl<S: ByteStream> $half {
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
                self.0
                    .inner()
                    .io_with(Direction::Write, move |socket| socket.send(bytes))
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
                self.0.inner().io_with(Direction::Write, move |socket| {
                    socket.send_vectored(buffers)
                })
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
                let mut rest = bytes;
                self.0
                    .inner()
                    .io_with(Direction::Write, move |socket| socket.send_rest(&mut rest))
            }

            /// Writes without waiting; see [`TcpStream::try_write`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::try_write`].
            pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
                self.0
                    .inner()
                    .try_io_taking(Direction::Write, |socket| socket.send(bytes))
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
                self.0.inner().writable()
            }

            /// Has the peer read the end once it has read what was written; see
            /// [`TcpStream::shutdown`].
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::shutdown`].
            pub fn shutdown(&self) -> io::Result<()> {
                self.0.shut_down(Shutdown::Write)
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
                self.0
                    .inner()
                    .poll_io_with(context, Direction::Write, |socket| socket.send(bytes))
            }
        }
        addresses!($half);
    };
}

/// What all halves offer.
macro_rules! addresses {
    ($half:ty) => {
        impl<S: ByteStream> $half {
            /// Returns the address of this end.
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::local_addr`].
            pub fn local_addr(&self) -> io::Result<S::Address> {
                self.0.local_address()
            }

            /// Returns the address of the other end.
            ///
            /// # Errors
            ///
            /// As for [`TcpStream::peer_addr`].
            pub fn peer_addr(&self) -> io::Result<S::Address> {
                self.0.peer_address()
            }
        }
    };
}

pub(super) use {addresses, reads, writes};

/// Lends the halves of a stream; takes the stream, and how its examples make a `client` and a
/// `server` that are connected.
macro_rules! split_method {
    ($stream:ty, $pair:literal) => {
        impl $stream {
            /// Lends the half that reads and the half that writes. It costs nothing.
            ///
            /// ```
            /// # futures::executor::block_on(async {
            #[doc = $pair]
            /// client.write_all(b"request").await?;
            /// client.shutdown(std::net::Shutdown::Write)?;
            ///
            /// let (reader, writer) = server.split();
            /// let echoed = windlass_net::io::copy(reader, writer).await?;
            /// assert_eq!(echoed, 7);
            /// # std::io::Result::Ok(()) }).unwrap();
            /// ```
            pub fn split(&self) -> ($crate::ReadHalf<'_, Self>, $crate::WriteHalf<'_, Self>) {
                ($crate::ReadHalf::of(self), $crate::WriteHalf::of(self))
            }
        }
    };
}

pub(crate) use split_method;

reads!(ReadHalf<'_, S>);
writes!(WriteHalf<'_, S>);
