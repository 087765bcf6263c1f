//! Runtimes whose order of tasks is drawn by lot.

mod support;

use futures::channel::mpsc;
use futures::{SinkExt, StreamExt};
use std::cell::RefCell;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::limit;
use windlass_executor::{Builder, Handle, Runtime, spawn, spawn_local, spawn_on, yield_now};
use windlass_reactor::time::{now, sleep};

/// What was done, in order.
type Trace = Vec<(u32, u32)>;

/// Tasks of all kinds that wait for each other, and the root future among them.
async fn mixed() -> Trace {
    let trace = Arc::new(Mutex::new(Trace::new()));
    let note = |task: u32, step: u32| trace.lock().unwrap().push((task, step));
    let (sender, mut receiver) = mpsc::channel(3);
    let mut tasks = Vec::new();
    for number in 0..12_u32 {
        let (trace, mut sender) = (trace.clone(), sender.clone());
        let work = async move {
            for step in 0..4 {
                trace.lock().unwrap().push((number, step));
                match step % 2 {
                    0 => yield_now().await,
                    _ => sender.send(number).await.unwrap(),
                }
            }
        };
        tasks.push(match number % 3 {
            0 => spawn(work),
            1 => spawn_local(work),
            _ => spawn_on(0, work),
        });
    }
    drop(sender);
    while let Some(number) = receiver.next().await {
        note(100, number);
    }
    for task in tasks {
        task.await.unwrap();
    }
    trace.lock().unwrap().clone()
}

/// Runs it twice in one runtime.
fn trace(builder: Builder) -> [Trace; 2] {
    let runtime = builder.build().unwrap();
    assert_eq!(runtime.handle().workers(), 1);
    [(); 2].map(|()| runtime.block_on(mixed()))
}

#[test]
fn the_same_seed_is_the_same_order_and_others_are_others() {
    let _limit = limit();
    let mut seen = HashSet::new();
    for seed in [0, 1, 2, 3, u64::MAX] {
        let first = trace(Runtime::builder().seed(seed));
        for _ in 0..5 {
            assert_eq!(trace(Runtime::builder().seed(seed)), first);
            // That polls are measured makes no difference.
            assert_eq!(trace(Runtime::builder().seed(seed).task_times(true)), first);
        }
        seen.extend(first);
    }
    assert_eq!(
        seen.len(),
        10,
        "all runs differ, also the second of a runtime"
    );
}

#[test]
fn without_a_seed_who_comes_first_is_first() {
    let _limit = limit();
    let order = |builder: Builder| {
        let order = Rc::new(RefCell::new(Vec::new()));
        builder.workers(1).build().unwrap().block_on(async {
            let tasks = (0..50).map(|number| {
                let order = order.clone();
                spawn_local(async move { order.borrow_mut().push(number) })
            });
            for task in tasks.collect::<Vec<_>>() {
                task.await.unwrap();
            }
        });
        order.take()
    };
    assert!(order(Runtime::builder()).is_sorted());
    assert!(!order(Runtime::builder().seed(5)).is_sorted());
}

#[test]
fn timers_of_a_paused_clock_are_covered() {
    let _limit = limit();
    let run = |seed| {
        let builder = Runtime::builder().paused_clock().seed(seed);
        builder.build().unwrap().block_on(async {
            let begin = now();
            let trace = Rc::new(RefCell::new(Vec::new()));
            let tasks: Vec<_> = (0..20)
                .map(|number: u32| {
                    let trace = trace.clone();
                    spawn_local(async move {
                        for _ in 0..3 {
                            sleep(Duration::from_secs(60 * u64::from(1 + number % 3))).await;
                            trace.borrow_mut().push((now() - begin, number));
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            trace.take()
        })
    };
    let runs: HashSet<_> = (0..5).map(run).collect();
    assert_eq!(runs.len(), 5);
    assert!(
        runs.iter()
            .all(|run| run.is_sorted_by_key(|(time, _)| *time))
    );
    for _ in 0..10 {
        assert!(runs.contains(&run(3)));
        assert_eq!(run(4), run(4));
    }
}

#[test]
fn nobody_is_left_out() {
    let _limit = limit();
    let runtime = Runtime::builder().seed(9).build().unwrap();
    let outside = runtime.spawn(async { 1 });
    runtime.block_on(async {
        let handle = Handle::current();
        let never_rests = spawn(async {
            loop {
                yield_now().await;
            }
        });
        let from_a_thread = std::thread::spawn(move || handle.spawn(async { 2 }));
        sleep(Duration::from_millis(1)).await;
        let sum = outside.await.unwrap() + from_a_thread.join().unwrap().await.unwrap();
        assert_eq!(sum, 3);
        never_rests.abort();
        assert!(never_rests.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn several_workers_are_refused() {
    let error = Runtime::builder().workers(2).seed(1).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error.to_string().contains("a seed takes exactly 1"),
        "{error}"
    );
}
