//! Wakers are somebody's code: they panic, and they call back.

mod support;

use futures::future::FutureExt;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::time::Duration;
use support::{CountingWaker, each_reactor, pair, poll_once, read, turn_until};
use windlass_reactor::{Async, Direction, Handle, Taken, time};

/// What a waker does besides what wakers do.
#[derive(Default)]
struct Hooks {
    on_clone: Option<Box<dyn Fn() + Send + Sync>>,
    on_wake: Option<Box<dyn Fn() + Send + Sync>>,
    on_drop: Option<Box<dyn Fn() + Send + Sync>>,
}

/// A waker with hooks, by way of a box that each clone has for itself.
mod hooked {
    #![allow(unsafe_code, reason = "a raw waker is made by hand")]

    use super::*;

    const TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

    pub(crate) fn waker(hooks: &Arc<Hooks>) -> Waker {
        let data = Arc::into_raw(hooks.clone()).cast();
        // SAFETY: the functions of the table treat the data as the `Arc` that it is: clone makes
        // one more, wake and drop use one up, and `Hooks` is `Send` and `Sync`.
        unsafe { Waker::from_raw(RawWaker::new(data, &TABLE)) }
    }

    unsafe fn borrow<'a>(data: *const ()) -> &'a Hooks {
        // SAFETY: the data of a live waker is an `Arc` that it owns one count of.
        unsafe { &*data.cast::<Hooks>() }
    }

    unsafe fn own(data: *const ()) -> Arc<Hooks> {
        // SAFETY: the caller uses up the waker, and with it the count that it owns.
        unsafe { Arc::from_raw(data.cast()) }
    }

    unsafe fn clone(data: *const ()) -> RawWaker {
        // SAFETY: called on a live waker only.
        let hooks = unsafe { borrow(data) };
        hooks.on_clone.iter().for_each(|hook| hook());
        // SAFETY: as above; the count that is added is the clone's.
        unsafe { Arc::increment_strong_count(data.cast::<Hooks>()) };
        RawWaker::new(data, &TABLE)
    }

    unsafe fn wake(data: *const ()) {
        // SAFETY: waking by value uses the waker up.
        let hooks = unsafe { own(data) };
        hooks.on_wake.iter().for_each(|hook| hook());
    }

    unsafe fn wake_by_ref(data: *const ()) {
        // SAFETY: called on a live waker only.
        let hooks = unsafe { borrow(data) };
        hooks.on_wake.iter().for_each(|hook| hook());
    }

    unsafe fn drop_waker(data: *const ()) {
        // SAFETY: dropping uses the waker up.
        let hooks = unsafe { own(data) };
        hooks.on_drop.iter().for_each(|hook| hook());
    }
}

/// A hook that panics while `armed` is not 0, once for each.
fn panics(armed: &Arc<AtomicUsize>) -> Option<Box<dyn Fn() + Send + Sync>> {
    let armed = armed.clone();
    Some(Box::new(move || {
        let take = |left: usize| left.checked_sub(1);
        if armed
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take)
            .is_ok()
        {
            panic!("a waker panics, as the test wants it to");
        }
    }))
}

#[test]
fn a_waker_that_panics_when_woken_does_not_keep_others_from_being_woken() {
    each_reactor(|mut reactor| {
        let armed = Arc::new(AtomicUsize::new(usize::MAX));
        let hooks = Arc::new(Hooks {
            on_wake: panics(&armed),
            ..Hooks::default()
        });
        let bad = hooked::waker(&hooks);
        let (counter, good) = CountingWaker::new();
        let handle = reactor.handle().clone();
        let (ours, mut theirs) = pair();
        for round in 1..=3 {
            let wakers = [&bad, &good, &bad, &good];
            let mut reads: Vec<_> = wakers
                .iter()
                .map(|_| ours.read_with(read).boxed_local())
                .collect();
            let mut sleeps: Vec<_> = wakers
                .iter()
                .map(|_| time::sleep(Duration::from_millis(1)))
                .collect();
            handle.enter(|| {
                for (index, waker) in wakers.iter().enumerate() {
                    assert!(poll_once(&mut reads[index], waker).is_pending());
                    let _ = poll_once(&mut sleeps[index], waker);
                }
            });
            theirs.write_all(b"x").unwrap();
            let before = counter.count();
            turn_until(&mut reactor, || counter.count() >= before + 2);
            assert!(ours.try_io(Direction::Read, read).is_ok(), "round {round}");
            assert!(ours.try_io(Direction::Read, read).is_err());
            reactor.turn(Some(Duration::from_millis(2))).unwrap();
        }
        drop((bad, good));
        assert_eq!(Arc::strong_count(&hooks), 1, "a waker was left behind");
    });
}

