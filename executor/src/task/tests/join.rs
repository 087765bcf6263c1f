//! What the join handle does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{RawWaker, RawWakerVTable};
use std::thread;
use std::time::Duration;

use super::super::JoinError;
use super::*;

/// Runs a task that panics, and gives the error.
fn error_of_panic(payload: Box<dyn std::any::Any + Send>) -> JoinError {
    let toy = Arc::new(Toy::default());
    let handle = toy.spawn(async { std::panic::resume_unwind(payload) });
    toy.run();
    handle.wait().unwrap_err()
}

#[test]
fn polling_after_the_result_panics() {
    let toy = Arc::new(Toy::default());
    let mut handle = toy.spawn(async { 7 });
    toy.run();
    assert!(matches!(poll(&mut handle), Poll::Ready(Ok(7))));
    let again = catch_unwind(AssertUnwindSafe(|| poll(&mut handle).is_ready())).unwrap_err();
    assert!(
        again
            .downcast_ref::<&str>()
            .unwrap()
            .contains("after it had given its result")
    );
    assert!(handle.is_finished());
    drop(handle);
    toy.assert_all_freed();
}

#[test]
fn the_future_is_dropped_before_the_result_shows() {
    struct Guard(Arc<AtomicUsize>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let toy = Arc::new(Toy::default());
    let dropped = Arc::new(AtomicUsize::new(0));
    let (seen, guard) = (Arc::clone(&dropped), Guard(Arc::clone(&dropped)));
    let handle = toy.spawn(std::future::poll_fn(move |_| {
        let _held = &guard;
        Poll::Ready(())
    }));
    let toy_of_thread = Arc::clone(&toy);
    let runner = thread::spawn(move || toy_of_thread.run());
    handle.wait().unwrap();
    assert_eq!(seen.load(SeqCst), 1);
    runner.join().unwrap();
}

#[test]
fn waiting_leaves_the_unpark_token_alone() {
    let toy = Arc::new(Toy::default());
    let (sender, receiver) = std::sync::mpsc::channel();
    let handle = toy.spawn(std::future::poll_fn(move |context| {
        match receiver.try_recv() {
            Ok(waiter) => {
                let _: thread::Thread = waiter;
                Poll::Ready("done")
            }
            Err(_) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }));
    thread::current().unpark();
    let runner = thread::spawn(move || toy.run());
    sender.send(thread::current()).unwrap();
    assert_eq!(handle.wait().unwrap(), "done");
    // The token is still there, so this returns at once.
    let before = std::time::Instant::now();
    thread::park_timeout(Duration::from_secs(20));
    assert!(before.elapsed() < Duration::from_secs(10));
    runner.join().unwrap();
}

#[test]
fn a_waker_may_be_replaced_and_only_the_last_is_woken() {
    let toy = Arc::new(Toy::default());
    let mut handle = toy.spawn(async {});
    let counts: Vec<_> = (0..5).map(|_| Arc::new(Count::default())).collect();
    for count in &counts {
        assert!(poll_with(&mut handle, &Arc::clone(count).into()).is_pending());
    }
    // Replaced wakers are not kept.
    assert!(
        counts[..4]
            .iter()
            .all(|count| Arc::strong_count(count) == 1)
    );
    toy.run();
    let woken: Vec<_> = counts.iter().map(|count| count.so_far()).collect();
    assert_eq!(woken, [0, 0, 0, 0, 1]);
    // Nor are those that were woken, though the handle is still there.
    assert_eq!(Arc::strong_count(&counts[4]), 1);
}

#[test]
fn handles_that_join_each_other_are_freed() {
    // Each task's cell holds a waker of the other's.
    type Slot = Arc<Mutex<Option<JoinHandle<()>>>>;
    let toy = Arc::new(Toy::default());
    let slots: [Slot; 2] = Default::default();
    let spawn = |other: &Slot| {
        let other = Arc::clone(other);
        toy.spawn(std::future::poll_fn(move |context| {
            let mut other = other.lock().unwrap();
            let other = std::pin::Pin::new(other.as_mut().unwrap());
            other.poll(context).map(drop)
        }))
    };
    let aborts: Vec<_> = [(0, 1), (1, 0)]
        .map(|(own, other)| {
            let handle = spawn(&slots[other]);
            let abort = handle.abort_handle();
            *slots[own].lock().unwrap() = Some(handle);
            abort
        })
        .into();
    toy.run();
    aborts[0].abort();
    toy.run();
    assert!(aborts.iter().all(super::super::AbortHandle::is_finished));
    drop((aborts, slots));
    toy.assert_all_freed();
}

#[test]
fn the_error_says_what_happened() {
    let text = error_of_panic(Box::new("words"));
    assert!(text.is_panic() && !text.is_cancelled());
    let place = text.spawned_at();
    assert_eq!(
        text.to_string(),
        format!("task {}, spawned at {place}, panicked: words", text.id())
    );
    let string = error_of_panic(Box::new(String::from("more words")));
    assert!(string.to_string().ends_with("panicked: more words"));
    let other = error_of_panic(Box::new(42));
    assert_eq!(format!("{other:?}"), format!("JoinError({other})"));
    assert!(other.to_string().ends_with(", panicked"));
    assert_eq!(other.try_into_panic().unwrap().downcast_ref(), Some(&42));

    let toy = Arc::new(Toy::default());
    let handle = toy.spawn(std::future::pending::<()>());
    let (id, place) = (handle.id(), handle.spawned_at());
    assert_eq!((place.file(), place.line()), (file!(), line!() - 2));
    assert_eq!(handle.abort_handle().spawned_at(), place);
    toy.shut_down();
    toy.run();
    let error = handle.wait().unwrap_err();
    assert_eq!((error.id(), error.spawned_at()), (id, place));
    let error = error.try_into_panic().unwrap_err();
    let error = std::io::Error::from(error);
    assert_eq!(
        error.to_string(),
        format!("task {id}, spawned at {place}, was cancelled")
    );
}

#[test]
fn a_panic_with_a_payload_that_panics_when_dropped_is_contained() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_quietly();
        }
    }
    let toy = Arc::new(Toy::default());
    drop(toy.spawn(async { std::panic::resume_unwind(Box::new(Bomb)) }));
    drop(toy.spawn(async { Bomb }));
    let kept = toy.spawn(async { std::panic::resume_unwind(Box::new(Bomb)) });
    toy.run();
    drop(kept);
    toy.assert_all_freed();
}

