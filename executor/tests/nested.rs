//! Blocking within blocking: each wakes its own, and everything is as before afterwards.

mod support;

use futures::channel::oneshot;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use support::{LIMIT, each_runtime, limit, panic_quietly, runtime};
use windlass_executor::{
    Handle, JoinHandle, LocalHandle, block_on, spawn, spawn_blocking, spawn_local, yield_now,
};
use windlass_reactor::time::{sleep, timeout};

/// Completes what it returns from another thread, after the first poll.
async fn woken_by_a_thread(number: u32) -> u32 {
    let (sender, receiver) = oneshot::channel();
    thread::spawn(move || sender.send(number));
    receiver.await.unwrap()
}

#[test]
fn each_of_three_calls_is_woken_by_its_own() {
    let _limit = limit();
    for _ in 0..50 {
        let sum = block_on(async {
            let one = block_on(async {
                let deepest = block_on(woken_by_a_thread(1));
                deepest + woken_by_a_thread(10).await
            });
            one + woken_by_a_thread(100).await
        });
        assert_eq!(sum, 111);
    }
}

#[test]
fn calls_of_runtimes_and_free_ones_nest_in_each_other() {
    each_runtime(|outer| {
        let inner = runtime(2);
        let sum = outer.block_on(async {
            let one = inner.block_on(async {
                assert!(Handle::current().is_same(inner.handle()));
                let free = block_on(async {
                    assert!(!Handle::current().is_same(inner.handle()));
                    spawn(async { 1 }).await.unwrap() + spawn_local(async { 2 }).await.unwrap()
                });
                free + spawn(async { 10 }).await.unwrap()
            });
            assert!(Handle::current().is_same(outer.handle()));
            one + spawn(async { 100 }).await.unwrap()
        });
        assert_eq!(sum, 113);
    });
}

#[test]
fn a_guest_has_no_thread_of_its_own_to_pin_to() {
    let _limit = limit();
    let runtime = runtime(2);
    block_on(async {
        runtime.block_on(async {
            assert!(LocalHandle::try_current().is_none());
            let panic = catch_unwind(|| drop(spawn_local(async {}))).unwrap_err();
            let text = panic.downcast_ref::<String>().unwrap();
            assert!(text.contains("spawn_local"), "{text}");
        });
        assert!(LocalHandle::try_current().is_some());
    });
}

#[test]
fn a_task_blocks_a_thousand_times() {
    let _limit = limit();
    let runtime = runtime(2);
    let other = support::runtime(2);
    let task = runtime.spawn(async move {
        for number in 0..1_000 {
            let doubled = other.block_on(async move {
                yield_now().await;
                spawn(async move { 2 * number }).await.unwrap()
            });
            assert_eq!(doubled, 2 * number);
        }
    });
    task.wait().unwrap();
}

#[test]
fn other_workers_go_on_while_one_blocks() {
    let _limit = limit();
    let runtime = runtime(2);
    let (sender, receiver) = oneshot::channel();
    let (started, has_started) = mpsc::channel();
    // Nobody is in `block_on` yet, so it goes to the other worker.
    let nested = runtime.spawn(async move {
        block_on(async {
            started.send(()).unwrap();
            receiver.await.unwrap()
        })
    });
    has_started.recv_timeout(LIMIT).unwrap();
    runtime.block_on(async {
        spawn(yield_now()).await.unwrap();
        spawn(sleep(Duration::from_millis(1))).await.unwrap();
        sender.send(4).unwrap();
        assert_eq!(nested.await.unwrap(), 4);
    });
}

#[test]
fn what_waits_outside_goes_on_after_a_nested_call() {
    let _limit = limit();
    block_on(async {
        let outside: Vec<_> = (0..10)
            .map(|number| spawn(sleep(Duration::from_micros(100 * number))))
            .collect();
        yield_now().await;
        block_on(sleep(Duration::from_millis(2)));
        for task in outside {
            task.await.unwrap();
        }
    });
}

#[test]
fn a_panic_inside_leaves_everything_as_it_was() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            for _ in 0..10 {
                let result = catch_unwind(AssertUnwindSafe(|| {
                    block_on(async {
                        spawn(yield_now()).await.unwrap();
                        block_on(async { panic_quietly() })
                    })
                }));
                assert!(result.is_err());
                assert!(Handle::current().is_same(runtime.handle()));
                assert_eq!(spawn_local(async { 1 }).await.unwrap(), 1);
                sleep(Duration::from_micros(10)).await;
            }
        });
        assert!(Handle::try_current().is_none());
    });
}

#[test]
fn what_a_nested_call_leaves_behind_is_dropped_with_it() {
    let _limit = limit();
    block_on(async {
        let (tell, dropped) = support::tells_drop();
        let mut left: Option<JoinHandle<()>> = None;
        block_on(async {
            left = Some(spawn(async move {
                let _tell = tell;
                std::future::pending::<()>().await;
            }));
            yield_now().await;
        });
        assert!(dropped.has_happened());
        assert!(left.unwrap().await.unwrap_err().is_cancelled());
    });
}

#[test]
fn a_job_blocks_on_futures_of_all_kinds() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let job = spawn_blocking(|| {
                let task = spawn(async { 1 });
                let local = block_on(async { spawn_local(async { 10 }).await.unwrap() });
                block_on(async move {
                    sleep(Duration::from_micros(10)).await;
                    local + task.await.unwrap()
                })
            });
            assert_eq!(job.await.unwrap(), 11);
        });
    });
}

#[test]
fn a_future_begun_inside_is_finished_outside_and_the_reverse() {
    let _limit = limit();
    let carried = Rc::new(RefCell::new(None));
    block_on(async {
        let mut outer = Box::pin(sleep(Duration::from_millis(3)));
        assert!(timeout(Duration::ZERO, &mut outer).await.is_err());
        block_on(async {
            outer.await;
            let mut inner = Box::pin(sleep(Duration::from_millis(3)));
            assert!(timeout(Duration::ZERO, &mut inner).await.is_err());
            *carried.borrow_mut() = Some(inner);
        });
        let inner = carried.borrow_mut().take().unwrap();
        inner.await;
    });
}

#[test]
fn two_runtimes_on_one_thread_take_turns() {
    let _limit = limit();
    let (one, other) = (runtime(1), runtime(1));
    let count = Rc::new(RefCell::new(0));
    let mut tasks = Vec::new();
    for round in 0..20 {
        for runtime in [&one, &other] {
            runtime.block_on(async {
                let count = count.clone();
                tasks.push((
                    round,
                    spawn_local(async move {
                        yield_now().await;
                        *count.borrow_mut() += 1;
                    }),
                ));
            });
        }
    }
    // Every task began in one of the two, and goes on there.
    one.block_on(async {
        while *count.borrow() < 20 {
            yield_now().await;
        }
    });
    other.block_on(async {
        for (_, task) in tasks {
            task.await.unwrap();
        }
    });
    assert_eq!(*count.borrow(), 40);
}
