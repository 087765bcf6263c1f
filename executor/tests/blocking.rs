//! Closures that block: on how many threads, for how long, and what becomes of them.

mod support;

use std::collections::HashSet;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use support::{LIMIT, each_runtime, limit, panic_quietly, runtime, tells_drop, wait_until};
use windlass_executor::{
    Builder, Handle, JoinHandle, Runtime, block_on, spawn, spawn_blocking, yield_now,
};

fn with_threads(most: usize) -> Runtime {
    Builder::new()
        .workers(2)
        .blocking_threads(most)
        .build()
        .unwrap()
}

/// A job that blocks until it is told to go on.
fn blocked(handle: &Handle) -> (JoinHandle<()>, mpsc::Sender<()>) {
    let (release, released) = mpsc::channel::<()>();
    let (started, has_started) = mpsc::channel();
    let job = handle.spawn_blocking(move || {
        started.send(()).unwrap();
        let _ = released.recv_timeout(LIMIT);
    });
    has_started.recv_timeout(LIMIT).unwrap();
    (job, release)
}

#[test]
fn results_come_back_to_tasks_and_to_plain_threads() {
    each_runtime(|runtime| {
        let doubled = runtime.block_on(async { spawn_blocking(|| 21 * 2).await.unwrap() });
        assert_eq!(doubled, 42);
        let job = runtime.handle().spawn_blocking(|| thread::current().id());
        assert_ne!(job.wait().unwrap(), thread::current().id());
    });
}

#[test]
fn many_jobs_on_few_threads_give_each_caller_its_own_result() {
    let _limit = limit();
    let runtime = with_threads(3);
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let counts = Arc::new((running, most));
    runtime.block_on(async {
        let jobs: Vec<_> = (0..2_000)
            .map(|number| {
                let counts = counts.clone();
                spawn_blocking(move || {
                    let now = counts.0.fetch_add(1, Ordering::SeqCst) + 1;
                    counts.1.fetch_max(now, Ordering::SeqCst);
                    thread::yield_now();
                    counts.0.fetch_sub(1, Ordering::SeqCst);
                    number
                })
            })
            .collect();
        for (number, job) in jobs.into_iter().enumerate() {
            assert_eq!(job.await.unwrap(), number);
        }
    });
    let most = counts.1.load(Ordering::SeqCst);
    assert!((1..=3).contains(&most), "{most} at a time");
}

#[test]
fn as_many_jobs_as_there_may_be_threads_run_at_a_time() {
    let _limit = limit();
    let runtime = with_threads(8);
    let all = Arc::new(Barrier::new(8));
    let jobs: Vec<_> = (0..8)
        .map(|_| {
            let all = all.clone();
            runtime.handle().spawn_blocking(move || all.wait())
        })
        .collect();
    let results = jobs.into_iter().map(|job| job.wait().unwrap());
    let leaders = results.filter(std::sync::BarrierWaitResult::is_leader);
    assert_eq!(leaders.count(), 1);
}

