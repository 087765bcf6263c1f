//! Runtimes that are dropped by their own threads, and workers and jobs that hold up the end.

mod support;

use futures::channel::oneshot;
use std::future::pending;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use support::{LIMIT, each_runtime, limit, runtime, tells_drop, waits};
use windlass_executor::{Builder, Runtime, block_on, spawn_local};

#[test]
fn a_runtime_is_dropped_in_one_of_its_own_tasks() {
    let _limit = limit();
    for workers in [2, 4] {
        let runtime = Arc::new(runtime(workers));
        let (tell, dropped) = tells_drop();
        drop(runtime.spawn(waits(mpsc::channel().0, tell)));
        let own = runtime.clone();
        let (go, gone) = oneshot::channel::<()>();
        let task = runtime.spawn(async move {
            gone.await.unwrap();
            drop(own);
            5
        });
        drop(runtime);
        go.send(()).unwrap();
        // The poll that drops the runtime is the last one, and ends as it would have.
        assert_eq!(task.wait().unwrap(), 5);
        dropped.wait();
    }
}

/// A thread that blocks in another runtime's `block_on` is still one of the first one's.
#[test]
fn a_runtime_is_dropped_in_a_nested_call_of_one_of_its_own_threads() {
    let _limit = limit();
    for in_a_job in [false, true] {
        let runtime = Arc::new(runtime(2));
        let own = runtime.clone();
        let (go, gone) = mpsc::channel::<()>();
        let body = move || {
            gone.recv_timeout(LIMIT).unwrap();
            block_on(async {
                let mut own = Some(own);
                spawn_local(async {}).await.unwrap();
                drop(own.take());
            });
            6
        };
        let task = if in_a_job {
            runtime.handle().spawn_blocking(body)
        } else {
            runtime.spawn(async { body() })
        };
        drop(runtime);
        go.send(()).unwrap();
        assert_eq!(task.wait().unwrap(), 6);
    }
}

#[test]
fn a_runtime_is_dropped_in_one_of_its_own_blocking_jobs() {
    each_runtime(|runtime| {
        let runtime = Arc::new(runtime);
        let (tell, dropped) = tells_drop();
        drop(runtime.spawn(waits(mpsc::channel().0, tell)));
        let own = runtime.clone();
        let (go, gone) = mpsc::channel::<()>();
        let job = runtime.handle().spawn_blocking(move || {
            gone.recv_timeout(LIMIT).unwrap();
            drop(own);
            7
        });
        drop(runtime);
        go.send(()).unwrap();
        assert_eq!(job.wait().unwrap(), 7);
        dropped.wait();
    });
}

#[test]
fn dropping_waits_for_jobs_that_have_started_and_cancels_the_others() {
    let _limit = limit();
    for workers in [1, 3] {
        let runtime = Builder::new()
            .workers(workers)
            .blocking_threads(1)
            .build()
            .unwrap();
        let (started, has_started) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let running = runtime.handle().spawn_blocking(move || {
            started.send(()).unwrap();
            released.recv_timeout(LIMIT).unwrap();
            8
        });
        has_started.recv_timeout(LIMIT).unwrap();
        let (tell, dropped) = tells_drop();
        let waiting = runtime.handle().spawn_blocking(move || drop(tell));
        let ending = thread::spawn(move || drop(runtime));
        // It is dropped at once, and not run.
        assert!(waiting.wait().unwrap_err().is_cancelled());
        assert_ne!(dropped.wait(), thread::current().id());
        assert!(!ending.is_finished());
        release.send(()).unwrap();
        ending.join().unwrap();
        assert!(running.is_finished(), "the end waited for it");
        assert_eq!(running.wait().unwrap(), 8);
    }
}

// Tasks are dropped before jobs are waited for.
#[test]
fn a_job_that_waits_for_a_task_ends_with_it() {
    each_runtime(|runtime| {
        let (sender, receiver) = mpsc::channel::<()>();
        drop(runtime.spawn(async move {
            let _sender = sender;
            pending::<()>().await;
        }));
        let (started, has_started) = mpsc::channel();
        let job = runtime.handle().spawn_blocking(move || {
            started.send(()).unwrap();
            receiver.recv().is_err()
        });
        has_started.recv_timeout(LIMIT).unwrap();
        drop(runtime);
        assert!(job.wait().unwrap());
    });
}

#[test]
fn a_stuck_job_is_left_to_itself_when_the_time_is_over() {
    let _limit = limit();
    for workers in [1, 2] {
        let runtime = runtime(workers);
        let (started, has_started) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let job = runtime.handle().spawn_blocking(move || {
            started.send(()).unwrap();
            released.recv().unwrap();
            9
        });
        has_started.recv_timeout(LIMIT).unwrap();
        let (tell, dropped) = tells_drop();
        drop(runtime.spawn(waits(mpsc::channel().0, tell)));
        let begin = Instant::now();
        runtime.shutdown_timeout(Duration::from_millis(20));
        assert!(begin.elapsed() >= Duration::from_millis(20));
        // Tasks are not held up by it, if perhaps by a busy machine.
        dropped.wait();
        assert!(!job.is_finished());
        release.send(()).unwrap();
        assert_eq!(job.wait().unwrap(), 9);
    }
}

/// Makes a runtime with a task that holds up a worker until it is told otherwise.
fn with_a_stuck_worker(workers: usize) -> (Runtime, mpsc::Sender<()>) {
    let runtime = runtime(workers);
    let (started, has_started) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    drop(runtime.spawn(async move {
        started.send(()).unwrap();
        released.recv().unwrap();
        pending::<()>().await;
    }));
    has_started.recv_timeout(LIMIT).unwrap();
    (runtime, release)
}

#[test]
fn a_stuck_worker_is_left_to_itself_and_cleans_up_when_it_is_free() {
    let _limit = limit();
    for workers in [2, 4] {
        for timeout in [Duration::ZERO, Duration::from_millis(10)] {
            let (runtime, release) = with_a_stuck_worker(workers);
            let (tell, dropped) = tells_drop();
            let task = runtime.spawn(waits(mpsc::channel().0, tell));
            if timeout.is_zero() {
                runtime.shutdown_background();
            } else {
                runtime.shutdown_timeout(timeout);
            }
            release.send(()).unwrap();
            dropped.wait();
            assert!(task.wait().unwrap_err().is_cancelled());
        }
    }
}

#[test]
fn a_timeout_beyond_all_bounds_is_no_timeout() {
    each_runtime(|runtime| {
        runtime.spawn(async {});
        runtime.shutdown_timeout(Duration::MAX);
    });
}
