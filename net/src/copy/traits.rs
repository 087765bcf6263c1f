//! What is copied from, and what is copied to.

use crate::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, TcpStream, WriteHalf};
use std::io;
use std::net::Shutdown;
use std::task::{Context, Poll};

/// Something that bytes are copied from: our streams and halves, references to them, and what you
/// implement it for. For the readers of futures-io there is `FuturesIo`.
pub trait CopyFrom {
    /// Reads what is there; 0 is the end. While it is pending, it keeps nothing of `space`.
    ///
    /// # Errors
    ///
    /// Those of the reader; copying ends with them.
    fn poll_read(&mut self, context: &mut Context<'_>, space: &mut [u8])
    -> Poll<io::Result<usize>>;
}

/// Something that bytes are copied to; else as [`CopyFrom`].
pub trait CopyTo {
    /// Writes as many of `bytes` as there is room for; 0 is an error.
    ///
    /// # Errors
    ///
    /// Those of the writer; copying ends with them.
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Has what was written sent on, if the writer keeps it back to gather it.
    ///
    /// # Errors
    ///
    /// Those of the writer; copying ends with them.
    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Has the other side read the end; reading may go on.
    ///
    /// # Errors
    ///
    /// Those of the writer; copying ends with them.
    fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;
}

macro_rules! copy_from {
    ($($stream:ty),*) => {$(
        impl CopyFrom for $stream {
            fn poll_read(
                &mut self,
                context: &mut Context<'_>,
                space: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                AsRef::<TcpStream>::as_ref(self).poll_read(context, space)
            }
        }
    )*};
}

macro_rules! copy_to {
    ($($stream:ty),*) => {$(
        impl CopyTo for $stream {
            fn poll_write(
                &mut self,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                AsRef::<TcpStream>::as_ref(self).poll_write(context, bytes)
            }

            fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(AsRef::<TcpStream>::as_ref(self).shutdown(Shutdown::Write))
            }
        }
    )*};
}

copy_from!(TcpStream, &TcpStream, ReadHalf<'_>, OwnedReadHalf);
copy_to!(TcpStream, &TcpStream, WriteHalf<'_>, OwnedWriteHalf);

impl<T: CopyFrom + ?Sized> CopyFrom for &mut T {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        space: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        (**self).poll_read(context, space)
    }
}

impl<T: CopyTo + ?Sized> CopyTo for &mut T {
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        (**self).poll_write(context, bytes)
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        (**self).poll_flush(context)
    }

    fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        (**self).poll_close(context)
    }
}
