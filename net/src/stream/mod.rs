//! What streams of all kinds have in common: reading, writing and waiting (`methods.rs`,
//! `polled.rs`), and the two halves (`split.rs`, `owned.rs`). `socket.rs` says what each kind
//! brings along.

mod methods;
mod owned;
mod polled;
mod socket;
mod split;

pub(crate) use methods::stream_methods;
pub(crate) use owned::into_split;
pub use owned::{OwnedReadHalf, OwnedWriteHalf, ReuniteError};
pub(crate) use polled::polled_methods;
pub(crate) use socket::read_exact_from;
pub(crate) use socket::{ByteStream, StreamSocket, while_connecting};
pub use split::{ReadHalf, WriteHalf};
pub(crate) use {owned::into_split_method, split::split_method};
