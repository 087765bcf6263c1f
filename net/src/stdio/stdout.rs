//! Standard output and standard error.

use super::outlet::{Outlet, STDERR, STDOUT};
use super::waiters;
use crate::io::CopyTo;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

/// Returns a handle to the standard output of the process; see [`Stdout`].
pub fn stdout() -> Stdout {
    Stdout(Out::new(&STDOUT))
}

/// Returns a handle to the standard error of the process; see [`Stderr`].
pub fn stderr() -> Stderr {
    Stderr(Out::new(&STDERR))
}

/// The standard output of the process, whatever it is.
///
/// Bytes are taken in (up to 64 KiB) and written by a thread of its own, so that a reader that is
/// slow or stopped holds up no task, and nothing keeps a runtime or the process from ending. The
/// descriptor is never told not to block, which would be for all processes that share it.
///
/// What was taken in and not yet written is lost when the process ends: so flush, which
/// [`write_all`](Stdout::write_all) does. All handles write to the same place, in the order of
/// their writes. What [`std::io::stdout`] buffers, `println!` with it, goes its own way.
///
/// ```
/// # futures::executor::block_on(async {
/// windlass_net::io::stdout().write_all(b"hello\n").await?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Stdout(Out);

/// The standard error of the process; else as [`Stdout`].
///
/// ```
/// # futures::executor::block_on(async {
/// windlass_net::io::stderr().write_all(b"it is late\n").await?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Stderr(Out);

macro_rules! methods {
    ($stream:ty) => {
        impl $stream {
            /// Takes in as much of `bytes` as there is room for, waiting until there is some;
            /// returns how many bytes that were.
            ///
            /// # Errors
            ///
            /// What the system said when earlier bytes were written, which are lost then:
            /// `BrokenPipe` if nobody reads. There is no `SIGPIPE`, whatever the program has that
            /// do. Or that the thread can't be started.
            ///
            /// # Cancel safety
            ///
            /// Nothing was taken in if it is dropped before it is done.
            pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let _leaves = self.0.leaves();
                poll_fn(|context| self.poll_write(context, bytes)).await
            }

            /// Writes all of `bytes`, and flushes.
            ///
            /// # Errors
            ///
            /// As for [`write`](Self::write). Some of the bytes may have been written.
            ///
            /// # Cancel safety
            ///
            /// How much was written before it is dropped isn't known.
            pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
                let mut rest = bytes;
                while !rest.is_empty() {
                    let count = self.write(rest).await?;
                    rest = &rest[count..];
                }
                self.flush().await
            }

            /// Waits until all that was taken in is written, through whichever handle.
            ///
            /// # Errors
            ///
            /// As for [`write`](Self::write).
            ///
            /// # Cancel safety
            ///
            /// Nothing is lost when it is dropped; the bytes are written all the same.
            pub async fn flush(&mut self) -> io::Result<()> {
                let _leaves = self.0.leaves();
                poll_fn(|context| self.poll_flush(context)).await
            }

            /// As [`write`](Self::write), for those who write futures by hand. The latest task that
            /// calls a `poll_` method of a handle is woken.
            ///
            /// # Errors
            ///
            /// As for [`write`](Self::write).
            pub fn poll_write(
                &mut self,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.0.outlet.poll_write(self.0.id, context, bytes)
            }

            /// As [`flush`](Self::flush), for those who write futures by hand.
            ///
            /// # Errors
            ///
            /// As for [`write`](Self::write).
            pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.0.outlet.poll_flush(self.0.id, context)
            }
        }

        /// Closing is flushing: the descriptor stays open, as it is the whole process's.
        impl CopyTo for $stream {
            fn poll_write(
                &mut self,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                <$stream>::poll_write(self, context, bytes)
            }

            fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                <$stream>::poll_flush(self, context)
            }

            fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                <$stream>::poll_flush(self, context)
            }
        }
    };
}

methods!(Stdout);
methods!(Stderr);

/// A handle to either.
struct Out {
    outlet: &'static Outlet,
    id: u64,
}

impl Out {
    fn new(outlet: &'static Outlet) -> Self {
        let id = waiters::new_id();
        Self { outlet, id }
    }

    /// Returns what has the handle wait no more when it is dropped.
    fn leaves(&self) -> Leaves {
        Leaves(self.outlet, self.id)
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        self.outlet.leave(self.id);
    }
}

impl std::fmt::Debug for Out {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Out").finish_non_exhaustive()
    }
}

struct Leaves(&'static Outlet, u64);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.leave(self.1);
    }
}
