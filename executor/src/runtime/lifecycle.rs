//! Who of the worker threads still runs.

use parking_lot::{Condvar, Mutex};
use std::time::Instant;

/// Counts worker threads from start to end.
///
/// They stop together: each waits for the others to have run their last task, so that no future is
/// dropped while another worker could still be waiting for it in a blocking call.
#[derive(Debug, Default)]
pub(super) struct Lifecycle {
    threads: Mutex<Threads>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Threads {
    /// How many run tasks.
    running: usize,
    /// How many have not ended.
    alive: usize,
}

impl Lifecycle {
    /// A thread was started.
    pub(super) fn start(&self) {
        let mut threads = self.threads.lock();
        threads.running += 1;
        threads.alive += 1;
    }

    /// A thread runs no more tasks; waits for the others. Returns whether it is the last one.
    pub(super) fn stop_together(&self) -> bool {
        let mut threads = self.threads.lock();
        threads.running -= 1;
        if threads.running == 0 {
            self.changed.notify_all();
            return true;
        }
        self.changed
            .wait_while(&mut threads, |threads| threads.running > 0);
        false
    }

    /// A thread has dropped all that was its own.
    pub(super) fn end(&self) {
        self.threads.lock().alive -= 1;
        self.changed.notify_all();
    }

    /// Says whether no thread is alive.
    pub(super) fn is_over(&self) -> bool {
        self.threads.lock().alive == 0
    }

    /// Waits until no thread is alive, or until `deadline`; says whether it came to that.
    pub(super) fn wait_until(&self, deadline: Option<Instant>) -> bool {
        let mut threads = self.threads.lock();
        let is_alive = |threads: &mut Threads| threads.alive > 0;
        match deadline {
            None => self.changed.wait_while(&mut threads, is_alive),
            Some(deadline) => {
                let _ = self
                    .changed
                    .wait_while_until(&mut threads, is_alive, deadline);
            }
        }
        threads.alive == 0
    }
}
