//! The first poll of the free `block_on`, before which nothing is entered: it finds all that the later
//! ones find, and leaves nothing behind.

mod support;

use std::cell::Cell;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;
use support::{limit, panic_quietly};
use windlass_executor::{
    Handle, LocalHandle, block_in_place, block_on, spawn, spawn_local, try_spawn, yield_now,
};
use windlass_reactor::budget;
use windlass_reactor::time::sleep;
use windlass_reactor::{Async, Handle as ReactorHandle, Reactor};

/// Has this thread a runtime already, and sees to it that it has entered nothing.
fn warm_up() {
    block_on(async {});
    assert_left();
}

fn assert_left() {
    assert!(Handle::try_current().is_none());
    assert!(LocalHandle::try_current().is_none());
    assert!(ReactorHandle::current().is_none());
    assert!(try_spawn(async {}).is_err());
}

/// Runs `code` in a first poll, which is the only one.
fn in_first_poll<R>(code: impl FnOnce() -> R) -> R {
    warm_up();
    let result = block_on(async { code() });
    assert_left();
    result
}

#[test]
fn whatever_asks_first_finds_the_thread_a_worker() {
    let _limit = limit();
    let handle = in_first_poll(Handle::current);
    assert!(in_first_poll(|| Handle::try_current().unwrap()).is_same(&handle));
    in_first_poll(|| assert!(LocalHandle::try_current().is_some()));
    in_first_poll(|| assert!(ReactorHandle::current().is_some()));
    let spawned = in_first_poll(|| spawn(async { 1 }));
    let pinned = in_first_poll(|| spawn_local(async { 2 }));
    let by_handle = in_first_poll(|| handle.spawn(async { 3 }));
    let in_place = in_first_poll(|| {
        block_in_place(|| {
            assert!(LocalHandle::try_current().is_none());
            spawn(async { 4 })
        })
    });
    let nested = in_first_poll(|| block_on(async { spawn(async { 5 }).await.unwrap() }));
    let sum = block_on(async {
        let sum = spawned.await.unwrap() + pinned.await.unwrap();
        sum + by_handle.await.unwrap() + in_place.await.unwrap() + nested
    });
    assert_eq!(sum, 15);
}

#[test]
fn what_is_not_ready_at_once_goes_on_as_a_worker() {
    let _limit = limit();
    for _ in 0..100 {
        warm_up();
        let sum = block_on(async {
            yield_now().await;
            let one = spawn(async { 1 });
            sleep(Duration::from_micros(10)).await;
            one.await.unwrap() + spawn_local(async { 2 }).await.unwrap()
        });
        assert_eq!(sum, 3);
        assert_left();
    }
}

#[test]
fn a_socket_and_a_timer_wait_on_the_reactor_of_the_thread() {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    let _limit = limit();
    warm_up();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let ours = Async::new(ours).unwrap();
    let mut timer = pin!(sleep(Duration::from_secs(3600)));
    // They are what asks first.
    block_on(poll_fn(|context| {
        assert!(timer.as_mut().poll(context).is_pending());
        assert_eq!(ReactorHandle::current().unwrap().waits().len(), 1);
        Poll::Ready(())
    }));
    warm_up();
    let writer = thread::spawn(move || theirs.write_all(b"x").map(|()| theirs));
    let read = ours.read_with(|mut stream| stream.read(&mut [0; 8]));
    assert_eq!(block_on(read).unwrap(), 1);
    drop(writer.join().unwrap().unwrap());
}

#[test]
fn a_reactor_that_was_entered_by_hand_is_not_the_one() {
    let _limit = limit();
    warm_up();
    let other = Reactor::new().unwrap();
    // Nobody turns the other one.
    other.handle().enter(|| {
        block_on(sleep(Duration::from_millis(1)));
        assert!(ReactorHandle::current().unwrap().is_same(other.handle()));
    });
    block_on(async {
        let inside = other
            .handle()
            .enter(|| ReactorHandle::current().unwrap().is_same(other.handle()));
        assert!(inside);
        sleep(Duration::from_millis(1)).await;
    });
    assert_left();
}

#[test]
fn a_panic_leaves_everything_as_it_was() {
    let _limit = limit();
    for is_entered in [false, true] {
        for _ in 0..10 {
            warm_up();
            let result = catch_unwind(AssertUnwindSafe(|| {
                block_on(async {
                    if is_entered {
                        drop(spawn(async {}));
                    }
                    panic_quietly()
                })
            }));
            assert!(result.is_err());
            assert_left();
            assert_eq!(block_on(async { spawn(async { 1 }).await.unwrap() }), 1);
        }
    }
}

