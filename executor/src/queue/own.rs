//! The tasks that a worker runs itself: with nobody to share them, or with others who steal.

use super::ring::Pointer;
use super::{Lane, Line, Owner, Put, SharedQueue};
use std::sync::Arc;

/// The own queue of a worker.
#[derive(Debug)]
pub(crate) struct Own<T: Pointer> {
    /// The number of the worker.
    index: usize,
    /// The only worker of a runtime has its tasks in the line, which needs no atomic step.
    is_alone: bool,
    line: Line<T>,
    /// A worker among others has its tasks here.
    owner: Owner<T>,
}

impl<T: Pointer> Own<T> {
    /// Makes the queue of the worker `index`, one of `workers`, from which tasks without room go to `overflow`.
    pub(crate) fn new(index: usize, workers: usize, overflow: Arc<SharedQueue<T>>) -> Self {
        let is_alone = workers == 1;
        Self {
            index,
            is_alone,
            line: Line::default(),
            owner: Owner::new(overflow, !is_alone),
        }
    }

    /// Returns the number of the worker.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Returns what other workers see.
    pub(crate) fn lane(&self) -> &Arc<Lane<T>> {
        self.owner.lane()
    }

    /// Adds a task that was woken or spawned.
    #[inline(always)]
    pub(crate) fn push(&mut self, element: T) -> Put {
        if self.is_alone {
            self.line.push(element);
            return Put::Next;
        }
        self.owner.push(element)
    }

    /// Adds a task behind all others.
    #[inline(always)]
    pub(crate) fn push_back(&mut self, element: T) {
        if self.is_alone {
            self.line.push(element);
        } else {
            self.owner.push_back(element);
        }
    }

    /// Adds a task behind all others and takes the one to run next, which is the same if there are
    /// no others.
    #[inline(always)]
    pub(crate) fn exchange(&mut self, element: T) -> Option<T> {
        if self.is_alone {
            return Some(self.line.exchange(element));
        }
        if self.owner.is_empty() {
            return Some(element);
        }
        self.owner.push_back(element);
        self.owner.pop()
    }

    /// Takes the task to run next.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.is_alone {
            return self.line.pop();
        }
        self.owner.pop()
    }

    /// Has the task at `index` be the next, if this is the only worker.
    pub(crate) fn bring_forward(&mut self, index: usize) {
        self.line.bring_forward(index);
    }

    /// Takes what is left when the worker leaves.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.pop())
    }

    /// Takes a part of what others have; see [`Owner::steal`].
    pub(crate) fn steal(&mut self, victim: &Lane<T>) -> Option<T> {
        self.owner.steal(victim)
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        if self.is_alone {
            return self.line.is_empty();
        }
        self.owner.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.line.len() + self.owner.len()
    }

    /// Returns how many tasks can be added without any going to the shared queue.
    pub(crate) fn room(&self) -> usize {
        if self.is_alone {
            return usize::MAX;
        }
        self.owner.room()
    }
}
