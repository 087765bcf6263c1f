//! Accepting connections, which is the same for listeners of all kinds: what happens between a call
//! of `accept` and a connection is in `queue.rs`, how it waits when descriptors run out in
//! `shortage.rs`, what a listener offers in `methods.rs`.

mod incoming;
mod methods;
mod queue;
mod shortage;

pub use incoming::Incoming;
pub(crate) use methods::accepting_methods;
pub(crate) use queue::{Accepts, Listening, Queue, is_shortage_error};
pub use shortage::AcceptBackoff;