/// What a panic carries; it counts when it is dropped, and then panics.
struct Carried(Arc<AtomicUsize>);

impl Drop for Carried {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        // It is leaked, so it has no memory.
        panic_any(());
    }
}

#[test]
fn what_the_panic_of_a_waker_carries_is_dropped() {
    each_reactor(|mut reactor| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let carried = dropped.clone();
        let hooks = Arc::new(Hooks {
            on_wake: Some(Box::new(move || panic_any(Carried(carried.clone())))),
            ..Hooks::default()
        });
        let bad = hooked::waker(&hooks);
        // The first waker of a turn has a place of its own.
        let mut sleeps = [(); 3].map(|()| time::sleep(Duration::from_millis(1)));
        reactor.handle().clone().enter(|| {
            for sleep in &mut sleeps {
                assert!(poll_once(sleep, &bad).is_pending());
            }
        });
        turn_until(&mut reactor, || {
            dropped.load(Ordering::SeqCst) == sleeps.len()
        });
    });
}

#[test]
fn a_poll_method_that_waits_already_clones_no_waker_and_the_latest_is_woken() {
    each_reactor(|mut reactor| {
        let clones = Arc::new(AtomicUsize::new(0));
        let count = clones.clone();
        let hooks = Arc::new(Hooks {
            on_clone: Some(Box::new(move || {
                count.fetch_add(1, Ordering::SeqCst);
            })),
            ..Hooks::default()
        });
        let counted = hooked::waker(&hooks);
        let (counter, other) = CountingWaker::new();
        let handle = reactor.handle().clone();
        let (ours, mut theirs) = pair();
        let poll_read = |waker: &Waker| {
            let mut context = Context::from_waker(waker);
            handle.enter(|| {
                ours.poll_io_with(&mut context, Direction::Read, |stream| {
                    read(stream).map(Taken::Some)
                })
            })
        };
        for _ in 0..4 {
            assert!(poll_read(&counted).is_pending());
        }
        assert_eq!(clones.load(Ordering::SeqCst), 1);
        // Somebody else comes, each time the data have been read, and is the latest.
        for round in 1..4 {
            assert!(poll_read(&counted).is_pending());
            assert!(poll_read(&other).is_pending());
            assert!(poll_read(&other).is_pending());
            theirs.write_all(b"x").unwrap();
            turn_until(&mut reactor, || counter.count() == round);
            assert!(matches!(poll_read(&other), Poll::Ready(Ok(1))));
        }
    });
}

