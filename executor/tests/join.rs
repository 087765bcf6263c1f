//! Join handles: what they give, to whom, and when.

mod support;

use futures::channel::oneshot;
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;
use support::{each_runtime, limit, panic_quietly, panicking_waker, runtime, tells_drop};
use windlass_executor::{
    JoinHandle, block_on, spawn, spawn_blocking, spawn_local, try_spawn, yield_now,
};
use windlass_reactor::time::timeout;

/// Counts its wakes.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll<T>(
    handle: &mut JoinHandle<T>,
    waker: &Waker,
) -> Poll<Result<T, windlass_executor::JoinError>> {
    Pin::new(handle).poll(&mut Context::from_waker(waker))
}

#[test]
fn outputs_of_all_sizes_arrive() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            spawn(async {}).await.unwrap();
            assert_eq!(spawn(async { [7_u8; 10_000] }).await.unwrap()[9_999], 7);
            assert_eq!(spawn(async { vec![1, 2] }).await.unwrap(), [1, 2]);
            let local = Rc::new(3);
            assert_eq!(*spawn_local(async move { local }).await.unwrap(), 3);
        });
    });
}

#[test]
fn a_task_whose_handle_is_dropped_runs_on() {
    each_runtime(|runtime| {
        let (sender, receiver) = oneshot::channel();
        let (tell, dropped) = tells_drop();
        runtime.block_on(async move {
            drop(spawn(async move {
                yield_now().await;
                sender.send(5).unwrap();
                tell
            }));
            assert_eq!(receiver.await.unwrap(), 5);
            // Nobody takes the output: it is dropped with the task.
            while !dropped.has_happened() {
                yield_now().await;
            }
        });
    });
}

#[test]
fn a_handle_that_was_given_up_is_awaited_again() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let (sender, receiver) = oneshot::channel();
            let mut task = spawn(receiver);
            for _ in 0..3 {
                assert!(timeout(Duration::ZERO, &mut task).await.is_err());
            }
            sender.send(4).unwrap();
            assert_eq!(task.await.unwrap(), Ok(4));
        });
    });
}

#[test]
fn the_waker_of_the_last_poll_is_woken() {
    let _limit = limit();
    let runtime = runtime(2);
    let (sender, receiver) = oneshot::channel::<()>();
    let mut task = runtime.spawn(receiver);
    let (first, last) = (Arc::new(Count::default()), Arc::new(Count::default()));
    assert!(poll(&mut task, &first.clone().into()).is_pending());
    assert!(poll(&mut task, &last.clone().into()).is_pending());
    sender.send(()).unwrap();
    support::wait_until(|| last.0.load(Ordering::SeqCst) == 1);
    assert_eq!(first.0.load(Ordering::SeqCst), 0);
    assert!(poll(&mut task, Waker::noop()).is_ready());
}

#[test]
fn a_handle_that_has_given_its_result_says_so() {
    let _limit = limit();
    let mut task = runtime(1).spawn(async {});
    assert!(block_on(&mut task).unwrap_err().is_cancelled());
    let panic = catch_unwind(AssertUnwindSafe(|| poll(&mut task, Waker::noop()))).unwrap_err();
    let text = panic.downcast_ref::<&str>().unwrap();
    assert!(text.contains("after it had given its result"), "{text}");
}

#[test]
fn plain_threads_wait_for_tasks() {
    let _limit = limit();
    let runtime = runtime(3);
    thread::scope(|scope| {
        for number in 0..8 {
            let handle = runtime.handle().clone();
            scope.spawn(move || {
                for round in 0..200 {
                    let task = handle.spawn(async move {
                        yield_now().await;
                        number * round
                    });
                    assert_eq!(task.wait().unwrap(), number * round);
                }
            });
        }
    });
}

