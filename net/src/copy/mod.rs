//! Copying from one stream to another, in both directions between two, and from a file.
//!
//! `plain.rs` moves bytes through a buffer, `splice.rs` within the kernel; `moving.rs` chooses. Files have
//! `send_file.rs`.

mod bidirectional;
mod buffer;
mod kernel;
mod moving;
mod one_way;
mod pipe;
mod plain;
mod send_file;
mod splice;
mod traits;

pub use bidirectional::{CopyBidirectional, copy_bidirectional};
pub use one_way::{Copy, copy};
pub use send_file::{NotRegularFile, SendFile, send_file};
pub use traits::{CopyFrom, CopyTo, KernelEnd};
