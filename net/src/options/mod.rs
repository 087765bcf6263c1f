//! The options of sockets.
//!
//! Which system has which option is in one table, `table.rs`; what every system has is set and told
//! by `common.rs`. The methods of the types that have options come from the macros of `methods.rs`.

pub(crate) mod common;
mod keepalive;
mod methods;
pub(crate) mod table;

pub use keepalive::Keepalive;
pub(crate) use methods::{connection_options, socket_options};