#[test]
fn tasks_of_one_runtime_are_joined_in_another() {
    let _limit = limit();
    let (one, other) = (runtime(2), runtime(2));
    let sum = one.block_on(async {
        let mut sum = 0;
        for number in 0..1_000 {
            sum += other.spawn(async move { number }).await.unwrap();
        }
        sum
    });
    assert_eq!(sum, 499_500);
}

#[test]
fn the_future_is_dropped_before_the_joiner_goes_on() {
    struct Slow(Arc<AtomicUsize>);
    impl Drop for Slow {
        fn drop(&mut self) {
            thread::yield_now();
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    each_runtime(|runtime| {
        runtime.block_on(async {
            for _ in 0..200 {
                let dropped = Arc::new(AtomicUsize::new(0));
                let slow = Slow(dropped.clone());
                let output = spawn(async move {
                    let _slow = slow;
                    yield_now().await;
                });
                output.await.unwrap();
                assert_eq!(dropped.load(Ordering::SeqCst), 1);
            }
        });
    });
}

#[test]
fn what_is_finished_is_there_without_waiting() {
    let _limit = limit();
    let runtime = runtime(2);
    let mut task = runtime.spawn(async { 1 });
    support::wait_until(|| task.is_finished());
    assert!(matches!(poll(&mut task, Waker::noop()), Poll::Ready(Ok(1))));
}

#[test]
fn a_waker_that_panics_harms_only_its_owner() {
    let _limit = limit();
    let runtime = runtime(2);
    for _ in 0..20 {
        let (sender, receiver) = oneshot::channel::<()>();
        let mut task = runtime.spawn(receiver);
        assert!(poll(&mut task, &panicking_waker()).is_pending());
        sender.send(()).unwrap();
        assert!(task.wait().unwrap().is_ok());
    }
    assert_eq!(runtime.spawn(async { 2 }).wait().unwrap(), 2);
}

#[test]
fn an_error_names_the_task_and_the_call_that_spawned_it() {
    let _limit = limit();
    let runtime = runtime(1);
    let (failing, line) = (runtime.spawn(async { panic_quietly() }), line!());
    let id = failing.id();
    let error = runtime
        .block_on::<_>(failing)
        .map(|never: std::convert::Infallible| never);
    let text = error.unwrap_err().to_string();
    let place = format!("task {id}, spawned at {}:{line}:", file!());
    assert!(text.starts_with(&place), "{text}");
    assert!(text.ends_with(", panicked: on purpose"), "{text}");

    let task = runtime.spawn(pending::<()>());
    drop(runtime);
    let text = std::io::Error::from(task.wait().unwrap_err()).to_string();
    assert!(text.ends_with(", was cancelled"), "{text}");
}

#[test]
fn every_way_to_spawn_knows_its_caller() {
    let _limit = limit();
    let runtime = runtime(1);
    let places = runtime.block_on(async {
        [
            spawn(async {}).spawned_at(),
            try_spawn(async {}).unwrap().spawned_at(),
            spawn_local(async {}).spawned_at(),
            spawn_blocking(|| ()).spawned_at(),
            runtime.spawn(async {}).spawned_at(),
            runtime.handle().spawn(async {}).spawned_at(),
            runtime.handle().spawn_blocking(|| ()).spawned_at(),
        ]
    });
    let first = places[0].line();
    for (place, line) in places.iter().zip(first..) {
        assert_eq!((place.file(), place.line()), (file!(), line));
    }
}

#[test]
fn nothing_is_left_of_a_task_in_whatever_order_its_parts_go() {
    each_runtime(|runtime| {
        let held = Arc::new(());
        runtime.block_on(async {
            for _ in 0..100 {
                let (inside, also) = (held.clone(), held.clone());
                let kept = spawn(async move { inside });
                let mut polled = pin!(spawn(async move {
                    yield_now().await;
                    also
                }));
                let _ = futures::poll!(&mut polled);
                let abort = kept.abort_handle();
                drop(kept.await.unwrap());
                drop(abort);
            }
            while Arc::strong_count(&held) > 1 {
                yield_now().await;
            }
        });
    });
}
