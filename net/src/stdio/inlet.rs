//! What comes from standard input, and the thread that reads it.
//!
//! 1. The thread reads when it is asked to, once, and no more than whoever asked has space for: so
//!    nothing is taken from the other processes that share the stream before somebody wants it.
//! 2. It is asked when there is something to read. Another process may take that first, and then
//!    the thread waits for more; nothing else does.
//! 3. What it has read is kept until somebody takes it, whoever had asked: a read that is given up
//!    loses nothing.
//! 4. An end or an error is for one read, as it is with read(2): a terminal goes on after an end.
//! 5. In a child process there is no thread, and what was read before the fork is the parent's.

use super::waiters::Waiters;
use crate::system::retry;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;
use windlass_reactor::Process;
use windlass_reactor::sys::lock::{Condvar, Mutex, MutexGuard};

/// How long the thread stays when nobody asks.
const IDLE_TIME: Duration = Duration::from_secs(5);
/// How much is read in one go, at the most.
const MOST: usize = 64 * 1024;

static INLET: Mutex<Inlet> = Mutex::new(Inlet {
    process: None,
    found: None,
    taken: 0,
    stage: Stage::Idle,
    has_thread: false,
    waiters: Waiters::new(),
});
/// The thread is asked to read.
static ASKED: Condvar = Condvar::new();

struct Inlet {
    process: Option<Process>,
    /// What a read has found that nobody has taken yet; no bytes are the end.
    found: Option<io::Result<Vec<u8>>>,
    /// How many of the bytes were taken.
    taken: usize,
    stage: Stage,
    has_thread: bool,
    waiters: Waiters,
}

enum Stage {
    Idle,
    /// To read from here, so many bytes at the most.
    Asked(Arc<OwnedFd>, usize),
    Reading,
}

/// What a look at what has come says.
pub(super) enum Look {
    Taken(io::Result<usize>),
    /// Nothing is there, and the thread will be over with a read.
    UnderWay,
    /// Nothing is there, and nobody reads.
    Nothing,
}

/// Takes what is there.
pub(super) fn take(space: &mut [u8]) -> Look {
    lock().take(space)
}

/// Has the thread read once, unless it does or has.
///
/// Fails only if there is no thread and none can be started.
pub(super) fn ask(fd: &Arc<OwnedFd>, most: usize) -> io::Result<()> {
    let mut inlet = lock();
    if inlet.found.is_some() || !matches!(inlet.stage, Stage::Idle) {
        return Ok(());
    }
    if !inlet.has_thread {
        std::thread::Builder::new()
            .name("windlass-stdin".into())
            .spawn(serve)?;
        inlet.has_thread = true;
    }
    inlet.stage = Stage::Asked(fd.clone(), most.min(MOST));
    drop(inlet);
    ASKED.notify_one();
    Ok(())
}

/// Has the handle `id` woken when a read is over; says no if something is there already.
pub(super) fn wait(id: u64, context: &Context<'_>) -> bool {
    let waker = context.waker().clone();
    let mut inlet = lock();
    if inlet.found.is_some() {
        drop(inlet);
        return false;
    }
    let replaced = inlet.waiters.put(id, waker);
    drop(inlet);
    drop(replaced);
    true
}

/// The handle `id` waits no more. A read that nobody waits for any more is not begun.
pub(super) fn leave(id: u64) {
    let mut inlet = lock();
    let waker = inlet.waiters.take(id);
    if waker.is_some() && inlet.waiters.is_empty() && matches!(inlet.stage, Stage::Asked(..)) {
        inlet.stage = Stage::Idle;
    }
    drop(inlet);
    drop(waker);
}

fn lock() -> MutexGuard<'static, Inlet> {
    let mut inlet = INLET.lock();
    match inlet.process {
        Some(process) if process.is_current() => {}
        Some(_) => inlet.begin_in_child(),
        None => inlet.process = Some(Process::current()),
    }
    inlet
}

impl Inlet {
    fn take(&mut self, space: &mut [u8]) -> Look {
        let Some(Ok(bytes)) = &self.found else {
            return match self.found.take() {
                Some(result) => Look::Taken(result.map(|_| 0)),
                None if matches!(self.stage, Stage::Idle) => Look::Nothing,
                None => Look::UnderWay,
            };
        };
        let rest = &bytes[self.taken..];
        let count = rest.len().min(space.len());
        space[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        if self.taken == bytes.len() {
            self.found = None;
            self.taken = 0;
        }
        Look::Taken(Ok(count))
    }

    #[cold]
    fn begin_in_child(&mut self) {
        // Dropping the wakers of the parent's tasks could be seen there.
        std::mem::forget(std::mem::replace(&mut self.waiters, Waiters::new()));
        self.process = Some(Process::current());
        self.found = None;
        self.taken = 0;
        self.stage = Stage::Idle;
        self.has_thread = false;
    }
}

/// Reads when asked, until nobody asks for a while.
fn serve() {
    while let Some((fd, most)) = next_request() {
        let mut bytes = vec![0; most];
        let read = retry(|| Ok(rustix::io::read(&*fd, &mut bytes[..])?));
        finish(read.map(|count| {
            bytes.truncate(count);
            bytes
        }));
    }
}

fn next_request() -> Option<(Arc<OwnedFd>, usize)> {
    let mut inlet = INLET.lock();
    loop {
        match std::mem::replace(&mut inlet.stage, Stage::Reading) {
            Stage::Asked(fd, most) => return Some((fd, most)),
            other => inlet.stage = other,
        }
        if ASKED.wait_for(&mut inlet, IDLE_TIME).timed_out()
            && !matches!(inlet.stage, Stage::Asked(..))
        {
            inlet.has_thread = false;
            return None;
        }
    }
}

/// Keeps what a read has found. If it would block, as somebody else has had the stream do, there is
/// nothing: whoever waits looks again.
fn finish(found: io::Result<Vec<u8>>) {
    let would_block = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
    let mut inlet = INLET.lock();
    inlet.stage = Stage::Idle;
    if !found.as_ref().is_err_and(would_block) {
        inlet.found = Some(found);
    }
    let waiting = inlet.waiters.take_all();
    drop(inlet);
    waiting.wake();
}
