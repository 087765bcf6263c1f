//! Waking, yielding, and what keeps a task alive.

use std::mem::size_of;

use super::super::cell::Cell;
use super::*;
use crate::yield_now;

#[test]
fn waking_a_task_while_it_runs_gives_the_runnable_back() {
    let toy = Arc::new(Toy::default());
    let handle = toy.spawn(async {
        yield_now().await;
        7
    });
    let again = toy.next().unwrap().run().expect("it has yielded");
    assert!(!handle.is_finished());
    assert!(again.run().is_none());
    assert_eq!(
        toy.scheduled.load(SeqCst),
        0,
        "a yield does not go through `schedule`"
    );
    assert_eq!(handle.wait().unwrap(), 7);
    toy.assert_all_freed();
}

#[test]
fn waking_many_times_schedules_once() {
    let toy = Arc::new(Toy::default());
    let wakers = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&wakers);
    drop(toy.spawn(std::future::poll_fn(move |context| -> Poll<()> {
        seen.lock().unwrap().push(context.waker().clone());
        Poll::Pending
    })));
    toy.run();
    let waker = wakers.lock().unwrap()[0].clone();
    waker.wake_by_ref();
    waker.wake_by_ref();
    let other = waker.clone();
    other.wake();
    assert_eq!(toy.scheduled.load(SeqCst), 1);
    toy.run();
    assert!(waker.will_wake(&wakers.lock().unwrap()[1]));
    toy.shut_down();
    drop(wakers);
    waker.wake();
    assert_eq!(toy.scheduled.load(SeqCst), 1);
    toy.assert_all_freed();
}

#[test]
fn a_scheduler_may_drop_all_there_is_while_it_is_called() {
    struct DropsAll(Arc<Toy>);
    impl Schedule for DropsAll {
        fn schedule(&self, runnable: Runnable) {
            assert!(runnable.run().is_none());
            self.0.shut_down();
            // The scheduler's own reference is the last but one; `self` must still be there.
            assert_eq!(Arc::strong_count(&self.0), 2);
        }
        fn release(&self, task: Listed<'_>) -> Option<Task> {
            self.0.release(task)
        }
    }
    let toy = Arc::new(Toy::default());
    let waker = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&waker);
    let mut polls = 0;
    let future = std::future::poll_fn(move |context| {
        polls += 1;
        *seen.lock().unwrap() = Some(context.waker().clone());
        if polls == 2 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    let parts = super::super::new(
        future,
        DropsAll(Arc::clone(&toy)),
        Id::next(),
        Location::caller(),
    );
    drop(toy.start(parts));
    toy.run();
    let first = waker.lock().unwrap().take().unwrap();
    first.wake();
    drop(waker);
    toy.assert_all_freed();
}

#[test]
fn a_task_that_nobody_can_wake_stays_until_shutdown_or_abort() {
    let toy = Arc::new(Toy::default());
    let held = Arc::new(());
    let inside = Arc::clone(&held);
    drop(toy.spawn(std::future::poll_fn(move |_| -> Poll<()> {
        let _ = &inside;
        Poll::Pending
    })));
    toy.run();
    assert_eq!(Arc::strong_count(&held), 2);
    toy.shut_down();
    assert_eq!(Arc::strong_count(&held), 1);
    toy.assert_all_freed();
}

#[cfg(target_pointer_width = "64")]
#[test]
fn a_task_takes_little_more_memory_than_its_future() {
    type Future = std::future::Ready<[u64; 16]>;
    let idle = size_of::<Cell<Future, Arc<Toy>>>() - size_of::<Future>();
    assert!(idle <= 96, "{idle} bytes");
    assert_eq!(size_of::<Runnable>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Runnable>>(), size_of::<usize>());
}
