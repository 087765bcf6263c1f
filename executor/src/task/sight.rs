//! A task as others see it, without touching its future.
//!
//! What is counted in the header is written by whoever polls the task, of whom there is one at a
//! time, so that no step has to lock memory. Whoever looks holds the lock of the list that the task
//! is in, which keeps it there, and nothing else: what he sees may be over a moment later.

use std::panic::Location;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Waker;
use std::time::Duration;

use super::cell::Header;
use super::reference::Reference;
use super::ticks::Tick;
use super::{Id, Name, Runnable};

/// What can be seen of a task.
#[derive(Debug)]
pub(crate) struct Sight {
    /// Where it is, which its wakers have as their data.
    pub(crate) address: usize,
    pub(crate) id: Id,
    pub(crate) name: Option<Name>,
    pub(crate) spawned_at: &'static Location<'static>,
    pub(crate) stage: Stage,
    /// How often it was polled; wraps around.
    pub(crate) polls: u32,
    /// When its last poll began.
    pub(crate) last_poll: Tick,
    /// How long its polls took, if that was measured.
    pub(crate) busy: Duration,
    /// Who awaits its join handle, if anybody does.
    pub(crate) joiner: Option<Mark>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Running,
    Ready,
    Idle,
    Complete,
}

/// A task, or a root future, in half a word: a part of its address, only to be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mark(u32);

impl Mark {
    /// Returns the mark of what is at `address`.
    pub(crate) fn of(address: usize) -> Self {
        // The lowest bits are the same for all.
        Self((address >> 3) as u32)
    }
}

impl Sight {
    /// Looks at a task.
    pub(super) fn of(task: &Reference) -> Self {
        let header = task.header();
        let (stage, is_joined) = header.state.glance();
        let joiner = header.joiner.load(Relaxed);
        Self {
            address: task.as_raw().addr().get(),
            id: header.id,
            name: task.name().cloned(),
            spawned_at: header.spawned_at,
            stage,
            polls: header.polls.load(Relaxed),
            last_poll: Tick(header.last_poll.load(Relaxed)),
            busy: Duration::from_nanos(header.busy.load(Relaxed)),
            joiner: (is_joined && joiner != 0).then_some(Mark(joiner)),
        }
    }
}

impl Runnable {
    /// Notes that the task is about to be polled, at a time that is known anyway.
    #[inline(always)]
    pub(crate) fn note_poll(&self, now: Tick) {
        let header = self.0.header();
        let polls = header.polls.load(Relaxed).wrapping_add(1);
        header.polls.store(polls, Relaxed);
        header.last_poll.store(now.0, Relaxed);
    }

    /// Polls the future as [`run`](Runnable::run) does, and measures how long it takes, if it leaves
    /// the task pending. Returns that, too.
    pub(crate) fn run_timed(self) -> (Option<Self>, Duration) {
        // It is needed after the poll, which uses up the reference.
        let task = self.0.clone();
        let begin = std::time::Instant::now();
        let again = self.run();
        let took = begin.elapsed();
        let busy = &task.header().busy;
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        busy.fetch_add(nanoseconds, Relaxed);
        (again, took)
    }
}

impl Header {
    /// Notes who waits for the task to complete. If the waker is none of a task or of a root future,
    /// the mark is that of nothing that is looked for.
    pub(super) fn note_joiner(&self, waker: &Waker) {
        let joiner = Mark::of(waker.data().addr()).0;
        self.joiner.store(joiner, Relaxed);
    }
}
