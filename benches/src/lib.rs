//! What the measuring programs share.
//!
//! The programs are in `src/bin`: [`bare_echo`](../bare_echo/index.html) is the floor (an event
//! loop straight on the kernel), [`load`](../load/index.html) the clients, and
//! [`upstream`](../upstream/index.html) the servers with faults. The scripts beside `Cargo.toml`
//! drive them; each says at its head what it measures.

mod pattern;
mod totals;

pub use pattern::{Checker, fill};
pub use totals::Latencies;