/// Makes the table of a waker one of whose functions panics.
const fn bomb(on_clone: bool, on_wake: bool, on_drop: bool) -> RawWakerVTable {
    const NONE: unsafe fn(*const ()) = |_| {};
    const PANIC: unsafe fn(*const ()) = |_| panic_quietly();
    let clone: unsafe fn(*const ()) -> RawWaker = if on_clone {
        |_| panic_quietly()
    } else {
        |data| {
            // SAFETY: The data of these wakers is the address of their table, a `static`.
            RawWaker::new(data, unsafe { &*data.cast::<RawWakerVTable>() })
        }
    };
    let wake = if on_wake { PANIC } else { NONE };
    RawWakerVTable::new(clone, wake, wake, if on_drop { PANIC } else { NONE })
}

static CLONE_PANICS: RawWakerVTable = bomb(true, false, false);
static WAKE_PANICS: RawWakerVTable = bomb(false, true, false);
static DROP_PANICS: RawWakerVTable = bomb(false, false, true);

/// Calls `use_it` with such a waker.
fn with_bomb<R>(table: &'static RawWakerVTable, use_it: impl FnOnce(&Waker) -> R) -> R {
    let data = std::ptr::from_ref(table).cast();
    // SAFETY: The functions do nothing, or panic, on any thread.
    let waker = std::mem::ManuallyDrop::new(unsafe { Waker::new(data, table) });
    use_it(&waker)
}

#[test]
fn a_waker_that_panics_when_cloned_changes_nothing() {
    let toy = Arc::new(Toy::default());
    let mut handle = toy.spawn(async { 7 });
    let count = Arc::new(Count::default());
    let waker = Arc::clone(&count).into();
    assert!(poll_with(&mut handle, &waker).is_pending());
    with_bomb(&CLONE_PANICS, |bomb| {
        let polled = catch_unwind(AssertUnwindSafe(|| poll_with(&mut handle, bomb).is_ready()));
        polled.unwrap_err();
    });
    // The one from before is still there.
    toy.run();
    assert_eq!(count.so_far(), 1);
    assert!(matches!(poll(&mut handle), Poll::Ready(Ok(7))));
}

#[test]
fn a_waker_that_panics_when_woken_or_dropped_is_contained() {
    let toy = Arc::new(Toy::default());
    for table in [&WAKE_PANICS, &DROP_PANICS] {
        let mut handle = toy.spawn(async { 7 });
        assert!(with_bomb(table, |bomb| poll_with(&mut handle, bomb)).is_pending());
        toy.run();
        assert!(matches!(poll(&mut handle), Poll::Ready(Ok(7))));

        let mut dropped = toy.spawn(async { 7 });
        assert!(with_bomb(table, |bomb| poll_with(&mut dropped, bomb)).is_pending());
        drop(dropped);
        toy.run();
    }
    toy.assert_all_freed();
}

#[test]
fn a_waker_that_panics_when_replaced_has_been_replaced() {
    let toy = Arc::new(Toy::default());
    let mut handle = toy.spawn(async { 7 });
    assert!(with_bomb(&DROP_PANICS, |bomb| poll_with(&mut handle, bomb)).is_pending());
    let count = Arc::new(Count::default());
    let waker = Arc::clone(&count).into();
    catch_unwind(AssertUnwindSafe(|| {
        poll_with(&mut handle, &waker).is_ready()
    }))
    .unwrap_err();
    toy.run();
    assert_eq!(count.so_far(), 1);
    assert!(matches!(poll(&mut handle), Poll::Ready(Ok(7))));
}

#[test]
fn handles_and_errors_may_go_to_other_threads() {
    fn assert_shared<T: Send + Sync + Unpin + 'static>() {}
    assert_shared::<JoinHandle<std::cell::Cell<u8>>>();
    assert_shared::<JoinError>();
    assert_shared::<super::super::AbortHandle>();
    assert_shared::<Runnable>();
    assert_shared::<Task>();
}

#[test]
fn numbers_differ_between_tasks_and_threads() {
    let threads = (0..4).map(|_| thread::spawn(|| (0..3000).map(|_| Id::next()).collect()));
    let threads: Vec<thread::JoinHandle<Vec<Id>>> = threads.collect();
    let mut all: Vec<_> = threads
        .into_iter()
        .flat_map(|thread| thread.join().unwrap())
        .collect();
    assert!(all.chunks(3000).all(<[Id]>::is_sorted));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 12_000);
    assert!(all.iter().all(|id| id.as_u64() > 0));
}
