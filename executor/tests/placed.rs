//! Tasks that run on one worker, and workers that keep their tasks.

mod support;

use futures::channel::oneshot;
use std::collections::HashSet;
use std::future::pending;
use std::sync::mpsc;
use std::task::Waker;
use std::thread::{self, ThreadId};
use support::{LIMIT, each_runtime, limit, panic_quietly, runtime, tells_drop, waits};
use windlass_executor::{
    Runtime, block_on, spawn, spawn_blocking, spawn_local, spawn_on, yield_now,
};

fn here() -> ThreadId {
    thread::current().id()
}

/// Runs in several polls, woken by itself and from another thread, and says on which threads.
async fn wanders() -> HashSet<ThreadId> {
    let mut threads = HashSet::from([here()]);
    for _ in 0..5 {
        yield_now().await;
        threads.insert(here());
        let (send, wait) = oneshot::channel();
        thread::spawn(move || send.send(()));
        wait.await.unwrap();
        threads.insert(here());
    }
    threads
}

#[test]
fn a_task_runs_on_its_worker_whatever_wakes_it() {
    let _limit = limit();
    let runtime = runtime(3);
    let names = |worker| {
        runtime
            .handle()
            .spawn_on(worker, async { thread::current().id() })
    };
    runtime.block_on(async {
        let own = [
            names(0).await.unwrap(),
            names(1).await.unwrap(),
            names(2).await.unwrap(),
        ];
        assert_eq!(own[0], here());
        assert_eq!(HashSet::from(own).len(), 3);
        let tasks: Vec<_> = (0..30)
            .map(|number| spawn_on(number % 3, wanders()))
            .collect();
        for (number, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), HashSet::from([own[number % 3]]));
        }
    });
}

#[test]
fn a_worker_that_is_not_there_is_named() {
    each_runtime(|runtime| {
        let workers = runtime.handle().workers();
        let place =
            std::panic::AssertUnwindSafe(|| drop(runtime.handle().spawn_on(workers, async {})));
        let payload = std::panic::catch_unwind(place).unwrap_err();
        let text = payload.downcast_ref::<String>().unwrap();
        assert!(text.contains(&format!("0 to {}", workers - 1)), "{text}");
    });
}

#[test]
fn tasks_of_worker_0_wait_for_whoever_comes_next() {
    each_runtime(|runtime| {
        let (leave, left) = oneshot::channel();
        let task = runtime.handle().spawn_on(0, async move {
            let mut threads = wanders().await;
            // So it cannot end before the thread that starts it has gone.
            left.await.unwrap();
            threads.extend(wanders().await);
            threads
        });
        let (wake, woken) = mpsc::channel::<Waker>();
        let (tell, dropped) = tells_drop();
        let waiting = runtime.handle().spawn_on(0, waits(wake, tell));
        // It is started on one thread, and left there when that is ready to run.
        runtime.block_on(async {
            let started = spawn_on(0, async {});
            started.await.unwrap();
        });
        leave.send(()).unwrap();
        let runtime = &runtime;
        thread::scope(|scope| {
            let sits = scope.spawn(move || {
                let threads = runtime.block_on(task).unwrap();
                assert!(threads.contains(&here()));
                waiting.abort();
                assert!(runtime.block_on(waiting).unwrap_err().is_cancelled());
                assert!(dropped.has_happened());
            });
            sits.join().unwrap();
        });
        woken.recv_timeout(LIMIT).unwrap().wake();
    });
}

#[test]
fn what_is_ready_for_worker_0_is_not_left_with_the_thread_that_goes() {
    let _limit = limit();
    let runtime = runtime(1);
    let (send, wait) = oneshot::channel();
    let first = here();
    runtime.block_on(async {
        drop(spawn_on(0, async move {
            // So it is ready whenever the thread goes.
            while here() == first {
                yield_now().await;
            }
            send.send(here()).unwrap();
        }));
        yield_now().await;
    });
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(runtime.block_on(wait).unwrap(), here()));
    });
}

