//! The traits of other crates, each behind a feature of its name.

#[cfg(feature = "futures-io")]
mod futures_io;
#[cfg(feature = "futures-io")]
mod pipes;

#[cfg(feature = "futures-io")]
pub use futures_io::FuturesIo;