#[test]
fn a_waker_that_panics_when_cloned_or_dropped_leaves_the_source_usable() {
    each_reactor(|mut reactor| {
        let (clones, drops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let hooks = Arc::new(Hooks {
            on_clone: panics(&clones),
            on_drop: panics(&drops),
            on_wake: None,
        });
        let bad = hooked::waker(&hooks);
        let (counter, good) = CountingWaker::new();
        let handle = reactor.handle().clone();
        let (ours, mut theirs) = pair();
        let mut reading = ours.read_with(read).boxed_local();
        let mut sleep = time::sleep(Duration::from_secs(3600));
        handle.enter(|| {
            clones.store(2, Ordering::SeqCst);
            assert!(catch_unwind(AssertUnwindSafe(|| poll_once(&mut reading, &bad))).is_err());
            assert!(catch_unwind(AssertUnwindSafe(|| poll_once(&mut sleep, &bad))).is_err());
            assert!(poll_once(&mut sleep, &bad).is_pending());
            let mut context = Context::from_waker(&bad);
            let _ = ours.try_io(Direction::Read, read);
            assert!(ours.poll_readable(&mut context).is_pending());
            // The replaced waker panics when it is dropped; the new one is in its place.
            drops.store(2, Ordering::SeqCst);
            assert!(catch_unwind(AssertUnwindSafe(|| poll_once(&mut sleep, &good))).is_err());
            let mut context = Context::from_waker(&good);
            let replace = AssertUnwindSafe(|| ours.poll_readable(&mut context));
            assert!(catch_unwind(replace).is_err());
        });
        sleep.reset_after(Duration::ZERO);
        turn_until(&mut reactor, || counter.count() == 1);
        theirs.write_all(b"x").unwrap();
        turn_until(&mut reactor, || counter.count() == 2);
        drops.store(0, Ordering::SeqCst);
    });
}

#[test]
fn wakers_may_call_back_when_cloned_woken_and_dropped() {
    each_reactor(|mut reactor| {
        let (ours, mut theirs) = pair();
        let ours = Arc::new(ours);
        let calls = Arc::new(AtomicUsize::new(0));
        let call_back = || {
            let (ours, handle) = (ours.clone(), reactor.handle().clone());
            let calls = calls.clone();
            let hook = move || {
                call_all(&ours, &handle);
                calls.fetch_add(1, Ordering::SeqCst);
            };
            Some(Box::new(hook) as Box<dyn Fn() + Send + Sync>)
        };
        let hooks = Arc::new(Hooks {
            on_clone: call_back(),
            on_wake: call_back(),
            on_drop: call_back(),
        });
        let handle = reactor.handle().clone();
        let mut sleep = time::sleep(Duration::from_millis(1));
        let mut cancelled = time::sleep(Duration::from_secs(3600));
        {
            let ours = ours.clone();
            let mut reading = ours.read_with(read).boxed_local();
            let mut dropped = ours.read_with(read).boxed_local();
            let waker = hooked::waker(&hooks);
            handle.enter(|| {
                for _ in 0..2 {
                    assert!(poll_once(&mut reading, &waker).is_pending());
                    assert!(poll_once(&mut dropped, &waker).is_pending());
                    let _ = poll_once(&mut sleep, &waker);
                    assert!(poll_once(&mut cancelled, &waker).is_pending());
                }
            });
            drop((dropped, cancelled));
            theirs.write_all(b"x").unwrap();
            for _ in 0..5 {
                reactor.turn(Some(Duration::from_millis(2))).unwrap();
            }
        }
        assert!(calls.load(Ordering::SeqCst) > 8);
        reactor.detach();
        drop(reactor);
    });
}

/// Calls whatever takes a lock somewhere.
fn call_all(ours: &Async<UnixStream>, handle: &Handle) {
    let (_, waker) = CountingWaker::new();
    handle.notify().unwrap();
    handle.interest_changes();
    handle.enter(|| {
        let _ = poll_once(&mut ours.read_with(read).boxed_local(), &waker);
        let _ = poll_once(&mut ours.writable().boxed_local(), &waker);
        let mut sleep = time::sleep(Duration::from_millis(3));
        let _ = poll_once(&mut sleep, &waker);
        sleep.reset_after(Duration::from_millis(1));
    });
    let (other, _theirs) = pair();
    let _ = handle.enter(|| poll_once(&mut other.read_with(read).boxed_local(), &waker));
}

// Whoever keeps a waker may use it when all is over.
#[test]
fn a_source_may_be_dropped_by_a_waker() {
    struct DropsSource(Mutex<Option<Async<UnixStream>>>);
    impl Wake for DropsSource {
        fn wake(self: Arc<Self>) {
            self.0.lock().unwrap().take();
        }
    }
    each_reactor(|mut reactor| {
        let (ours, mut theirs) = pair();
        let owner = Arc::new(DropsSource(Mutex::new(Some(ours))));
        let waker = Waker::from(owner.clone());
        {
            let guard = owner.0.lock().unwrap();
            let ours = guard.as_ref().unwrap();
            let mut context = Context::from_waker(&waker);
            reactor.handle().enter(|| {
                let _ = ours.try_io(Direction::Read, read);
                assert!(matches!(ours.poll_readable(&mut context), Poll::Pending));
            });
        }
        theirs.write_all(b"x").unwrap();
        turn_until(&mut reactor, || owner.0.lock().unwrap().is_none());
    });
}