#[test]
fn placed_tasks_end_with_the_runtime() {
    each_runtime(|runtime| {
        let workers = runtime.handle().workers();
        let (wake, wakers) = mpsc::channel();
        let mut all = Vec::new();
        for worker in 0..workers {
            let (tell, dropped) = tells_drop();
            all.push(dropped);
            drop(runtime.handle().spawn_on(worker, waits(wake.clone(), tell)));
        }
        runtime.block_on(async {
            for worker in 0..workers {
                spawn_on(worker, async {}).await.unwrap();
            }
        });
        let handle = runtime.handle().clone();
        drop(runtime);
        assert!(all.iter().all(support::Dropped::has_happened));
        wakers.try_iter().for_each(Waker::wake);
        assert!(handle.spawn_on(0, async {}).is_finished());
    });
}

#[test]
fn a_placed_task_panics_and_is_aborted_like_any_other() {
    each_runtime(|runtime| {
        let last = runtime.handle().workers() - 1;
        runtime.block_on(async {
            let task: Result<(), _> = spawn_on(last, async { panic_quietly() }).await;
            assert!(task.unwrap_err().is_panic());
            let task = spawn_on(last, pending::<()>());
            spawn_on(last, async {}).await.unwrap();
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        });
    });
}

#[test]
fn a_task_spawns_local_ones_on_its_worker() {
    each_runtime(|runtime| {
        let workers = runtime.handle().workers();
        runtime.block_on(async {
            for worker in 0..workers {
                let is_here = async {
                    let outer = here();
                    let shared = std::rc::Rc::new(here);
                    let local = spawn_local(async move {
                        yield_now().await;
                        spawn_local(async move { shared() }).await.unwrap()
                    });
                    // The handle of a local task is `Send` if its output is.
                    local.await.unwrap() == outer
                };
                // What holds no `Rc` across an await is `Send` only if the compiler sees it.
                let placed = spawn_on(worker, async move {
                    let (send, wait) = oneshot::channel();
                    spawn_local(async move { send.send(is_here.await) });
                    wait.await.unwrap()
                });
                assert!(placed.await.unwrap());
            }
        });
    });
}

#[test]
fn without_stealing_tasks_stay_where_they_were_spawned() {
    let _limit = limit();
    for workers in [1, 2, 4] {
        let runtime = Runtime::builder()
            .workers(workers)
            .stealing(false)
            .build()
            .unwrap();
        runtime.block_on(async {
            let tasks: Vec<_> = (0..20).map(|_| spawn(wanders())).collect();
            for task in tasks {
                assert_eq!(task.await.unwrap(), HashSet::from([here()]));
            }
        });
        let handle = runtime.handle().clone();
        let from_elsewhere =
            thread::spawn(move || (0..12).map(|_| handle.spawn(wanders())).collect::<Vec<_>>());
        let tasks = from_elsewhere.join().unwrap();
        let mut used = HashSet::new();
        for task in tasks {
            let threads = runtime.block_on(task).unwrap();
            assert_eq!(threads.len(), 1);
            used.extend(threads);
        }
        assert_eq!(used.len(), (workers - 1).max(1));
        // What is spawned by a job, or by a task of another runtime, is spawned from elsewhere.
        let through_a_job = spawn_blocking_and_spawn(&runtime);
        assert_eq!(through_a_job.len(), 1);
    }
}

fn spawn_blocking_and_spawn(runtime: &Runtime) -> HashSet<ThreadId> {
    runtime.block_on(async {
        spawn_blocking(|| spawn(wanders()))
            .await
            .unwrap()
            .await
            .unwrap()
    })
}

#[test]
fn the_free_block_on_has_one_worker() {
    let _limit = limit();
    assert_eq!(
        block_on(async { spawn_on(0, async { here() }).await }).unwrap(),
        here()
    );
    assert!(std::panic::catch_unwind(|| drop(spawn_on(0, async {}))).is_err());
}
