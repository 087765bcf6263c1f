//! What the examples have in common, so that each of them shows one thing only.
//!
//! - `program.rs`: from the command line to the exit status; errors are one line.
//! - `server.rs`: the life of a server: it listens, says so, stops when asked, and drains.
//! - `totals.rs`: what a server counts, and when it has nothing left to do.
//! - `requests.rs`: HTTP/1, from bytes to answers, without any I/O.
//!
//! The examples stand in the folder above, each with its purpose and how to run it at its head.

#![forbid(unsafe_code)]

mod program;
pub mod requests;
mod server;
mod totals;

pub use program::{run, say};
pub use server::{First, HELP, Options, Stop, first, serve};
pub use totals::Totals;
