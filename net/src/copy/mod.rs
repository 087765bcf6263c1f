//! Copying from one stream to another, and in both directions between two.
//!
//! `plain.rs` moves bytes through a buffer, `splice.rs` within the kernel; `moving.rs` chooses.

mod bidirectional;
mod buffer;
mod kernel;
mod moving;
mod one_way;
mod pipe;
mod plain;
mod splice;
mod traits;

pub use bidirectional::{CopyBidirectional, copy_bidirectional};
pub use one_way::{Copy, copy};
pub use traits::{CopyFrom, CopyTo, KernelEnd};
