//! The traits of futures-io, for pipes and the standard streams.

use crate::io::{Stderr, Stdin, Stdout};
use crate::{PipeReader, PipeWriter};
use futures_io::{AsyncRead, AsyncWrite};
use std::io::{self, IoSlice, IoSliceMut};
use std::pin::Pin;
use std::task::{Context, Poll};

macro_rules! read_pipe {
    ($($reader:ty),*) => {$(
        impl AsyncRead for $reader {
            fn poll_read(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                space: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                PipeReader::poll_read(&self, context, space)
            }

            fn poll_read_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                spaces: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                PipeReader::poll_read_vectored(&self, context, spaces)
            }
        }
    )*};
}

read_pipe!(PipeReader, &PipeReader);

/// Nothing is buffered, so that flushing is nothing; closing closes the end, so that readers see
/// the end once no other writer is left.
impl AsyncWrite for PipeWriter {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        PipeWriter::poll_write(&self, context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        PipeWriter::poll_write_vectored(&self, context, buffers)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.close();
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Stdin {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        space: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Stdin::poll_read(self.get_mut(), context, space)
    }
}

macro_rules! write_out {
    ($($stream:ty),*) => {$(
        /// Closing is flushing: the descriptor stays open, as it is the whole process's.
        impl AsyncWrite for $stream {
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                <$stream>::poll_write(self.get_mut(), context, bytes)
            }

            fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                <$stream>::poll_flush(self.get_mut(), context)
            }

            fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                <$stream>::poll_flush(self.get_mut(), context)
            }
        }
    )*};
}

write_out!(Stdout, Stderr);
