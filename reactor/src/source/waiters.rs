//! The wakers of those who wait for one source.

use super::Direction;
use crate::wakes::Wakes;
use std::num::NonZeroU32;
use std::task::Waker;

/// The name of one wait, distinct among those of one source and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(NonZeroU32);

impl Key {
    /// The name shared by all `poll_` methods of a direction, of which the latest caller is woken.
    pub(crate) const POLLED: Key = Key(NonZeroU32::MIN);
}

/// All who wait for one source. Most have one reader and one writer at the most, kept in place.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    reader: Option<Waiter>,
    writer: Option<Waiter>,
    /// Everybody else.
    more: Vec<(Direction, Waiter)>,
    last_key: u32,
}

#[derive(Debug)]
struct Waiter {
    key: Key,
    waker: Waker,
}

impl Waiters {
    /// Chooses a name for a new wait.
    pub(crate) fn new_key(&mut self) -> Key {
        loop {
            self.last_key = self.last_key.wrapping_add(1);
            match NonZeroU32::new(self.last_key).map(Key) {
                Some(key) if key != Key::POLLED => return key,
                _ => {}
            }
        }
    }

    /// Has `waker` woken for the wait `key`; returns the waker that it replaces.
    pub(crate) fn insert(&mut self, direction: Direction, key: Key, waker: Waker) -> Option<Waker> {
        let waiter = Waiter { key, waker };
        // A wait may be among the others while the place is free: look there first.
        if let Some(index) = self.index(direction, key) {
            return Some(std::mem::replace(&mut self.more[index].1, waiter).waker);
        }
        match self.place(direction) {
            Some(place) if place.as_ref().is_none_or(|taken| taken.key == key) => {
                place.replace(waiter).map(|replaced| replaced.waker)
            }
            _ => {
                self.more.push((direction, waiter));
                None
            }
        }
    }

    /// Forgets the wait `key`; returns its waker, to be dropped outside of the lock.
    pub(crate) fn remove(&mut self, direction: Direction, key: Key) -> Option<Waker> {
        if let Some(index) = self.index(direction, key) {
            return Some(self.more.swap_remove(index).1.waker);
        }
        let place = self.place(direction)?;
        place
            .take_if(|waiter| waiter.key == key)
            .map(|waiter| waiter.waker)
    }

    /// Moves all wakers of one direction to `wakes`.
    pub(crate) fn take(&mut self, direction: Direction, wakes: &mut Wakes) {
        if let Some(waiter) = self.place(direction).and_then(Option::take) {
            wakes.push(waiter.waker);
        }
        let mut index = 0;
        while let Some((of, _)) = self.more.get(index) {
            if *of == direction {
                wakes.push(self.more.swap_remove(index).1.waker);
            } else {
                index += 1;
            }
        }
    }

    fn place(&mut self, direction: Direction) -> Option<&mut Option<Waiter>> {
        match direction {
            Direction::Read => Some(&mut self.reader),
            Direction::Write => Some(&mut self.writer),
            Direction::Priority => None,
        }
    }

    fn index(&self, direction: Direction, key: Key) -> Option<usize> {
        self.more
            .iter()
            .position(|(of, waiter)| *of == direction && waiter.key == key)
    }
}
