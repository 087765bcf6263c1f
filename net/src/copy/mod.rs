//! Copying from one stream to another, and in both directions between two.
//!
//! `plain.rs` moves bytes through a buffer; a way without one would have its place beside it, and
//! be chosen in `one_way.rs`.

mod bidirectional;
mod buffer;
mod one_way;
mod plain;
mod traits;

pub use bidirectional::{CopyBidirectional, copy_bidirectional};
pub use one_way::{Copy, copy};
pub use traits::{CopyFrom, CopyTo};
