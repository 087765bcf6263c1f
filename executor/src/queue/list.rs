//! The tasks that are alive.

use crate::sync::Mutex;
use crate::task::{Origin, Slot, Task};
use slab::Slab;

/// Owns the tasks of a runtime or of a thread, so that they can be ended.
///
/// A task in the list keeps itself alive: its cell holds what holds the list. So a list has to be
/// closed, it never is dropped by itself.
#[derive(Default)]
pub(crate) struct TaskList(Mutex<Alive>);

#[derive(Default)]
struct Alive {
    tasks: Slab<Task>,
    closed: bool,
}

impl TaskList {
    /// Takes a new task in, and notes its place as the number `list` and the key.
    ///
    /// # Errors
    ///
    /// The task, if the list is closed.
    pub(crate) fn insert(&self, list: u32, task: Task) -> Result<(), Task> {
        let mut alive = self.0.lock();
        if alive.closed {
            return Err(task);
        }
        let entry = alive.tasks.vacant_entry();
        task.set_slot(Slot {
            list,
            key: entry.key() as u32,
        });
        entry.insert(task);
        Ok(())
    }

    /// Takes a task out that is over; `None` if the list was closed.
    pub(crate) fn remove(&self, slot: Slot) -> Option<Task> {
        self.0.lock().tasks.try_remove(slot.key as usize)
    }

    /// Ends all tasks and refuses new ones. Their futures are dropped here and now, with no lock
    /// held, but for those that are being polled: they are dropped after that poll.
    pub(crate) fn close(&self) {
        let mut alive = self.0.lock();
        alive.closed = true;
        let tasks = std::mem::take(&mut alive.tasks);
        drop(alive);
        drop(tasks);
    }

    /// Names the task with this key.
    pub(crate) fn origin(&self, key: u32) -> Option<Origin> {
        self.0.lock().tasks.get(key as usize).map(Task::origin)
    }

    /// Counts the tasks that are ready and wait for a thread, and names some.
    pub(crate) fn waiting(&self, most_named: usize) -> (usize, Vec<Origin>) {
        let alive = self.0.lock();
        let waiting = || alive.tasks.iter().filter(|(_, task)| task.is_waiting());
        let named = waiting().take(most_named);
        (
            waiting().count(),
            named.map(|(_, task)| task.origin()).collect(),
        )
    }

    /// Returns how many tasks are alive.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().tasks.len()
    }
}
