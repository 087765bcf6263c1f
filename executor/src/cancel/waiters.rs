//! The wakers of who waits for the same thing.

use crate::sync::Mutex;
use crate::task::{contain, discard_panic};
use slab::Slab;
use std::mem;
use std::task::{Context, Waker};

/// The wakers of who waits.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    wakers: Slab<Waker>,
    /// How often all have been woken; a place of another round means nothing any more.
    round: u64,
}

/// The place of one who waits. Whoever has one gives it up by [`Waiters::leave`].
#[derive(Debug, Default)]
pub(crate) struct Place(Option<(u64, usize)>);

impl Waiters {
    /// Leaves a waker in `place`, to be woken with the others.
    ///
    /// What is waited for must be looked at once more after this: whoever has brought it about before
    /// did not see the waker.
    pub(crate) fn come(&self, place: &mut Place, context: &Context<'_>) {
        if self.is_kept(place, context.waker()) {
            return;
        }
        // Cloning and dropping a waker runs foreign code, which may come back here: no lock is held.
        let waker = context.waker().clone();
        let mut state = self.0.lock();
        let former = match place.0.filter(|(round, _)| *round == state.round) {
            Some((_, key)) => Some(mem::replace(&mut state.wakers[key], waker)),
            None => {
                place.0 = Some((state.round, state.wakers.insert(waker)));
                None
            }
        };
        drop(state);
        drop(former);
    }

    fn is_kept(&self, place: &Place, waker: &Waker) -> bool {
        let state = self.0.lock();
        let kept = place.0.filter(|(round, _)| *round == state.round);
        kept.is_some_and(|(_, key)| state.wakers[key].will_wake(waker))
    }

    /// Takes the waker back, if it was not woken.
    pub(crate) fn leave(&self, place: &mut Place) {
        let Some((round, key)) = place.0.take() else {
            return;
        };
        let mut state = self.0.lock();
        let waker = (state.round == round).then(|| state.wakers.remove(key));
        drop(state);
        drop(waker);
    }

    /// Wakes all who wait. A waker that panics keeps no other from being woken.
    pub(crate) fn wake_all(&self) {
        let mut state = self.0.lock();
        state.round += 1;
        let wakers = mem::take(&mut state.wakers);
        drop(state);
        for (_, waker) in wakers {
            discard_panic(contain(|| waker.wake()));
        }
    }

    /// Returns how many wait.
    #[cfg(all(test, not(windlass_loom)))]
    pub(super) fn len(&self) -> usize {
        self.0.lock().wakers.len()
    }
}
