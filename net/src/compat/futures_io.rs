//! The traits of futures-io, for our streams; and ours for the streams of others that have those.

use crate::copy::{CopyFrom, CopyTo};
use crate::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, TcpStream, UnixStream, WriteHalf};
use futures_io::{AsyncRead, AsyncWrite};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Takes a type of streams, and which types are one, borrow one or are half of one.
macro_rules! async_read {
    ($stream:ty: $($part:ty),*) => {$(
        impl AsyncRead for $part {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                space: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                AsRef::<$stream>::as_ref(&*self).poll_read(context, space)
            }

            fn poll_read_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                spaces: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                AsRef::<$stream>::as_ref(&*self).poll_read_vectored(context, spaces)
            }
        }
    )*};
}

/// Nothing is buffered, so that flushing is nothing; closing shuts the write direction down, so
/// that the peer reads the end.
macro_rules! async_write {
    ($stream:ty: $($part:ty),*) => {$(
        impl AsyncWrite for $part {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                AsRef::<$stream>::as_ref(&*self).poll_write(context, bytes)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                buffers: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                AsRef::<$stream>::as_ref(&*self).poll_write_vectored(context, buffers)
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(AsRef::<$stream>::as_ref(&*self).shutdown(Shutdown::Write))
            }
        }
    )*};
}

async_read!(TcpStream: TcpStream, &TcpStream, ReadHalf<'_>, OwnedReadHalf);
async_write!(TcpStream: TcpStream, &TcpStream, WriteHalf<'_>, OwnedWriteHalf);
async_read!(UnixStream: UnixStream, &UnixStream, ReadHalf<'_, UnixStream>, OwnedReadHalf<UnixStream>);
async_write!(UnixStream: UnixStream, &UnixStream, WriteHalf<'_, UnixStream>, OwnedWriteHalf<UnixStream>);

/// Has a stream of futures-io copied from and to.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::io::{FuturesIo, copy};
///
/// let mut written = Vec::new();
/// let count = copy(FuturesIo(&b"any reader"[..]), FuturesIo(&mut written)).await?;
/// assert_eq!((count, &written[..]), (10, &b"any reader"[..]));
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct FuturesIo<T>(pub T);

impl<T: AsyncRead + Unpin> CopyFrom for FuturesIo<T> {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        space: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_read(context, space)
    }
}

impl<T: AsyncWrite + Unpin> CopyTo for FuturesIo<T> {
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(context)
    }
}
