//! Ending in good order.

mod support;

use futures::channel::oneshot;
use std::future::pending;
use std::thread;
use std::time::{Duration, Instant};
use support::{LIMIT, each_runtime, limit, panic_quietly, runtime, tells_drop};
use windlass_executor::{Drain, block_on, spawn, yield_now};

const SHORT: Duration = Duration::from_millis(5);

#[test]
fn nobody_is_waited_for_if_there_is_nobody() {
    let _limit = limit();
    block_on(async {
        let drain = Drain::new();
        drain.stop();
        assert_eq!(drain.wait(LIMIT).await, 0);
        assert_eq!(drain.wait(Duration::ZERO).await, 0);
    });
}

#[test]
fn the_last_one_ends_the_wait() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let drain = Drain::new();
            let stopping = drain.token().clone();
            let guard = drain.guard();
            let own = drain.clone();
            spawn(async move {
                stopping.cancelled().await;
                // Work may lead to more work.
                let second = own.guard();
                drop(guard);
                yield_now().await;
                thread::spawn(move || drop(second));
            });
            let tracked = spawn(drain.track(drain.token().clone().cancelled_owned()));
            assert_eq!(drain.count(), 2);
            drain.stop();
            assert_eq!(drain.wait(LIMIT).await, 0);
            assert_eq!(drain.count(), 0);
            tracked.await.unwrap();
        });
    });
}

#[test]
fn who_does_not_end_in_time_is_counted_and_aborted_if_that_is_possible() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let drain = Drain::new();
            let (tell, dropped) = tells_drop();
            let stuck = drain.spawn(async move {
                let _tell = tell;
                pending::<()>().await;
            });
            let tracked = spawn(drain.track(pending::<()>()));
            let guard = drain.guard();
            drain.stop();
            let start = Instant::now();
            assert_eq!(drain.wait(SHORT).await, 3);
            assert!(start.elapsed() >= SHORT);
            assert!(stuck.await.unwrap_err().is_cancelled());
            assert!(dropped.has_happened() && !tracked.is_finished());
            assert_eq!(drain.wait(SHORT).await, 2);
            drop(guard);
            tracked.abort();
            assert_eq!(drain.wait(LIMIT).await, 0);
        });
    });
}

#[test]
fn a_wait_that_is_given_up_aborts_nobody() {
    let _limit = limit();
    block_on(async {
        let drain = Drain::new();
        let (send, wait) = oneshot::channel();
        let task = drain.spawn(async { wait.await.unwrap() });
        drop(Box::pin(drain.wait(Duration::ZERO)));
        {
            let waits = drain.wait(LIMIT);
            let gives_up = futures::future::select(Box::pin(waits), Box::pin(yield_now()));
            assert!(matches!(gives_up.await, futures::future::Either::Right(_)));
        }
        send.send(5).unwrap();
        assert_eq!(task.await.unwrap(), 5);
    });
}

#[test]
fn several_wait_and_tasks_panic_or_are_aborted() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let drain = Drain::new();
            let tasks: Vec<_> = (0..30)
                .map(|number| {
                    drain.spawn(async move {
                        match number % 3 {
                            0 => yield_now().await,
                            1 => panic_quietly(),
                            _ => pending().await,
                        }
                    })
                })
                .collect();
            let waits: Vec<_> = (0..3)
                .map(|_| {
                    let drain = drain.clone();
                    spawn(async move { drain.wait(LIMIT).await })
                })
                .collect();
            yield_now().await;
            drain.abort_all();
            for wait in waits {
                assert_eq!(wait.await.unwrap(), 0);
            }
            for (number, task) in tasks.into_iter().enumerate() {
                let ended: Result<(), _> = task.await;
                // The others may have ended before they were asked to.
                assert!(number % 3 != 2 || ended.unwrap_err().is_cancelled());
            }
        });
    });
}

/// Tasks that have ended leave their places in the list to others, who must be aborted all the same.
#[test]
fn all_that_stay_are_aborted_while_others_come_and_go() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let drain = Drain::new();
            let mut staying = Vec::new();
            let spawners: Vec<_> = (0..4)
                .map(|_| {
                    let drain = drain.clone();
                    spawn(async move {
                        let mut staying = Vec::new();
                        for _ in 0..200 {
                            drop(drain.spawn(async {}));
                            staying.push(drain.spawn(pending::<()>()));
                            drop(drain.spawn(yield_now()));
                            yield_now().await;
                        }
                        staying
                    })
                })
                .collect();
            for spawner in spawners {
                staying.extend(spawner.await.unwrap());
            }
            drain.abort_all();
            assert_eq!(drain.wait(LIMIT).await, 0);
            for task in staying {
                assert!(task.await.unwrap_err().is_cancelled());
            }
        });
    });
}

#[test]
fn what_is_spawned_where_nothing_runs_is_not_waited_for() {
    let _limit = limit();
    let drain = Drain::new();
    let spawns = std::panic::AssertUnwindSafe(|| drop(drain.spawn(async {})));
    assert!(std::panic::catch_unwind(spawns).is_err());
    assert_eq!(drain.count(), 0);
    let late = runtime(1);
    let handle = late.handle().clone();
    drop(late);
    drop(handle.spawn(drain.track(pending::<()>())));
    assert_eq!(drain.count(), 0);
}
