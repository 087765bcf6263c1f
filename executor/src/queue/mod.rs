//! Where tasks that are ready wait for a thread.

mod line;
mod list;
mod shared;

pub(crate) use line::Line;
pub(crate) use list::TaskList;
pub(crate) use shared::SharedQueue;
