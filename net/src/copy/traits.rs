//! What is copied from, and what is copied to.

use crate::stream::ByteStream;
use crate::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, TcpStream, UnixStream, WriteHalf};
use std::io;
use std::net::Shutdown;
use std::os::fd::BorrowedFd;
use std::task::{Context, Poll};
use windlass_reactor::Direction;

/// Something that bytes are copied from: our streams and halves, references to them, and what you
/// implement it for. For the readers of futures-io there is `FuturesIo`.
///
/// ```
/// # futures::executor::block_on(async {
/// use std::io;
/// use std::task::{Context, Poll};
/// use windlass_net::TcpListener;
/// use windlass_net::io::{CopyFrom, copy};
/// # use windlass_net::TcpStream;
///
/// /// So many zeroes.
/// struct Zeroes(usize);
///
/// impl CopyFrom for Zeroes {
///     fn poll_read(&mut self, _: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
///         let count = self.0.min(space.len());
///         space[..count].fill(0);
///         self.0 -= count;
///         Poll::Ready(Ok(count))
///     }
/// }
///
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// # let _client = TcpStream::connect(listener.local_addr()?).await?;
/// let (stream, _) = listener.accept().await?;
/// assert_eq!(copy(Zeroes(1000), &stream).await?, 1000);
/// # io::Result::Ok(()) }).unwrap();
/// ```
pub trait CopyFrom {
    /// Reads what is there; 0 is the end. While it is pending, it keeps nothing of `space`.
    ///
    /// # Errors
    ///
    /// Those of the reader; copying ends with them.
    fn poll_read(&mut self, context: &mut Context<'_>, space: &mut [u8])
    -> Poll<io::Result<usize>>;

    /// Returns the stream that bytes may be taken from past `poll_read`, within the kernel: when
    /// many come, and the writer has such an end, too, that is faster.
    ///
    /// There is none unless you say so, and then nothing may be kept back before it.
    fn kernel_end(&self) -> Option<KernelEnd<'_>> {
        None
    }
}

/// Something that bytes are copied to; else as [`CopyFrom`].
///
/// ```
/// # futures::executor::block_on(async {
/// use std::io;
/// use std::task::{Context, Poll};
/// use windlass_net::UnixStream;
/// use windlass_net::io::{CopyTo, copy};
///
/// /// Takes all, and keeps nothing.
/// struct Nowhere;
///
/// impl CopyTo for Nowhere {
///     fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
///         Poll::Ready(Ok(bytes.len()))
///     }
///
///     fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
///         Poll::Ready(Ok(()))
///     }
///
///     fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
///         Poll::Ready(Ok(()))
///     }
/// }
///
/// let (one, other) = UnixStream::pair()?;
/// one.write_all(b"of no use").await?;
/// drop(one);
/// assert_eq!(copy(&other, Nowhere).await?, 9);
/// # io::Result::Ok(()) }).unwrap();
/// ```
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

    /// Returns the stream that bytes may be put into past `poll_write`, within the kernel, when all
    /// has been flushed; as [`CopyFrom::kernel_end`].
    fn kernel_end(&self) -> Option<KernelEnd<'_>> {
        None
    }
}

/// A stream that bytes may be moved from and to within the kernel.
///
/// A reader or writer of yours that only adds something to a stream, such as a name, has the one of the stream:
///
/// ```
/// use std::io;
/// use std::task::{Context, Poll};
/// use windlass_net::TcpStream;
/// use windlass_net::io::{CopyFrom, KernelEnd};
///
/// struct Named {
///     name: String,
///     stream: TcpStream,
/// }
///
/// impl CopyFrom for Named {
///     fn poll_read(
///         &mut self,
///         context: &mut Context<'_>,
///         space: &mut [u8],
///     ) -> Poll<io::Result<usize>> {
///         self.stream.poll_read(context, space)
///     }
///
///     fn kernel_end(&self) -> Option<KernelEnd<'_>> {
///         Some(KernelEnd::from(&self.stream))
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct KernelEnd<'a>(End<'a>);

#[derive(Clone, Copy, Debug)]
enum End<'a> {
    Tcp(&'a TcpStream),
    Unix(&'a UnixStream),
}

impl<'a> From<&'a TcpStream> for KernelEnd<'a> {
    fn from(stream: &'a TcpStream) -> Self {
        Self(End::Tcp(stream))
    }
}

/// Descriptors that come on the way are closed, as by a read that has no room for them.
impl<'a> From<&'a UnixStream> for KernelEnd<'a> {
    fn from(stream: &'a UnixStream) -> Self {
        Self(End::Unix(stream))
    }
}

impl KernelEnd<'_> {
    /// Has what comes in one direction wake no thread until it is waited for.
    pub(super) fn pause(self, direction: Direction) {
        match self.0 {
            End::Tcp(stream) => stream.pause(direction),
            End::Unix(stream) => stream.pause(direction),
        }
    }

    /// Runs an operation on the descriptor once it may succeed.
    pub(super) fn poll_on<R>(
        self,
        context: &mut Context<'_>,
        direction: Direction,
        operation: impl FnMut(BorrowedFd<'_>) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        match self.0 {
            End::Tcp(stream) => stream.poll_on_socket(context, direction, operation),
            End::Unix(stream) => stream.poll_on_socket(context, direction, operation),
        }
    }
}

/// Takes a type of streams, and which types are one, borrow one or are half of one.
macro_rules! copy_from {
    ($stream:ty: $($part:ty),*) => {$(
        impl CopyFrom for $part {
            fn poll_read(
                &mut self,
                context: &mut Context<'_>,
                space: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                AsRef::<$stream>::as_ref(self).poll_read(context, space)
            }

            fn kernel_end(&self) -> Option<KernelEnd<'_>> {
                Some(KernelEnd::from(AsRef::<$stream>::as_ref(self)))
            }
        }
    )*};
}

/// As `copy_from`.
macro_rules! copy_to {
    ($stream:ty: $($part:ty),*) => {$(
        impl CopyTo for $part {
            fn poll_write(
                &mut self,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                AsRef::<$stream>::as_ref(self).poll_write(context, bytes)
            }

            fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(AsRef::<$stream>::as_ref(self).shutdown(Shutdown::Write))
            }

            fn kernel_end(&self) -> Option<KernelEnd<'_>> {
                Some(KernelEnd::from(AsRef::<$stream>::as_ref(self)))
            }
        }
    )*};
}

copy_from!(TcpStream: TcpStream, &TcpStream, ReadHalf<'_>, OwnedReadHalf);
copy_to!(TcpStream: TcpStream, &TcpStream, WriteHalf<'_>, OwnedWriteHalf);
copy_from!(UnixStream: UnixStream, &UnixStream, ReadHalf<'_, UnixStream>, OwnedReadHalf<UnixStream>);
copy_to!(UnixStream: UnixStream, &UnixStream, WriteHalf<'_, UnixStream>, OwnedWriteHalf<UnixStream>);

impl<T: CopyFrom + ?Sized> CopyFrom for &mut T {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        space: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        (**self).poll_read(context, space)
    }

    fn kernel_end(&self) -> Option<KernelEnd<'_>> {
        (**self).kernel_end()
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

    fn kernel_end(&self) -> Option<KernelEnd<'_>> {
        (**self).kernel_end()
    }
}