#[test]
fn threads_are_used_again_and_bear_names() {
    let _limit = limit();
    let runtime = Builder::new()
        .workers(1)
        .thread_name("shop")
        .build()
        .unwrap();
    let name = || thread::current().name().map(str::to_owned);
    let mut names = HashSet::new();
    for _ in 0..100 {
        let job = runtime.handle().spawn_blocking(name);
        names.insert(job.wait().unwrap().unwrap());
    }
    assert!(names.contains("shop-blocking-0"), "{names:?}");
    // A thread may still be on its way back from one job when the next comes.
    assert!(names.len() <= 50, "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("shop-blocking-")));
}

#[test]
fn jobs_start_jobs_and_tasks_and_wait_for_them() {
    let _limit = limit();
    let runtime = with_threads(4);
    let sum = runtime.handle().spawn_blocking(|| {
        let inner = spawn_blocking(|| spawn_blocking(|| 1).wait().unwrap() + 1);
        let task = spawn(async { 10 });
        inner.wait().unwrap() + task.wait().unwrap() + block_on(async { 100 })
    });
    assert_eq!(sum.wait().unwrap(), 112);
}

#[test]
fn with_one_thread_a_job_may_start_another_but_not_wait_for_it() {
    let _limit = limit();
    let runtime = with_threads(1);
    let inner = runtime
        .handle()
        .spawn_blocking(|| spawn_blocking(|| 5))
        .wait()
        .unwrap();
    assert_eq!(inner.wait().unwrap(), 5);
}

#[test]
fn a_thread_knows_its_runtime() {
    each_runtime(|runtime| {
        let handle = runtime.handle().clone();
        let job = runtime
            .handle()
            .spawn_blocking(move || Handle::current().is_same(&handle));
        assert!(job.wait().unwrap());
    });
}

/// Idling out and new jobs meet all the time, and no job may be left between the two.
#[test]
fn threads_idle_out_and_come_back() {
    let _limit = limit();
    for keep_alive in [Duration::ZERO, Duration::from_millis(1)] {
        let runtime = Builder::new()
            .workers(2)
            .blocking_keep_alive(keep_alive)
            .build()
            .unwrap();
        for round in 0..2_000_u64 {
            let job = runtime.handle().spawn_blocking(move || round);
            assert_eq!(job.wait().unwrap(), round);
            // About as long as a thread stays, so that they meet.
            let pause = keep_alive.mul_f64((round % 21) as f64 / 20.0 + 0.5);
            if round % 10 == 0 {
                thread::sleep(pause);
            }
        }
    }
}

#[test]
fn threads_end_when_they_have_idled() {
    support::child::alone("threads_end_when_they_have_idled", || {
        let _limit = limit();
        let count = || std::fs::read_dir("/proc/self/task").unwrap().count();
        let runtime = Builder::new()
            .workers(1)
            .blocking_keep_alive(Duration::from_millis(1))
            .build()
            .unwrap();
        let before = count();
        let all = Arc::new(Barrier::new(4));
        let jobs = [(); 4].map(|()| {
            let all = all.clone();
            runtime.handle().spawn_blocking(move || {
                all.wait();
            })
        });
        jobs.into_iter().for_each(|job| job.wait().unwrap());
        wait_until(|| count() == before);
    });
}

#[test]
fn a_panic_goes_to_the_joiner_and_the_thread_goes_on() {
    let _limit = limit();
    let runtime = with_threads(1);
    for number in 0..100 {
        let failing: JoinHandle<()> = runtime.handle().spawn_blocking(|| panic_quietly());
        assert!(failing.wait().unwrap_err().is_panic());
        let job = runtime.handle().spawn_blocking(move || number);
        assert_eq!(job.wait().unwrap(), number);
    }
}

#[test]
fn a_job_aborted_before_it_starts_never_runs() {
    let _limit = limit();
    let runtime = with_threads(1);
    let (first, release) = blocked(runtime.handle());
    let has_run = Arc::new(AtomicBool::new(false));
    let (tell, dropped) = tells_drop();
    let runs = has_run.clone();
    let job = runtime.handle().spawn_blocking(move || {
        let _tell = tell;
        runs.store(true, Ordering::SeqCst);
    });
    job.abort();
    // It is gone while all threads are still busy.
    assert!(dropped.has_happened());
    assert!(job.wait().unwrap_err().is_cancelled());
    release.send(()).unwrap();
    first.wait().unwrap();
    assert_eq!(runtime.handle().spawn_blocking(|| 5).wait().unwrap(), 5);
    assert!(!has_run.load(Ordering::SeqCst));
}

#[test]
fn a_job_that_has_started_is_not_aborted() {
    let _limit = limit();
    let runtime = with_threads(1);
    let (job, release) = blocked(runtime.handle());
    job.abort();
    release.send(()).unwrap();
    assert!(job.wait().is_ok());
}

#[test]
fn a_job_whose_handle_is_dropped_runs_on() {
    let _limit = limit();
    let runtime = with_threads(2);
    let (sender, receiver) = mpsc::channel();
    drop(runtime.handle().spawn_blocking(move || sender.send(3)));
    assert_eq!(receiver.recv_timeout(LIMIT), Ok(3));
}

#[test]
fn tasks_go_on_while_jobs_block() {
    each_runtime(|runtime| {
        let (job, release) = blocked(runtime.handle());
        runtime.block_on(async {
            for _ in 0..100 {
                spawn(yield_now()).await.unwrap();
            }
            release.send(()).unwrap();
            job.await.unwrap();
        });
    });
}

#[test]
fn jobs_from_many_threads_all_run() {
    let _limit = limit();
    let runtime = with_threads(4);
    let seen = Mutex::new(HashSet::new());
    thread::scope(|scope| {
        for thread in 0..4 {
            let (handle, seen) = (runtime.handle().clone(), &seen);
            scope.spawn(move || {
                let jobs: Vec<_> = (0..250)
                    .map(|number| handle.spawn_blocking(move || thread * 1_000 + number))
                    .collect();
                for job in jobs {
                    assert!(seen.lock().unwrap().insert(job.wait().unwrap()));
                }
            });
        }
    });
    assert_eq!(seen.lock().unwrap().len(), 1_000);
}

#[test]
fn a_closure_that_is_not_sync_and_a_result_that_is_neither_are_fine() {
    fn check(_: &(impl Future + Send)) {}
    let _limit = limit();
    let cell = std::cell::Cell::new(1);
    let job = runtime(1).handle().spawn_blocking(move || {
        cell.set(2);
        cell
    });
    check(&job);
    let _ = job.wait();
}
