//! The threads that look names up.
//!
//! There is one pool for the process, so that it is bounded whatever the number of runtimes. Its
//! threads are detached: no shutdown waits for a name server. A thread is started when a request
//! finds none idle, up to [`MOST_THREADS`], and ends after [`IDLE_TIME`] without a request.

use super::lookup::Request;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use windlass_reactor::contain::contain;
use windlass_reactor::sys::lock::{Condvar, Mutex};

const MOST_THREADS: usize = 8;
const IDLE_TIME: Duration = Duration::from_secs(5);

static POOL: Mutex<Pool> = Mutex::new(Pool {
    queue: VecDeque::new(),
    threads: 0,
    idle: 0,
    process: 0,
});
/// Signalled once for each request that an idle thread is to take.
static REQUESTED: Condvar = Condvar::new();

struct Pool {
    queue: VecDeque<Arc<Request>>,
    threads: usize,
    /// How many of the threads wait for a request.
    idle: usize,
    /// Whose threads they are: a forked child has none of its parent's.
    process: u32,
}

/// Has a thread answer `request`.
///
/// Fails only if there is no thread and none can be started.
pub(super) fn submit(request: Arc<Request>) -> io::Result<()> {
    let mut pool = POOL.lock();
    pool.forget_threads_of_parent();
    pool.queue.push_back(request);
    if pool.queue.len() <= pool.idle {
        REQUESTED.notify_one();
    } else if pool.threads < MOST_THREADS {
        if let Err(error) = start_thread() {
            if pool.threads == 0 {
                pool.queue.pop_back();
                return Err(error);
            }
            // The threads there are come to it in time.
        } else {
            pool.threads += 1;
        }
    }
    Ok(())
}

/// Takes a request back if no thread has begun with it, so that none are kept for nobody while a
/// name server is silent.
pub(super) fn withdraw(request: &Arc<Request>) {
    let mut pool = POOL.lock();
    let place = pool.queue.iter().position(|one| Arc::ptr_eq(one, request));
    let withdrawn = place.and_then(|place| pool.queue.remove(place));
    drop(pool);
    drop(withdrawn);
}

fn start_thread() -> io::Result<()> {
    std::thread::Builder::new()
        .name("windlass-resolve".into())
        .spawn(serve)
        .map(drop)
}

/// Answers requests until there are none for a while.
fn serve() {
    while let Some(request) = next_request() {
        // Waking runs somebody else's code, whose panics are not ours.
        contain(move || request.answer());
    }
}

fn next_request() -> Option<Arc<Request>> {
    let mut pool = POOL.lock();
    loop {
        if let Some(request) = pool.queue.pop_front() {
            return Some(request);
        }
        pool.idle += 1;
        let waited = REQUESTED.wait_for(&mut pool, IDLE_TIME);
        pool.idle -= 1;
        if waited.timed_out() && pool.queue.is_empty() {
            pool.threads -= 1;
            return None;
        }
    }
}

impl Pool {
    fn forget_threads_of_parent(&mut self) {
        let process = std::process::id();
        if self.process != process {
            self.process = process;
            self.threads = 0;
            self.idle = 0;
            // With wakers of the parent's, which dropping them could be seen by.
            std::mem::forget(std::mem::take(&mut self.queue));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_THREADS, POOL};
    use crate::lookup_host;
    use crate::resolve::lookup::{Lookup, Request};
    use futures::executor::block_on;
    use futures::future::join_all;
    use std::sync::Arc;

    /// A request that nobody waits for is not kept, however long the threads are busy.
    #[test]
    fn what_was_taken_back_is_not_kept() {
        let request = Request::new("localhost".into(), 1);
        // Behind the back of the threads, none of which is told.
        POOL.lock().queue.push_back(request.clone());
        let lookup = Lookup::of(request.clone());
        drop(lookup);
        let pool = POOL.lock();
        assert!(!pool.queue.iter().any(|one| Arc::ptr_eq(one, &request)));
    }

    #[test]
    fn threads_are_bounded_and_all_requests_are_answered() {
        let lookups = (0..200).map(|port| lookup_host(("localhost", port)));
        for (port, found) in block_on(join_all(lookups)).into_iter().enumerate() {
            assert_eq!(usize::from(found.unwrap()[0].port()), port);
            assert!(POOL.lock().threads <= MOST_THREADS);
        }
        let pool = POOL.lock();
        assert!(pool.queue.is_empty() && pool.threads >= 1);
    }
}
