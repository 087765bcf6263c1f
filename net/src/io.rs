//! Copying between streams and from files, whole pieces of streams, and the standard streams.

#[cfg(feature = "futures-io")]
pub use crate::compat::FuturesIo;
pub use crate::copy::{
    Copy, CopyBidirectional, CopyFrom, CopyTo, KernelEnd, NotRegularFile, SendFile, copy,
    copy_bidirectional, send_file,
};
#[cfg(feature = "futures-io")]
pub use crate::exact::{Lines, ReadExact, ReadUntil, ReadUntilError, WriteAll};
pub use crate::stdio::{Stderr, Stdin, Stdout, stderr, stdin, stdout};
