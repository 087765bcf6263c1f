//! The variant `stale`: one-shot events are fixed when they happen.
//!
//! In a kernel a knote becomes pending in the moment of the change, and a one-shot knote is then
//! reported without asking again, even if the program has meanwhile taken what it is about. Without
//! this variant edges are looked at when somebody next calls `kevent()`, which hides most of that.
//! With it a thread looks at them all the time.

use std::thread;

use crate::sys::{self, signals::Blocked};
use crate::table::{self, QueueId};

/// How long the thread goes on after its queue has been closed, at most.
const PATIENCE: u64 = 50_000_000;

/// Starts the thread of a queue; it ends with the queue.
pub(crate) fn watch(id: QueueId) {
    // The new thread inherits the mask: the program's signals are for the program's threads.
    let _blocked = Blocked::new();
    for which in [0, 1] {
        let thread = thread::Builder::new().name("kqueue emulation".into());
        if let Err(error) = thread.spawn(move || follow(id, which)) {
            eprintln!("kqueue emulation: no thread for the variant stale: {error}");
            std::process::abort();
        }
    }
}

fn follow(id: QueueId, which: usize) {
    let blocked = Blocked::new();
    loop {
        let mut table = table::lock();
        if !table.queues.contains_key(&id) {
            return;
        }
        table.gather(id);
        let queue = table.queue(id);
        queue.publish();
        let set = queue.edge_sets()[which];
        drop(table);
        // If the number has been reused meanwhile, the next look ends the loop.
        if sys::set::sleep(set, Some(PATIENCE), blocked.program()).is_err() {
            return;
        }
    }
}
