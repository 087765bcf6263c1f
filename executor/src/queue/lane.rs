//! The own queue of a worker among several: a slot for the task that runs next, and a ring.
//!
//! It has two ends. The [`Owner`] exists once, and goes with the worker from thread to thread; it
//! alone adds. The [`Lane`] is what all others reach: they steal from the ring, and take the slot
//! as well when the worker is stuck.
//!
//! A task that is woken or spawned goes to the slot if that is empty: it runs next, with what its
//! waker wrote still in the cache, and concerns nobody else. So that two tasks which wake each
//! other don't keep the rest waiting, after [`MOST_IN_A_ROW`] the slot goes through the ring once.

use super::SharedQueue;
use super::ring::{Pointer, Ring};
use super::slot::Slot;
use crate::sync::atomic::{AtomicUsize, Ordering};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

/// How many tasks a ring holds. What is more goes to the shared queue, a batch at a time.
const CAPACITY: usize = if cfg!(windlass_loom) { 4 } else { 512 };
/// How many tasks are run out of the slot before the ring has its turn.
const MOST_IN_A_ROW: u8 = 3;

/// What other threads see of a worker; see the module.
#[derive(Debug)]
pub(crate) struct Lane<T: Pointer> {
    ring: Ring<T>,
    slot: Slot<T>,
    polls: Polls,
}

/// How often a worker has begun to run something, and whether it is at it.
///
/// Twice the number, plus 1 while it is. Written by the worker alone; whoever sees the same odd
/// number twice knows that the worker has been in one poll all the time between.
#[derive(Debug)]
#[repr(align(128))]
struct Polls(AtomicUsize);

/// The end of a lane that adds; there is one.
#[derive(Debug)]
pub(crate) struct Owner<T: Pointer> {
    lane: Arc<Lane<T>>,
    /// Where tasks go that have no room.
    overflow: Arc<SharedQueue<T>>,
    /// How many tasks have come out of the slot, one after the other.
    in_a_row: u8,
    /// Not to be used by two threads at once.
    _alone: PhantomData<Cell<()>>,
}

/// Where a task was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// Where the worker takes it next, so that nobody else is needed.
    Next,
    /// Behind others.
    Behind,
    /// Where nothing was before, so that whoever falls asleep meanwhile may not have seen it.
    First,
}

impl<T: Pointer> Owner<T> {
    /// Makes a lane, of which tasks without room go to `overflow`. One that is not to be used needs
    /// no room at all.
    pub(crate) fn new(overflow: Arc<SharedQueue<T>>, is_used: bool) -> Self {
        let lane = Lane {
            ring: Ring::new(if is_used { CAPACITY } else { 0 }),
            slot: Slot::new(),
            polls: Polls(AtomicUsize::new(0)),
        };
        Self {
            lane: Arc::new(lane),
            overflow,
            in_a_row: 0,
            _alone: PhantomData,
        }
    }

    /// Returns what others see.
    pub(crate) fn lane(&self) -> &Arc<Lane<T>> {
        &self.lane
    }

    /// Adds a task that was woken or spawned.
    #[inline(never)]
    pub(crate) fn push(&mut self, element: T) -> Put {
        // SAFETY: There is one owner, and nobody else uses it meanwhile.
        match unsafe { self.lane.slot.fill(element) } {
            Ok(()) => Put::Next,
            Err(element) => self.push_back(element),
        }
    }

    /// Adds a task behind all others.
    #[inline]
    pub(crate) fn push_back(&mut self, element: T) -> Put {
        let was_empty = self.lane.ring.is_empty();
        // SAFETY: There is one owner, and nobody else uses it meanwhile.
        if let Err(element) = unsafe { self.lane.ring.push(element) } {
            self.make_room(element);
        }
        if was_empty { Put::First } else { Put::Behind }
    }

    /// Sends the oldest tasks to the shared queue.
    #[cold]
    fn make_room(&mut self, element: T) {
        self.overflow.push_all(self.lane.ring.take(2));
        // SAFETY: There is one owner, and nobody else uses it meanwhile.
        let pushed = unsafe { self.lane.ring.push(element) };
        assert!(pushed.is_ok(), "room was made");
    }

    /// Takes the task to run next.
    #[inline(never)]
    pub(crate) fn pop(&mut self) -> Option<T> {
        if !self.lane.slot.is_empty() {
            if self.in_a_row < MOST_IN_A_ROW {
                self.in_a_row += 1;
                let next = self.lane.slot.take();
                if next.is_some() {
                    return next;
                }
            } else if let Some(late) = self.lane.slot.take() {
                self.push_back(late);
            }
        }
        self.in_a_row = 0;
        self.lane.ring.pop()
    }

    /// Says whether there is nothing, neither in the slot nor behind.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.lane.slot.is_empty() && self.lane.ring.is_empty()
    }

    /// Returns how many tasks there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(!self.lane.slot.is_empty()) + self.lane.ring.len()
    }

    /// Returns for how many tasks there is room.
    pub(crate) fn room(&self) -> usize {
        self.lane.ring.capacity() - self.lane.ring.len()
    }

    /// Takes half of the ring of another worker, and returns one task of that half.
    pub(crate) fn steal(&mut self, victim: &Lane<T>) -> Option<T> {
        if victim.ring.is_empty() {
            return None;
        }
        let mut stolen = victim.ring.take(1);
        let next = stolen.next();
        stolen.for_each(|element| {
            self.push_back(element);
        });
        next
    }
}

impl<T: Pointer> Lane<T> {
    /// Returns how many tasks there seem to be.
    pub(crate) fn len(&self) -> usize {
        usize::from(!self.slot.is_empty()) + self.ring.len()
    }

    /// Says whether there is something to steal.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.ring.is_empty()
    }

    /// Moves all that there is, also what was to run next, to the shared queue. Returns whether
    /// that was anything.
    pub(crate) fn move_all(&self, to: &SharedQueue<T>) -> bool {
        let mut moved = false;
        if let Some(next) = self.slot.take() {
            to.push(next);
            moved = true;
        }
        // What the owner goes on to add is not waited for.
        for _ in 0..=self.ring.capacity() / super::ring::LARGEST_BATCH {
            let batch = self.ring.take(2);
            if batch.size_hint().0 == 0 {
                break;
            }
            to.push_all(batch);
            moved = true;
        }
        moved
    }

    /// Notes that the worker begins to run something. For the worker alone.
    #[inline(always)]
    pub(crate) fn begin_poll(&self) {
        let polls = self.polls.0.load(Ordering::Relaxed);
        self.polls
            .0
            .store((polls | 1).wrapping_add(2), Ordering::Relaxed);
    }

    /// Notes that the worker runs nothing now. For the worker alone.
    #[inline(always)]
    pub(crate) fn end_polls(&self) {
        let polls = self.polls.0.load(Ordering::Relaxed);
        self.polls.0.store(polls & !1, Ordering::Relaxed);
    }

    /// Counts what was run by the worker, or by the thread that is about to be it.
    #[inline(always)]
    pub(crate) fn count_polls(&self, count: u32) {
        let polls = self.polls.0.load(Ordering::Relaxed);
        self.polls
            .0
            .store(polls.wrapping_add(2 * count as usize), Ordering::Relaxed);
    }

    /// Returns how often the worker has begun to run something, twice that, and 1 if it is at it.
    pub(crate) fn polls(&self) -> usize {
        self.polls.0.load(Ordering::Relaxed)
    }
}
