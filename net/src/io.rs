//! Copying between streams, and whole pieces of them.

#[cfg(feature = "futures-io")]
pub use crate::compat::FuturesIo;
pub use crate::copy::{
    Copy, CopyBidirectional, CopyFrom, CopyTo, KernelEnd, copy, copy_bidirectional,
};
#[cfg(feature = "futures-io")]
pub use crate::exact::{Lines, ReadExact, ReadUntil, ReadUntilError, WriteAll};
