//! Who of the worker threads still runs, and whose threads they are.

use super::Shared;
use std::cell::Cell;
use std::ptr;
use std::time::Instant;
use windlass_reactor::sys::lock::{Condvar, Mutex};

thread_local! {
    /// The runtime whose thread this is for life, if it is one; only to be compared.
    static OWNER: Cell<*const Shared> = const { Cell::new(ptr::null()) };
}

/// Says that this thread is one of `runtime`'s for life, and will not outlive its memory.
pub(crate) fn belong_to(runtime: *const Shared) {
    OWNER.set(runtime);
}

/// Says whether this thread is one of `runtime`'s, whatever it is doing at the moment.
pub(super) fn belongs_to(runtime: *const Shared) -> bool {
    ptr::eq(OWNER.get(), runtime)
}

/// Counts worker threads from start to end, and the watch over them, which runs no tasks.
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
    /// A thread is about to start.
    pub(super) fn start(&self) {
        let mut threads = self.threads.lock();
        threads.running += 1;
        threads.alive += 1;
    }

    /// The watch is about to start.
    pub(super) fn start_watch(&self) {
        self.threads.lock().alive += 1;
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

    /// A thread that was to start could not.
    pub(super) fn give_up(&self) {
        self.threads.lock().running -= 1;
        self.end();
    }

    /// Says whether no thread runs tasks.
    pub(super) fn is_idle(&self) -> bool {
        self.threads.lock().running == 0
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

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_thread_that_never_began_holds_nobody_up() {
        let lifecycle = Lifecycle::default();
        lifecycle.start();
        lifecycle.start();
        lifecycle.give_up();
        assert!(lifecycle.stop_together(), "there is nobody else");
        assert!(lifecycle.is_idle());
        assert!(!lifecycle.wait_until(Some(Instant::now())));
        lifecycle.end();
        let limit = Instant::now() + Duration::from_secs(10);
        assert!(lifecycle.wait_until(Some(limit)));
    }
}
