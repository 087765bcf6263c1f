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
        Expire(u64),
        Wait(u64),
        TakeAll,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        // Few deadlines, so that many are equal; and the two ends, which must be ordinary (D12).
        // A sleep that never ends is given to no timers.
        let deadline = prop_oneof![0..20_u64, Just(0), Just(u64::MAX - 1), Just(u64::MAX - 2)];
        let step = prop_oneof![
            8 => deadline.clone().prop_map(Step::Insert),
            3 => any::<usize>().prop_map(Step::Remove),
            2 => any::<usize>().prop_map(Step::Replace),
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
