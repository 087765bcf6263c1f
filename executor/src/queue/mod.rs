//! Where tasks that are ready wait for a thread.

mod list;
mod shared;

pub(crate) use list::TaskList;
pub(crate) use shared::SharedQueue;
