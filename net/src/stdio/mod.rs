//! The standard streams of the process.
//!
//! A process shares them with its parent, its shell and its children, so that they are never told
//! not to block: that would be for all of them. Whatever may block is done by a thread of its own,
//! one for each stream (`inlet.rs`, `outlet.rs`), which nothing waits for: neither the end of a
//! runtime nor that of the process.

mod inlet;
mod outlet;
mod stdin;
mod stdout;
mod waiters;

pub use stdin::{Stdin, stdin};
pub use stdout::{Stderr, Stdout, stderr, stdout};
