//! What the measuring programs share.
//!
//! The programs are in `src/bin`: [`bare_echo`](../bare_echo/index.html) is the floor (an event
//! loop straight on the kernel), [`load`](../load/index.html) the clients,
//! [`upstream`](../upstream/index.html) the servers with faults, and
//! [`idle_figures`](../idle_figures/index.html) what makes a table and a plot of samples. The
//! scripts beside `Cargo.toml` drive them; each says at its head what it measures.

mod asked;
mod listen;
mod pattern;
mod processor_time;
mod totals;

pub use asked::{ANSWER, Asked};
pub use listen::listen;
pub use pattern::{Checker, fill};
pub use processor_time::processor_time;
pub use totals::Latencies;
