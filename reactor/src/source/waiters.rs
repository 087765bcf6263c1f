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
    /// Everybody else, if there ever was one: a source that has none is smaller by two words.
    more: Option<Box<Others>>,
    last_key: u32,
}

type Others = Vec<(Direction, Waiter)>;

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
    #[inline]
    pub(crate) fn insert(&mut self, direction: Direction, key: Key, waker: Waker) -> Option<Waker> {
        let waiter = Waiter { key, waker };
        // A wait may be among the others while the place is free: those are looked at first.
        let is_alone = self.more.is_none();
        match self.place(direction) {
            Some(place @ None) if is_alone => {
                *place = Some(waiter);
                None
            }
            _ => self.insert_among(direction, waiter),
        }
    }

    #[cold]
    fn insert_among(&mut self, direction: Direction, waiter: Waiter) -> Option<Waker> {
        if let Some(index) = self.index(direction, waiter.key) {
            return Some(std::mem::replace(&mut self.more_mut()[index].1, waiter).waker);
        }
        match self.place(direction) {
            Some(place) if place.as_ref().is_none_or(|taken| taken.key == waiter.key) => {
                place.replace(waiter).map(|replaced| replaced.waker)
            }
            _ => {
                self.more_mut().push((direction, waiter));
                None
            }
        }
    }

    /// Forgets the wait `key`; returns its waker, to be dropped outside of the lock.
    pub(crate) fn remove(&mut self, direction: Direction, key: Key) -> Option<Waker> {
        if let Some(index) = self.index(direction, key) {
            return Some(self.more_mut().swap_remove(index).1.waker);
        }
        let place = self.place(direction)?;
        place
            .take_if(|waiter| waiter.key == key)
            .map(|waiter| waiter.waker)
    }

    /// Says whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.reader.is_none() && self.writer.is_none() && self.more().is_empty()
    }

    /// Says whether anybody waits for `direction`.
    pub(crate) fn waits_for(&self, direction: Direction) -> bool {
        self.in_place(direction).is_some() || self.more().iter().any(|(of, _)| *of == direction)
    }

    /// Moves all wakers of one direction to `wakes`.
    #[inline(always)]
    pub(crate) fn take(&mut self, direction: Direction, wakes: &mut Wakes) {
        if let Some(waiter) = self.place(direction).and_then(Option::take) {
            wakes.push(waiter.waker);
        }
        if self.more.is_some() {
            self.take_more(direction, wakes);
        }
    }

    #[cold]
    fn take_more(&mut self, direction: Direction, wakes: &mut Wakes) {
        let more = self.more_mut();
        let mut index = 0;
        while let Some((of, _)) = more.get(index) {
            if *of == direction {
                wakes.push(more.swap_remove(index).1.waker);
            } else {
                index += 1;
            }
        }
    }

    /// Shows all wakers to `look`.
    pub(crate) fn for_each(&self, mut look: impl FnMut(Direction, &Waker)) {
        let reader = self.reader.iter().map(|waiter| (Direction::Read, waiter));
        let writer = self.writer.iter().map(|waiter| (Direction::Write, waiter));
        let more = self.more().iter().map(|(of, waiter)| (*of, waiter));
        for (direction, waiter) in reader.chain(writer).chain(more) {
            look(direction, &waiter.waker);
        }
    }

    /// Takes all of them; names are not given anew for all that.
    pub(crate) fn take_all(&mut self) -> Self {
        let last_key = self.last_key;
        std::mem::replace(
            self,
            Self {
                last_key,
                ..Self::default()
            },
        )
    }

    /// Says whether the wait `key` has left a waker that wakes the task that `waker` does.
    #[inline]
    pub(crate) fn would_wake(&self, direction: Direction, key: Key, waker: &Waker) -> bool {
        self.in_place(direction)
            .is_some_and(|waiter| waiter.key == key && waiter.waker.will_wake(waker))
    }

    #[inline]
    fn in_place(&self, direction: Direction) -> Option<&Waiter> {
        match direction {
            Direction::Read => self.reader.as_ref(),
            Direction::Write => self.writer.as_ref(),
            Direction::Priority => None,
        }
    }

    #[inline]
    fn more(&self) -> &[(Direction, Waiter)] {
        self.more.as_deref().map_or(&[], Vec::as_slice)
    }

    fn more_mut(&mut self) -> &mut Others {
        self.more.get_or_insert_default()
    }

    #[inline]
    fn place(&mut self, direction: Direction) -> Option<&mut Option<Waiter>> {
        match direction {
            Direction::Read => Some(&mut self.reader),
            Direction::Write => Some(&mut self.writer),
            Direction::Priority => None,
        }
    }

    fn index(&self, direction: Direction, key: Key) -> Option<usize> {
        self.more()
            .iter()
            .position(|(of, waiter)| *of == direction && waiter.key == key)
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;
    use std::time::{Duration, Instant};

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn waker() -> (Arc<Counter>, Waker) {
        let counter = Arc::new(Counter::default());
        (counter.clone(), counter.into())
    }

    fn take(waiters: &mut Waiters, direction: Direction) -> usize {
        let mut wakes = Wakes::default();
        waiters.take(direction, &mut wakes);
        let count = wakes.len();
        wakes.wake_all();
        count
    }

    #[test]
    fn wakes_all_of_one_direction_and_nobody_else() {
        let mut waiters = Waiters::default();
        let directions = [Direction::Read, Direction::Write, Direction::Priority];
        for number in 0..30 {
            let key = waiters.new_key();
            let direction = directions[number % 3];
            assert!(waiters.insert(direction, key, waker().1).is_none());
        }
        for direction in directions {
            assert_eq!(take(&mut waiters, direction), 10);
            assert_eq!(take(&mut waiters, direction), 0);
        }
    }

    #[test]
    fn a_wait_has_one_waker_the_latest() {
        let mut waiters = Waiters::default();
        let keys = [waiters.new_key(), waiters.new_key(), Key::POLLED];
        let counters = keys.map(|key| {
            let ((old, old_waker), (new, new_waker)) = (waker(), waker());
            assert!(waiters.insert(Direction::Read, key, old_waker).is_none());
            assert!(waiters.insert(Direction::Read, key, new_waker).is_some());
            (old, new)
        });
        assert_eq!(take(&mut waiters, Direction::Read), 3);
        for (old, new) in counters {
            assert_eq!(old.0.load(Ordering::SeqCst), 0);
            assert_eq!(new.0.load(Ordering::SeqCst), 1);
        }
    }

    #[test]
    fn a_wait_knows_whether_it_has_left_the_same_waker() {
        let mut waiters = Waiters::default();
        let (key, waker, other) = (waiters.new_key(), waker().1, waker().1);
        assert!(!waiters.would_wake(Direction::Read, key, &waker));
        waiters.insert(Direction::Read, key, waker.clone());
        assert!(waiters.would_wake(Direction::Read, key, &waker));
        assert!(!waiters.would_wake(Direction::Read, key, &other));
        assert!(!waiters.would_wake(Direction::Read, Key::POLLED, &waker));
        assert!(!waiters.would_wake(Direction::Write, key, &waker));
        take(&mut waiters, Direction::Read);
        assert!(!waiters.would_wake(Direction::Read, key, &waker));
    }

    // The place in the middle gets free while others of the same direction wait in the list.
    #[test]
    fn a_wait_is_found_wherever_it_is() {
        let mut waiters = Waiters::default();
        let (first, second) = (waiters.new_key(), waiters.new_key());
        waiters.insert(Direction::Read, first, waker().1);
        waiters.insert(Direction::Read, second, waker().1);
        assert!(waiters.remove(Direction::Write, first).is_none());
        assert!(waiters.remove(Direction::Read, first).is_some());
        assert!(waiters.insert(Direction::Read, second, waker().1).is_some());
        assert!(waiters.remove(Direction::Read, second).is_some());
        assert!(waiters.remove(Direction::Read, second).is_none());
        assert_eq!(take(&mut waiters, Direction::Read), 0);
    }

    #[test]
    fn many_of_another_direction_do_not_slow_a_wake_down() {
        const COUNT: usize = 100_000;
        let mut waiters = Waiters::default();
        let waker = waker().1;
        for number in 0..2 * COUNT {
            // Put in without a look for a wait of that name, which would take as long.
            let key = waiters.new_key();
            let direction = if number < COUNT {
                Direction::Write
            } else {
                Direction::Read
            };
            let waiter = Waiter {
                key,
                waker: waker.clone(),
            };
            waiters.more_mut().push((direction, waiter));
        }
        let begin = Instant::now();
        assert_eq!(take(&mut waiters, Direction::Read), COUNT);
        assert!(begin.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn no_wait_is_given_the_name_of_the_polled() {
        let mut waiters = Waiters {
            last_key: u32::MAX - 2,
            ..Waiters::default()
        };
        for _ in 0..5 {
            assert_ne!(waiters.new_key(), Key::POLLED);
        }
    }
}
