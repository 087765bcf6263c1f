//! Asking tasks to stop, instead of aborting them.
//!
//! - `token.rs`: the token that is handed around.
//! - `wait.rs`: the futures that wait for it, and the guard that cancels when it is dropped.
//! - `tree.rs`: which tokens a cancellation reaches.
//! - `waiters.rs`: the wakers of who waits.

mod token;
mod tree;
mod wait;
mod waiters;

pub use token::CancellationToken;
pub use wait::{Cancelled, CancelledOwned, DropGuard};
pub(crate) use waiters::{Place, Waiters};