/// Calls a closure when it is dropped.
struct AtDrop<C: FnMut()>(C);

impl<C: FnMut()> Drop for AtDrop<C> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl<C: FnMut() + Unpin> Future for AtDrop<C> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

#[test]
fn the_future_is_dropped_inside() {
    let _limit = limit();
    warm_up();
    let (ran, runs) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let spawns = || {
        let runs = runs.clone();
        drop(spawn_local(async move { runs.set(runs.get() + 1) }));
        ran.set(ran.get() + 1);
    };
    block_on(AtDrop(spawns));
    assert_left();
    let panics = AtDrop(|| resume_unwind(Box::new(())));
    assert!(catch_unwind(AssertUnwindSafe(|| block_on(panics))).is_err());
    assert_left();
    assert_eq!((ran.get(), runs.get()), (1, 0));
    block_on(yield_now());
    assert_eq!(runs.get(), 1, "the task goes on with the next call");
}

#[test]
fn a_wake_in_the_first_poll_is_not_lost() {
    let _limit = limit();
    for by_thread in [false, true] {
        for _ in 0..50 {
            warm_up();
            let mut polls = 0;
            block_on(poll_fn(|context| {
                polls += 1;
                if polls == 2 {
                    return Poll::Ready(());
                }
                let waker = context.waker();
                if by_thread {
                    thread::scope(|scope| scope.spawn(|| waker.wake_by_ref()).join().unwrap());
                } else {
                    waker.wake_by_ref();
                }
                Poll::Pending
            }));
        }
    }
}

#[test]
fn a_waker_that_is_kept_is_not_that_of_the_next_call() {
    let _limit = limit();
    warm_up();
    let kept: Arc<Mutex<Vec<Waker>>> = Arc::default();
    for _ in 0..10 {
        block_on(poll_fn(|context| {
            let mut kept = kept.lock().unwrap();
            assert!(kept.iter().all(|old| !old.will_wake(context.waker())));
            kept.push(context.waker().clone());
            Poll::Ready(())
        }));
    }
    let mut polls = 0;
    let counted = poll_fn(|context| {
        polls += 1;
        kept.lock().unwrap().iter().for_each(Waker::wake_by_ref);
        match polls {
            1 => {
                let waker = context.waker().clone();
                drop(thread::spawn(move || waker.wake()));
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    });
    block_on(counted);
    kept.lock().unwrap().drain(..).for_each(Waker::wake);
    assert_left();
}

#[test]
fn the_first_poll_has_a_budget_and_is_counted() {
    let _limit = limit();
    warm_up();
    let before = block_on(async { Handle::current() })
        .metrics()
        .total()
        .polls;
    let mut done = 0;
    block_on(poll_fn(|context| {
        if done > 0 {
            return Poll::Ready(());
        }
        while let Poll::Ready(permit) = budget::poll_proceed(context) {
            permit.spend();
            done += 1;
            assert!(done < 10_000, "there is no end");
        }
        // Refused, and so woken.
        Poll::Pending
    }));
    assert_eq!(done, 64);
    for _ in 0..10 {
        block_on(async {});
    }
    let after = block_on(async { Handle::current() })
        .metrics()
        .total()
        .polls;
    assert_eq!(after - before, 13);
    // And it ends with the call.
    let mut context = Context::from_waker(Waker::noop());
    let unlimited = |_: &i32| {
        budget::poll_proceed(&mut context)
            .map(budget::Permit::spend)
            .is_ready()
    };
    assert_eq!((0..1_000).take_while(unlimited).count(), 1_000);
}

#[test]
fn tasks_are_left_alone_by_a_call_that_is_ready_at_once() {
    let _limit = limit();
    let (tell, dropped) = support::tells_drop();
    thread::spawn(move || {
        warm_up();
        let mut task = None;
        block_on(async {
            task = Some(spawn(async move {
                let _tell = tell;
                pending::<()>().await;
            }));
        });
        for _ in 0..10 {
            block_on(async {});
        }
        assert!(!task.unwrap().is_finished());
    })
    .join()
    .unwrap();
    assert!(dropped.has_happened(), "by the end of the thread");
}
