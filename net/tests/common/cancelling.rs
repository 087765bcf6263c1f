//! Cancels an operation wherever it can be cancelled.
//!
//! A future can be dropped between two polls only, that is wherever it was pending. So the operation
//! is run once to count those places, and then once for each of them: there its future is dropped,
//! and another one, begun on the same progress, has to bring it to its end. Last, it is dropped at
//! every one of them in one run.
//!
//! Each time it is dropped both ways: before anything happens, and after it was woken, when what it
//! waited for is there and it didn't get to see it.

use super::{Count, LIMIT};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// So many places at the most: a run for each has to be affordable. An operation that begins anew
/// each time, such as connecting, would never end if there were no last place.
const MOST: usize = 200;

/// When the future is dropped at a place where it is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    AtOnce,
    OnceWoken,
}

/// At which of the places.
#[derive(Clone, Copy, Debug)]
enum Where {
    Nowhere,
    At(usize),
    Everywhere,
}

impl Where {
    fn includes(self, place: usize) -> bool {
        match self {
            Where::Nowhere => false,
            Where::At(only) => only == place,
            Where::Everywhere => place < MOST,
        }
    }
}

/// Cancels at every place, as told above; returns how many there were in the first run.
///
/// `begin` makes what the operation goes on with if its future is dropped, such as streams and
/// progress, and the rest of the world. `operate` is the operation. `step` has the world do
/// something that it may wait for; it is called, again and again, whenever it is pending. `check` is
/// given what is there in the end.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "closures stand in the call")]
pub fn cancel_at_every_pending<P, W, R>(
    begin: impl Fn() -> (P, W),
    operate: impl AsyncFn(&mut P) -> R,
    step: impl Fn(&mut W),
    check: impl Fn(P, W, R),
) -> usize {
    let run = |at, when| {
        let (mut progress, mut world) = begin();
        let (result, places) = run_once(&mut progress, &operate, || step(&mut world), at, when);
        check(progress, world, result);
        places
    };
    let places = run(Where::Nowhere, When::AtOnce);
    assert!(places <= MOST, "{places} places where it is pending");
    for when in [When::AtOnce, When::OnceWoken] {
        for place in 0..places {
            run(Where::At(place), when);
        }
        run(Where::Everywhere, when);
    }
    places
}

/// Brings the operation to its end, dropping its future `at` places; returns how many places there
/// were.
#[track_caller]
fn run_once<P, R>(
    progress: &mut P,
    operate: &impl AsyncFn(&mut P) -> R,
    mut step: impl FnMut(),
    at: Where,
    when: When,
) -> (R, usize) {
    let began = Instant::now();
    let mut places = 0;
    loop {
        let (count, waker) = Count::waker();
        let mut context = Context::from_waker(&waker);
        let mut operation = Box::pin(operate(progress));
        loop {
            let woken_before = count.get();
            if let Poll::Ready(result) = operation.as_mut().poll(&mut context) {
                return (result, places);
            }
            assert!(began.elapsed() < LIMIT, "{at:?} {when:?}: it does not end");
            let drops = at.includes(places);
            places += 1;
            if drops && when == When::AtOnce {
                drop(operation);
                step();
                // Most often, what was done has arrived then.
                wait_for(|| false);
                break;
            }
            while count.get() == woken_before {
                assert!(began.elapsed() < LIMIT, "{at:?} {when:?}: it is not woken");
                step();
                wait_for(|| count.get() > woken_before);
            }
            if drops {
                break;
            }
        }
    }
}

/// Waits for a moment, unless it is done before.
fn wait_for(done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() && began.elapsed() < Duration::from_millis(2) {
        std::thread::yield_now();
    }
}
