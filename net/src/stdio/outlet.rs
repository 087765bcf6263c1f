//! What goes to standard output or standard error, and the thread that writes it.
//!
//! 1. Bytes are taken in while there is room, and written in that order.
//! 2. An error is told to one who writes or flushes; what was taken in by then is dropped.
//! 3. In a child process there is no thread, and what was taken in before the fork is the parent's.

use super::waiters::{Taken, Waiters};
use crate::system::retry;
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use windlass_reactor::sys::lock::{Condvar, Mutex, MutexGuard};
use windlass_reactor::sys::sigpipe::without_signal;
use windlass_reactor::{Process, budget};

/// How long the thread stays when there is nothing to write.
const IDLE_TIME: Duration = Duration::from_secs(5);
/// How many bytes are taken in beyond those that are being written.
const MOST: usize = 64 * 1024;

pub(super) static STDOUT: Outlet = Outlet::new("windlass-stdout", |bytes| {
    write_all(io::stdout().as_fd(), bytes)
});
pub(super) static STDERR: Outlet = Outlet::new("windlass-stderr", |bytes| {
    write_all(io::stderr().as_fd(), bytes)
});

pub(super) struct Outlet {
    state: Mutex<State>,
    /// There is something to write.
    work: Condvar,
    /// The name of the thread.
    name: &'static str,
    /// Writes all of some bytes, and may block.
    write: fn(&[u8]) -> io::Result<()>,
}

struct State {
    process: Option<Process>,
    /// What is to be written next.
    waiting: Vec<u8>,
    is_writing: bool,
    /// What nobody has been told yet.
    failed: Option<io::Error>,
    has_thread: bool,
    waiters: Waiters,
}

impl Outlet {
    const fn new(name: &'static str, write: fn(&[u8]) -> io::Result<()>) -> Self {
        Self {
            state: Mutex::new(State {
                process: None,
                waiting: Vec::new(),
                is_writing: false,
                failed: None,
                has_thread: false,
                waiters: Waiters::new(),
            }),
            work: Condvar::new(),
            name,
            write,
        }
    }

    /// Takes in what there is room for.
    pub(super) fn poll_write(
        &'static self,
        id: u64,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll(id, context, |state| {
            let room = MOST.saturating_sub(state.waiting.len());
            if room == 0 && !bytes.is_empty() {
                return Ok(None);
            }
            self.start_thread(state)?;
            let count = room.min(bytes.len());
            state.waiting.extend_from_slice(&bytes[..count]);
            self.work.notify_one();
            budget::charge_bytes(count);
            Ok(Some(count))
        })
    }

    /// Waits until all is written.
    pub(super) fn poll_flush(
        &'static self,
        id: u64,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll(id, context, |state| {
            let is_done = state.waiting.is_empty() && !state.is_writing;
            Ok(is_done.then_some(()))
        })
    }

    /// Runs `step` until it has a result, waiting for the thread in between.
    fn poll<R>(
        &'static self,
        id: u64,
        context: &mut Context<'_>,
        mut step: impl FnMut(&mut State) -> io::Result<Option<R>>,
    ) -> Poll<io::Result<R>> {
        let permit = ready!(budget::poll_proceed(context));
        let mut waker = None;
        loop {
            let mut state = self.lock();
            let result = match state.failed.take() {
                Some(error) => Some(Err(error)),
                None => step(&mut state).transpose(),
            };
            if let Some(result) = result {
                drop(state);
                permit.spend();
                return Poll::Ready(result);
            }
            // It is made without the lock, and then there may be a result.
            if let Some(waker) = waker.take() {
                let replaced = state.waiters.put(id, waker);
                drop(state);
                drop(replaced);
                return Poll::Pending;
            }
            drop(state);
            waker = Some(context.waker().clone());
        }
    }

    /// The handle `id` waits no more.
    pub(super) fn leave(&self, id: u64) {
        let waker = self.lock().waiters.take(id);
        drop(waker);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        match state.process {
            Some(process) if process.is_current() => {}
            Some(_) => state.begin_in_child(),
            None => state.process = Some(Process::current()),
        }
        state
    }

    fn start_thread(&'static self, state: &mut State) -> io::Result<()> {
        if !state.has_thread {
            std::thread::Builder::new()
                .name(self.name.into())
                .spawn(|| self.serve())?;
            state.has_thread = true;
        }
        Ok(())
    }

    /// Writes what there is, until nothing comes for a while.
    fn serve(&self) {
        let mut piece = Vec::new();
        while let Some(waiting) = self.next_piece(&mut piece) {
            // There is room again.
            waiting.wake();
            let written = (self.write)(&piece);
            piece.clear();
            self.finish(written);
        }
    }

    fn next_piece(&self, piece: &mut Vec<u8>) -> Option<Taken> {
        let mut state = self.state.lock();
        while state.waiting.is_empty() {
            let waited = self.work.wait_for(&mut state, IDLE_TIME);
            if waited.timed_out() && state.waiting.is_empty() {
                state.has_thread = false;
                return None;
            }
        }
        std::mem::swap(&mut state.waiting, piece);
        state.is_writing = true;
        Some(state.waiters.take_all())
    }

    fn finish(&self, written: io::Result<()>) {
        let mut state = self.state.lock();
        state.is_writing = false;
        if let Err(error) = written {
            state.waiting.clear();
            state.failed = Some(error);
        }
        let waiting = state.waiters.take_all();
        drop(state);
        waiting.wake();
    }
}

impl State {
    #[cold]
    fn begin_in_child(&mut self) {
        // Dropping the wakers of the parent's tasks could be seen there.
        std::mem::forget(std::mem::replace(&mut self.waiters, Waiters::new()));
        self.process = Some(Process::current());
        self.waiting.clear();
        self.is_writing = false;
        self.failed = None;
        self.has_thread = false;
    }
}

/// Writes all, also to what somebody else has had not block.
fn write_all(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match retry(|| without_signal(fd, || Ok(rustix::io::write(fd, bytes)?))) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_for_room(fd)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn wait_for_room(fd: BorrowedFd<'_>) -> io::Result<()> {
    let mut asked = [PollFd::new(&fd, PollFlags::OUT)];
    retry(|| Ok(poll(&mut asked, None)?)).map(drop)
}
