//! Deadlines and the wakers that are due at them: a heap whose entries can be found.
//!
//! No clock is read and no waker woken here. Most timers are timeouts that are taken out, or moved
//! to later, long before they are due. So work is put off until it is known to be needed:
//!
//! 1. A new timer joins the *newcomers*, a short stretch behind the heap that is in no order, and is
//!    sorted in when the stretch is full or something is due. One that is taken out before costs
//!    the same whatever the number of others.
//! 2. A timer in the heap that is moved to later keeps its place. It is moved down when it has come
//!    to the top, and only then; so the top tells the truth, and all others are no earlier than
//!    their places say.
//!
//! The heap is four children wide: most timers go in and out with one or two comparisons.

use crate::clock::Moment;
use crate::wakes::Wakes;
use slab::Slab;
use std::task::Waker;

const CHILDREN: usize = 4;
/// How many timers are in no order, at the most: few, as they are looked through for the earliest.
const MOST_NEWCOMERS: usize = 16;

/// Names a timer; also after it has fired, when it names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimerKey {
    index: u32,
    generation: u32,
}

/// All timers of one reactor.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    /// The heap, and behind it the newcomers.
    entries: Vec<Entry>,
    /// How many of the entries are the heap.
    sorted: usize,
    timers: Slab<Timer>,
    generation: u32,
}

/// A place among the entries; kept small and apart, since most comparisons read nothing else.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// What it is sorted by: the deadline, or an earlier one that it had before.
    deadline: Moment,
    index: u32,
}

#[derive(Debug)]
struct Timer {
    waker: Waker,
    deadline: Moment,
    /// Where its entry is.
    position: u32,
    generation: u32,
}

impl Timers {
    /// Adds a timer.
    #[inline]
    pub(crate) fn insert(&mut self, deadline: Moment, waker: Waker) -> TimerKey {
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        let position = self.entries.len();
        let index = self.timers.insert(Timer {
            waker,
            deadline,
            position: position as u32,
            generation,
        }) as u32;
        self.entries.push(Entry { deadline, index });
        if position - self.sorted >= MOST_NEWCOMERS {
            self.sort_in();
        }
        TimerKey { index, generation }
    }

    /// Has another waker woken; hands it back if the timer is over.
    pub(crate) fn replace_waker(&mut self, key: TimerKey, waker: Waker) -> Result<Waker, Waker> {
        match self.find(key) {
            Some(timer) => Ok(std::mem::replace(&mut timer.waker, waker)),
            None => Err(waker),
        }
    }

    /// Says whether `waker` would be woken by a timer that is not over; `None` if it is over.
    pub(crate) fn would_wake(&self, key: TimerKey, waker: &Waker) -> Option<bool> {
        let timer = self.timers.get(key.index as usize)?;
        (timer.generation == key.generation).then(|| timer.waker.will_wake(waker))
    }

    /// Moves a timer to another deadline; returns the one before, or `None` if the timer is over.
    pub(crate) fn reset(&mut self, key: TimerKey, deadline: Moment) -> Option<Moment> {
        let timer = self.find(key)?;
        let before = std::mem::replace(&mut timer.deadline, deadline);
        let position = timer.position as usize;
        if position >= self.sorted {
            self.entries[position].deadline = deadline;
        } else if deadline < self.entries[position].deadline {
            self.entries[position].deadline = deadline;
            self.sift_up(position);
        } else if position == 0 {
            self.settle_top();
        }
        Some(before)
    }

    /// Takes a timer out; returns its deadline and its waker unless it is over.
    #[inline]
    pub(crate) fn remove(&mut self, key: TimerKey) -> Option<(Moment, Waker)> {
        let timer = self.timers.get(key.index as usize)?;
        if timer.generation != key.generation {
            return None;
        }
        let position = timer.position as usize;
        if position + 1 == self.entries.len() && position >= self.sorted {
            self.entries.pop();
        } else {
            self.remove_entry(position);
        }
        let timer = self.timers.remove(key.index as usize);
        Some((timer.deadline, timer.waker))
    }

    /// Moves the wakers of the timers that are due at `now` to `wakes`, earliest first.
    pub(crate) fn expire(&mut self, now: Moment, wakes: &mut Wakes) -> usize {
        let before = wakes.len();
        self.sort_in();
        while let Some(first) = self.entries.first().filter(|first| first.deadline <= now) {
            let index = first.index as usize;
            self.remove_entry(0);
            wakes.push(self.timers.remove(index).waker);
        }
        wakes.len() - before
    }

    /// Shows the timers in so many places, from the place `from` on, to `look`; returns whether
    /// there may be more behind them.
    pub(crate) fn for_each_of(
        &self,
        from: usize,
        count: usize,
        look: &mut impl FnMut(Moment, &Waker),
    ) -> bool {
        let end = (from + count).min(self.timers.capacity());
        for timer in (from..end).filter_map(|place| self.timers.get(place)) {
            look(timer.deadline, &timer.waker);
        }
        end == from + count
    }

