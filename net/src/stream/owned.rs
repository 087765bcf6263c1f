//! The two halves of a stream, each owned by somebody.

use super::split::{addresses, reads, writes};
use super::{ByteStream, StreamSocket};
use crate::TcpStream;
use std::error::Error;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::ops::Deref;
use std::sync::Arc;
use std::task::{Context, Poll};
use windlass_reactor::Direction;

/// The half of a stream that reads, owned; see [`TcpStream::into_split`] and
/// [`UnixStream::into_split`](crate::UnixStream::into_split).
#[derive(Debug)]
pub struct OwnedReadHalf<S = TcpStream>(Arc<S>);

/// The half of a stream that writes, owned; see [`TcpStream::into_split`] and
/// [`UnixStream::into_split`](crate::UnixStream::into_split).
///
/// Dropping it shuts its direction down, so that the peer reads the end, unless it is
/// [reunited](OwnedReadHalf::reunite) or [forgotten](OwnedWriteHalf::forget).
#[derive(Debug)]
pub struct OwnedWriteHalf<S: ByteStream = TcpStream>(Ending<S>);

/// A stream whose write direction ends with it.
#[derive(Debug)]
struct Ending<S: ByteStream> {
    stream: Arc<S>,
    shuts_down: bool,
}

impl<S: ByteStream> Deref for Ending<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.stream
    }
}

impl<S: ByteStream> Drop for Ending<S> {
    fn drop(&mut self) {
        if self.shuts_down {
            // A connection that is over already has nothing to shut down.
            let _ = self.stream.shut_down(Shutdown::Write);
        }
    }
}

/// Takes a stream apart.
pub(crate) fn into_split<S: ByteStream>(stream: S) -> (OwnedReadHalf<S>, OwnedWriteHalf<S>) {
    let stream = Arc::new(stream);
    let writing = Ending {
        stream: stream.clone(),
        shuts_down: true,
    };
    (OwnedReadHalf(stream), OwnedWriteHalf(writing))
}

/// Takes a stream apart into halves that are owned; parameters as for `split_method`.
macro_rules! into_split_method {
    ($stream:ty, $pair:literal) => {
        impl $stream {
            /// Takes the stream apart into the half that reads and the half that writes, which may
            /// live in different tasks. The connection is closed when both are dropped.
            ///
            /// ```
            /// # futures::executor::block_on(async {
            #[doc = $pair]
            /// let (reader, writer) = client.into_split();
            /// writer.write_all(b"bye").await?;
            /// drop(writer);
            ///
            /// let mut space = [0; 8];
            /// assert_eq!(server.read(&mut space).await?, 3);
            /// assert_eq!(server.read(&mut space).await?, 0);
            /// server.write_all(b"still here").await?;
            /// assert_eq!(reader.read(&mut space).await?, 8);
            /// # std::io::Result::Ok(()) }).unwrap();
            /// ```
            pub fn into_split(self) -> ($crate::OwnedReadHalf<Self>, $crate::OwnedWriteHalf<Self>) {
                $crate::stream::into_split(self)
            }
        }
    };
}

pub(crate) use into_split_method;

impl<S: ByteStream> OwnedReadHalf<S> {
    /// Puts the halves of one stream together again; nothing is shut down.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// # use windlass_net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// # let first = TcpStream::connect(listener.local_addr()?).await?;
    /// # let second = TcpStream::connect(listener.local_addr()?).await?;
    /// let (reader, writer) = first.into_split();
    /// let (other_reader, _other_writer) = second.into_split();
    /// let error = other_reader.reunite(writer).unwrap_err();
    /// let _first = reader.reunite(error.1).unwrap();
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// A [`ReuniteError`], with both halves in it, if they are not of one stream.
    pub fn reunite(self, writer: OwnedWriteHalf<S>) -> Result<S, ReuniteError<S>> {
        if !Arc::ptr_eq(&self.0, &writer.0.stream) {
            return Err(ReuniteError(self, writer));
        }
        writer.forget();
        // There are two halves of a stream, and one is gone.
        Ok(Arc::into_inner(self.0).expect("a stream has two halves"))
    }
}

impl<S: ByteStream> OwnedWriteHalf<S> {
    /// Puts the halves of one stream together again; nothing is shut down.
    ///
    /// # Errors
    ///
    /// A [`ReuniteError`], with both halves in it, if they are not of one stream.
    pub fn reunite(self, reader: OwnedReadHalf<S>) -> Result<S, ReuniteError<S>> {
        reader.reunite(self)
    }

    /// Drops the half without shutting its direction down: the peer reads the end when the other
    /// half is dropped, too.
    pub fn forget(mut self) {
        self.0.shuts_down = false;
    }
}

impl<S> AsRef<S> for OwnedReadHalf<S> {
    fn as_ref(&self) -> &S {
        &self.0
    }
}

impl<S: ByteStream> AsRef<S> for OwnedWriteHalf<S> {
    fn as_ref(&self) -> &S {
        &self.0
    }
}

reads!(OwnedReadHalf<S>);
writes!(OwnedWriteHalf<S>);

/// Two halves that were to be put together are not of one stream; both are in it.
#[derive(Debug)]
pub struct ReuniteError<S: ByteStream = TcpStream>(pub OwnedReadHalf<S>, pub OwnedWriteHalf<S>);

impl<S: ByteStream> fmt::Display for ReuniteError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the halves are of different streams; those of one `into_split` go together")
    }
}

impl<S: ByteStream + fmt::Debug> Error for ReuniteError<S> {}
