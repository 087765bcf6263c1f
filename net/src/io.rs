//! Copying between streams, and the standard streams.

#[cfg(feature = "futures-io")]
pub use crate::compat::FuturesIo;
pub use crate::copy::{
    Copy, CopyBidirectional, CopyFrom, CopyTo, KernelEnd, copy, copy_bidirectional,
};
pub use crate::stdio::{Stderr, Stdin, Stdout, stderr, stdin, stdout};
