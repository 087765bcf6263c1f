//! Where tasks that are ready wait for a thread.
//!
//! The ring is one of the two places of this crate with unsafe code: it keeps tasks as pointers.

#[allow(unsafe_code)]
mod lane;
mod line;
#[cfg(all(test, windlass_loom))]
#[allow(unsafe_code)]
mod loom;
mod own;
#[allow(unsafe_code)]
mod ring;
mod shared;
#[allow(unsafe_code)]
mod slot;

pub(crate) use lane::{Lane, Owner, Put};
pub(crate) use line::Line;
pub(crate) use own::Own;
pub(crate) use ring::Pointer;
pub(crate) use shared::SharedQueue;
