//! Tasks, handles and timers under executors that know nothing of this one.

mod support;

use futures::executor::{self, LocalPool};
use futures::task::LocalSpawnExt;
use std::panic::catch_unwind;
use std::time::{Duration, Instant};
use support::{LIMIT, each_runtime, limit, runtime};
use windlass_executor::{Handle, block_on, spawn, try_spawn, yield_now};
use windlass_reactor::time::{Sleep, sleep, timeout};

const SHORT: Duration = Duration::from_millis(2);

#[test]
fn timers_work() {
    let _limit = limit();
    let begin = Instant::now();
    executor::block_on(async {
        sleep(SHORT).await;
        let late = timeout(SHORT, std::future::pending::<()>()).await;
        assert!(late.is_err());
    });
    assert!(begin.elapsed() >= 2 * SHORT);
}

#[test]
fn timers_of_many_tasks_of_one_thread_work() {
    let _limit = limit();
    let mut pool = LocalPool::new();
    for number in 0..100 {
        let wait = async move { sleep(Duration::from_micros(number * 50)).await };
        pool.spawner().spawn_local(wait).unwrap();
    }
    pool.run();
}

#[test]
fn handles_are_awaited_and_tasks_are_spawned_through_a_handle() {
    let _limit = limit();
    let runtime = runtime(2);
    let handle = runtime.handle().clone();
    let sum = executor::block_on(async {
        let task = handle.spawn(async {
            sleep(SHORT).await;
            spawn(async { 1 }).await.unwrap()
        });
        let job = handle.spawn_blocking(|| 10);
        task.await.unwrap() + job.await.unwrap()
    });
    assert_eq!(sum, 11);
}

#[test]
fn spawning_without_a_runtime_says_what_is_missing() {
    let _limit = limit();
    executor::block_on(async {
        assert!(Handle::try_current().is_none());
        assert!(try_spawn(async {}).is_err());
        let panic = catch_unwind(|| drop(spawn(async {}))).unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(
            text.contains("block_on") && text.contains("Handle"),
            "{text}"
        );
    });
}

/// Begins a sleep in `first`, and ends it in `then`.
fn moves(first: impl FnOnce(&mut Sleep), then: impl FnOnce(Sleep)) {
    let begin = Instant::now();
    let mut wait = sleep(SHORT);
    first(&mut wait);
    then(wait);
    assert!(begin.elapsed() >= SHORT);
}

#[test]
fn a_timer_goes_from_one_executor_to_the_other_in_the_middle() {
    let _limit = limit();
    moves(
        |wait| assert!(executor::block_on(timeout(Duration::ZERO, wait)).is_err()),
        block_on,
    );
    moves(
        |wait| assert!(block_on(timeout(Duration::ZERO, wait)).is_err()),
        executor::block_on,
    );
}

#[test]
fn another_executor_within_a_task_and_a_task_within_it() {
    each_runtime(|runtime| {
        let handle = runtime.handle().clone();
        let task = handle.spawn(async {
            executor::block_on(async {
                // Its own waits are not those of the worker that is held up.
                block_on(async {
                    sleep(SHORT).await;
                    yield_now().await;
                    spawn(async { 2 }).await.unwrap()
                })
            })
        });
        assert_eq!(runtime.block_on(task).unwrap(), 2);
        let job = handle.spawn_blocking(|| {
            executor::block_on(async {
                sleep(SHORT).await;
                3
            })
        });
        assert_eq!(job.wait().unwrap(), 3);
    });
}

#[test]
fn a_task_of_another_executor_wakes_ours() {
    let _limit = limit();
    let runtime = runtime(2);
    let (sender, receiver) = futures::channel::oneshot::channel();
    let task = runtime.spawn(async { receiver.await.unwrap() });
    let foreign = std::thread::spawn(|| {
        executor::block_on(async {
            sleep(SHORT).await;
            sender.send(6).unwrap();
        });
    });
    let output = runtime.block_on(timeout(LIMIT, task));
    assert_eq!(output.unwrap().unwrap(), 6);
    foreign.join().unwrap();
}
