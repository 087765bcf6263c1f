//! Copying between streams.

#[cfg(feature = "futures-io")]
pub use crate::compat::FuturesIo;
pub use crate::copy::{
    Copy, CopyBidirectional, CopyFrom, CopyTo, KernelEnd, copy, copy_bidirectional,
};