    /// Moves all wakers to `wakes`, whatever their deadlines.
    pub(crate) fn take_all(&mut self, wakes: &mut Wakes) {
        self.entries.clear();
        self.sorted = 0;
        wakes.extend(self.timers.drain().map(|timer| timer.waker));
    }

    /// Returns the earliest deadline; [`Moment::NEVER`] if there is no timer.
    pub(crate) fn next_deadline(&self) -> Moment {
        let (heap, newcomers) = self.entries.split_at(self.sorted);
        let top = heap.first().map_or(Moment::NEVER, |first| first.deadline);
        newcomers
            .iter()
            .fold(top, |earliest, entry| earliest.min(entry.deadline))
    }

    fn find(&mut self, key: TimerKey) -> Option<&mut Timer> {
        self.timers
            .get_mut(key.index as usize)
            .filter(|timer| timer.generation == key.generation)
    }

    /// Rule 1: makes the newcomers part of the heap.
    fn sort_in(&mut self) {
        while self.sorted < self.entries.len() {
            self.sorted += 1;
            self.sift_up(self.sorted - 1);
        }
    }

    /// Rule 2: has the top tell the truth.
    fn settle_top(&mut self) {
        while let Some(top) = self.entries[..self.sorted].first_mut() {
            let deadline = self.timers[top.index as usize].deadline;
            if deadline == top.deadline {
                return;
            }
            top.deadline = deadline;
            self.sift_down(0);
        }
    }

    fn remove_entry(&mut self, position: usize) {
        let mut hole = position;
        if position < self.sorted {
            // The last of the heap fills the hole, and the last newcomer the place of that.
            self.sorted -= 1;
            hole = self.sorted;
            if position < hole {
                self.put(position, self.entries[hole]);
            }
        }
        self.entries.swap_remove(hole);
        if let Some(moved) = self.entries.get(hole) {
            self.timers[moved.index as usize].position = hole as u32;
        }
        if position < self.sorted {
            // What fills the hole may belong further up or further down.
            let settled = self.sift_up(position);
            self.sift_down(settled);
            if position == 0 {
                self.settle_top();
            }
        }
    }

    /// Moves the entry at `position` towards the root until its parent is not later; returns where
    /// it came to rest.
    fn sift_up(&mut self, mut position: usize) -> usize {
        let moving = self.entries[position];
        while position > 0 {
            let parent = (position - 1) / CHILDREN;
            if self.entries[parent].deadline <= moving.deadline {
                break;
            }
            self.put(position, self.entries[parent]);
            position = parent;
        }
        self.put(position, moving);
        position
    }

    /// Moves the entry at `position` away from the root until no child is earlier.
    fn sift_down(&mut self, mut position: usize) {
        let moving = self.entries[position];
        while let Some(child) = self.earliest_child(position) {
            if moving.deadline <= self.entries[child].deadline {
                break;
            }
            self.put(position, self.entries[child]);
            position = child;
        }
        self.put(position, moving);
    }

    fn earliest_child(&self, position: usize) -> Option<usize> {
        let first = position * CHILDREN + 1;
        let end = (first + CHILDREN).min(self.sorted);
        (first..end).min_by_key(|child| self.entries[*child].deadline)
    }

