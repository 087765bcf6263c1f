//! Pipes as what is copied from and to.

use super::{PipeReader, PipeWriter};
use crate::io::{CopyFrom, CopyTo};
use std::io;
use std::task::{Context, Poll};

macro_rules! copy_from {
    ($($reader:ty),*) => {$(
        impl CopyFrom for $reader {
            fn poll_read(
                &mut self,
                context: &mut Context<'_>,
                space: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                PipeReader::poll_read(self, context, space)
            }
        }
    )*};
}

copy_from!(PipeReader, &PipeReader);

/// Closing closes this end: what is written later is an error.
impl CopyTo for PipeWriter {
    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        PipeWriter::poll_write(self, context, bytes)
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.close();
        Poll::Ready(Ok(()))
    }
}
