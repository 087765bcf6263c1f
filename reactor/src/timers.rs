//! Deadlines and the wakers that are due at them: a heap whose entries can be found.
//!
//! No clock is read and no waker woken here. The heap is four children wide: a timeout that is
//! later than most, as timeouts are, goes in and out with one or two comparisons, whatever the
//! number of others.

use crate::clock::Moment;
use crate::wakes::Wakes;
use slab::Slab;
use std::task::Waker;

const CHILDREN: usize = 4;

/// Names a timer; also after it has fired, when it names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimerKey {
    index: u32,
    generation: u32,
}

/// All timers of one reactor.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: Vec<Entry>,
    timers: Slab<Timer>,
    generation: u32,
}

/// A place in the heap; kept small and apart, since most comparisons read nothing else.
#[derive(Clone, Copy, Debug)]
struct Entry {
    deadline: Moment,
    index: u32,
}

#[derive(Debug)]
struct Timer {
    waker: Waker,
    /// Where in the heap its entry is.
    position: u32,
    generation: u32,
}

impl Timers {
    /// Adds a timer.
    pub(crate) fn insert(&mut self, deadline: Moment, waker: Waker) -> TimerKey {
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        let position = self.heap.len();
        let index = self.timers.insert(Timer {
            waker,
            position: position as u32,
            generation,
        }) as u32;
        self.heap.push(Entry { deadline, index });
        self.sift_up(position);
        TimerKey { index, generation }
    }

    /// Has another waker woken; hands it back if the timer is over.
    pub(crate) fn replace_waker(&mut self, key: TimerKey, waker: Waker) -> Result<Waker, Waker> {
        match self.timers.get_mut(key.index as usize) {
            Some(timer) if timer.generation == key.generation => {
                Ok(std::mem::replace(&mut timer.waker, waker))
            }
            _ => Err(waker),
        }
    }

    /// Takes a timer out; returns its waker unless it is over.
    pub(crate) fn remove(&mut self, key: TimerKey) -> Option<Waker> {
        let timer = self.timers.get(key.index as usize)?;
        if timer.generation != key.generation {
            return None;
        }
        let position = timer.position as usize;
        self.remove_entry(position);
        Some(self.timers.remove(key.index as usize).waker)
    }

    /// Moves the wakers of the timers that are due at `now` to `wakes`, earliest first.
    pub(crate) fn expire(&mut self, now: Moment, wakes: &mut Wakes) -> usize {
        let before = wakes.len();
        while let Some(first) = self.heap.first().filter(|first| first.deadline <= now) {
            let index = first.index as usize;
            self.remove_entry(0);
            wakes.push(self.timers.remove(index).waker);
        }
        wakes.len() - before
    }

    /// Moves all wakers to `wakes`, whatever their deadlines.
    pub(crate) fn take_all(&mut self, wakes: &mut Wakes) {
        self.heap.clear();
        wakes.extend(self.timers.drain().map(|timer| timer.waker));
    }

    /// Returns the earliest deadline; [`Moment::NEVER`] if there is no timer.
    pub(crate) fn next_deadline(&self) -> Moment {
        self.heap
            .first()
            .map_or(Moment::NEVER, |first| first.deadline)
    }

    fn remove_entry(&mut self, position: usize) {
        self.heap.swap_remove(position);
        if position < self.heap.len() {
            // The last entry has taken the place; it may belong further up or further down.
            let settled = self.sift_up(position);
            self.sift_down(settled);
        }
    }

    /// Moves the entry at `position` towards the root until its parent is not later; returns where
    /// it came to rest.
    fn sift_up(&mut self, mut position: usize) -> usize {
        let moving = self.heap[position];
        while position > 0 {
            let parent = (position - 1) / CHILDREN;
            if self.heap[parent].deadline <= moving.deadline {
                break;
            }
            self.put(position, self.heap[parent]);
            position = parent;
        }
        self.put(position, moving);
        position
    }

    /// Moves the entry at `position` away from the root until no child is earlier.
    fn sift_down(&mut self, mut position: usize) {
        let moving = self.heap[position];
        while let Some(child) = self.earliest_child(position) {
            if moving.deadline <= self.heap[child].deadline {
                break;
            }
            self.put(position, self.heap[child]);
            position = child;
        }
        self.put(position, moving);
    }

    fn earliest_child(&self, position: usize) -> Option<usize> {
        let first = position * CHILDREN + 1;
        let end = (first + CHILDREN).min(self.heap.len());
        (first..end).min_by_key(|child| self.heap[*child].deadline)
    }

    fn put(&mut self, position: usize, entry: Entry) {
        self.heap[position] = entry;
        self.timers[entry.index as usize].position = position as u32;
    }
}