    fn put(&mut self, position: usize, entry: Entry) {
        self.entries[position] = entry;
        self.timers[entry.index as usize].position = position as u32;
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use crate::deadlines::{Deadlines, Insertion};
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    /// Remembers which timer it was made for, and whether it was woken.
    struct Named {
        name: usize,
        wakes: AtomicUsize,
    }

    impl Wake for Named {
        fn wake(self: Arc<Self>) {
            self.wakes.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u64),
        Remove(usize),
        Replace(usize),
        Reset(usize, u64),
        Expire(u64),
        Wait(u64),
        TakeAll,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        // Few deadlines, so that many are equal; and the two ends, which must be ordinary.
        // A sleep that never ends is given to no timers.
        let deadline = prop_oneof![0..20_u64, Just(0), Just(u64::MAX - 1), Just(u64::MAX - 2)];
        let step = prop_oneof![
            8 => deadline.clone().prop_map(Step::Insert),
            3 => any::<usize>().prop_map(Step::Remove),
            2 => any::<usize>().prop_map(Step::Replace),
            4 => (any::<usize>(), deadline.clone()).prop_map(|(timer, to)| Step::Reset(timer, to)),
            2 => deadline.clone().prop_map(Step::Expire),
            2 => deadline.prop_map(Step::Wait),
            1 => Just(Step::TakeAll),
        ];
        proptest::collection::vec(step, 0..120)
    }

    fn moment(nanoseconds: u64) -> Moment {
        Moment::START.saturating_add(std::time::Duration::from_nanos(nanoseconds))
    }

    /// One timer as the model knows it.
    struct Modelled {
        key: TimerKey,
        deadline: Moment,
        is_live: bool,
        named: Arc<Named>,
    }

    /// The timers, and beside them a list that is searched from end to end.
    #[derive(Default)]
    struct Model {
        timers: Deadlines,
        all: Vec<Modelled>,
        waiting_until: Option<Moment>,
    }

    impl Model {
        fn waker(&self) -> Arc<Named> {
            Arc::new(Named {
                name: self.all.len(),
                wakes: AtomicUsize::new(0),
            })
        }

        fn pick(&mut self, number: usize) -> Option<&mut Modelled> {
            let count = self.all.len();
            (count > 0).then(|| &mut self.all[number % count])
        }

        fn earliest(&self) -> Moment {
            let live = self.all.iter().filter(|timer| timer.is_live);
            live.map(|timer| timer.deadline)
                .min()
                .unwrap_or(Moment::NEVER)
        }

        fn insert(&mut self, deadline: Moment) {
            let named = self.waker();
            let is_earliest = deadline < self.earliest();
            let (key, insertion) = self.timers.insert(deadline, named.clone().into());
            let ends_wait = is_earliest && self.waiting_until.is_some_and(|until| deadline < until);
            assert_eq!(insertion == Insertion::EndsWait, ends_wait);
            self.all.push(Modelled {
                key,
                deadline,
                is_live: true,
                named,
            });
        }

        fn remove(&mut self, number: usize) {
            let Some(timer) = self.pick(number) else {
                return;
            };
            let (key, was_live) = (timer.key, std::mem::replace(&mut timer.is_live, false));
            assert_eq!(self.timers.remove(key).is_some(), was_live);
        }

        fn replace(&mut self, number: usize) {
            let Some(timer) = self.pick(number) else {
                return;
            };
            let named = Arc::new(Named {
                name: timer.named.name,
                wakes: AtomicUsize::new(0),
            });
            let (key, is_live) = (timer.key, timer.is_live);
            if is_live {
                timer.named = named.clone();
            }
            let replaced = self.timers.replace_waker(key, named.into());
            assert_eq!(replaced.is_ok(), is_live);
        }

        fn reset(&mut self, number: usize, deadline: Moment) {
            let earliest_before = self.earliest();
            let waiting_until = self.waiting_until;
            let Some(timer) = self.pick(number) else {
                return;
            };
            let (key, is_live) = (timer.key, timer.is_live);
            if is_live {
                timer.deadline = deadline;
            }
            let ends_wait =
                deadline < earliest_before && waiting_until.is_some_and(|until| deadline < until);
            let reset = self.timers.reset(key, deadline);
            assert_eq!(reset.is_some(), is_live);
            assert_eq!(reset == Some(Insertion::EndsWait), is_live && ends_wait);
        }

        fn expire(&mut self, now: Moment) {
            let due: Vec<_> = (0..self.all.len())
                .filter(|index| self.all[*index].is_live && self.all[*index].deadline <= now)
                .collect();
            let mut wakes = Wakes::default();
            assert_eq!(self.timers.expire(|| now, &mut wakes), due.len());
            wakes.wake_all();
            self.expect_woken(&due);
        }

        fn take_all(&mut self) {
            let live: Vec<_> = (0..self.all.len())
                .filter(|index| self.all[*index].is_live)
                .collect();
            let mut wakes = Wakes::default();
            self.timers.take_all(&mut wakes);
            assert_eq!(wakes.len(), live.len());
            wakes.wake_all();
            self.expect_woken(&live);
        }

        /// Those, and nobody else, have been woken by now.
        fn expect_woken(&mut self, woken: &[usize]) {
            for index in woken {
                let timer = &mut self.all[*index];
                timer.is_live = false;
                assert_eq!(timer.named.wakes.swap(0, Ordering::SeqCst), 1);
            }
            for timer in &self.all {
                assert_eq!(timer.named.wakes.load(Ordering::SeqCst), 0);
            }
        }

        fn wait(&mut self, limit: Moment) {
            let until = self.timers.begin_wait(limit);
            assert_eq!(until, limit.min(self.earliest()));
            self.waiting_until = Some(until);
        }

        fn take(&mut self, step: &Step) {
            match *step {
                Step::Insert(deadline) => self.insert(moment(deadline)),
                Step::Remove(number) => self.remove(number),
                Step::Replace(number) => self.replace(number),
                Step::Reset(number, deadline) => self.reset(number, moment(deadline)),
                Step::Expire(now) => {
                    self.timers.end_wait();
                    self.waiting_until = None;
                    self.expire(moment(now));
                }
                Step::Wait(limit) => self.wait(moment(limit)),
                Step::TakeAll => self.take_all(),
            }
            assert_eq!(self.timers.earliest(), self.earliest());
        }
    }

    proptest! {
        #[test]
        fn timers_do_what_a_searched_list_does(steps in steps()) {
            let mut model = Model::default();
            for step in &steps {
                model.take(step);
            }
        }
    }

    #[test]
    fn timers_expire_in_the_order_of_their_deadlines() {
        let mut timers = Timers::default();
        for number in 0..1_000_u64 {
            let named = Named {
                name: 0,
                wakes: AtomicUsize::new(0),
            };
            let deadline = moment(number * 7_919 % 1_000);
            let _ = timers.insert(deadline, Arc::new(named).into());
        }
        for number in 0..1_000 {
            assert_eq!(timers.next_deadline(), moment(number));
            assert_eq!(timers.expire(moment(number), &mut Wakes::default()), 1);
        }
    }
}
