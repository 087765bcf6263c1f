//! The end of a runtime: what is dropped, what is waited for, and what outlives it.

mod support;

use futures::channel::oneshot;
use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};
use support::{Dropped, LIMIT, TellsDrop, each_runtime, limit, runtime, tells_drop, wait_until};
use windlass_executor::{
    Builder, Handle, Runtime, block_on, spawn, spawn_blocking, spawn_local, try_spawn, yield_now,
};
use windlass_reactor::time::sleep;

/// Waits for ever, and leaves its waker behind.
async fn waits(waker: mpsc::Sender<Waker>, _tell: TellsDrop) {
    poll_fn(|context| {
        let _ = waker.send(context.waker().clone());
        Poll::<()>::Pending
    })
    .await;
}

// H10
#[test]
fn runtime_handle_task_and_waker_go_in_any_order() {
    let orders = [
        "rhtw", "rhwt", "rthw", "rtwh", "rwht", "rwth", "hrtw", "hrwt", "htrw", "htwr", "hwrt",
        "hwtr", "trhw", "trwh", "thrw", "thwr", "twrh", "twhr", "wrht", "wrth", "whrt", "whtr",
        "wtrh", "wthr",
    ];
    let _limit = limit();
    for workers in [1, 2] {
        for order in orders {
            let (tell, dropped) = tells_drop();
            let (sender, wakers) = mpsc::channel();
            let mut runtime = Some(runtime(workers));
            let mut handle = runtime.as_ref().map(|runtime| runtime.handle().clone());
            let mut task = Some(handle.as_ref().unwrap().spawn(waits(sender, tell)));
            runtime.as_ref().unwrap().block_on(yield_now());
            let mut waker = Some(wakers.recv_timeout(LIMIT).unwrap());
            for part in order.chars() {
                match part {
                    'r' => {
                        assert!(!dropped.has_happened());
                        drop(runtime.take());
                        assert!(dropped.has_happened(), "{order}: outlives the runtime");
                    }
                    'h' => drop(handle.take()),
                    't' => drop(task.take()),
                    _ => waker.take().unwrap().wake(),
                }
            }
        }
    }
}

#[test]
fn what_was_queued_and_what_was_never_run_is_dropped() {
    each_runtime(|runtime| {
        let notes: Vec<_> = (0..200)
            .map(|number| {
                let (tell, dropped) = tells_drop();
                drop(runtime.spawn(async move {
                    let _tell = tell;
                    if number % 2 == 0 {
                        pending::<()>().await;
                    }
                    // Queued for good.
                    loop {
                        yield_now().await;
                    }
                }));
                dropped
            })
            .collect();
        drop(runtime);
        assert!(notes.iter().all(Dropped::has_happened));
    });
}

// C14
#[test]
fn wakers_that_outlive_the_runtime_are_harmless() {
    each_runtime(|runtime| {
        let (tell, dropped) = tells_drop();
        let (local_tell, local_dropped) = tells_drop();
        let (sender, wakers) = mpsc::channel();
        let root = sender.clone();
        runtime.spawn(waits(sender.clone(), tell));
        runtime.block_on(async {
            spawn_local(waits(sender, local_tell));
            poll_fn(|context| {
                root.send(context.waker().clone()).unwrap();
                Poll::Ready(())
            })
            .await;
            yield_now().await;
        });
        let wakers: Vec<_> = (0..3)
            .map(|_| wakers.recv_timeout(LIMIT).unwrap())
            .collect();
        drop(runtime);
        assert!(dropped.has_happened() && local_dropped.has_happened());
        for waker in wakers {
            waker.wake_by_ref();
            thread::spawn(move || {
                let copy = waker.clone();
                waker.wake();
                copy.wake_by_ref();
            })
            .join()
            .unwrap();
        }
    });
}

thread_local! {
    /// Runs when the thread ends; what the thread uses first is destroyed last.
    static LAST_WILL: RefCell<Vec<Will>> = const { RefCell::new(Vec::new()) };
}

struct Will(Box<dyn Fn()>);

impl Drop for Will {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn at_the_end_of_this_thread(body: impl Fn() + 'static) {
    LAST_WILL.with_borrow_mut(|wills| wills.push(Will(Box::new(body))));
}

// C14
#[test]
fn wakers_are_woken_in_destructors_of_thread_locals() {
    each_runtime(|runtime| {
        let (sender, wakers) = mpsc::channel();
        for _ in 0..2 {
            runtime.spawn(waits(sender.clone(), tells_drop().0));
        }
        runtime.block_on(async { yield_now().await });
        let [alive, late] = [(); 2].map(|()| wakers.recv_timeout(LIMIT).unwrap());
        // While the runtime is there, and when it is gone.
        let wake_at_the_end = |waker: Waker| {
            let thread = thread::spawn(move || {
                at_the_end_of_this_thread(move || waker.wake_by_ref());
                // The executor's own thread-locals come after, so that they are destroyed before.
                block_on(yield_now());
            });
            thread.join().unwrap();
        };
        wake_at_the_end(alive);
        drop(runtime);
        wake_at_the_end(late);
    });
}

// C14
#[test]
fn a_thread_that_is_ending_blocks_and_spawns_as_ever() {
    let _limit = limit();
    let shared = Arc::new(runtime(2));
    let thread = thread::spawn(move || {
        at_the_end_of_this_thread(move || {
            assert!(try_spawn(async {}).is_err());
            let work = || async {
                let task = spawn(async { 1 });
                sleep(Duration::from_millis(1)).await;
                spawn_local(pending::<()>());
                let local = spawn_local(async { 2 });
                task.await.unwrap() + local.await.unwrap()
            };
            assert_eq!(block_on(work()), 3);
            assert_eq!(shared.block_on(work()), 3);
            assert_eq!(block_on(async { block_on(work()) }), 3);
        });
        block_on(async { spawn_local(async {}).await.unwrap() });
    });
    thread.join().unwrap();
}

#[test]
fn tasks_left_to_a_thread_are_dropped_when_it_ends() {
    let _limit = limit();
    let (tell, dropped) = tells_drop();
    let (local_tell, local_dropped) = tells_drop();
    let thread = thread::spawn(move || {
        block_on(async {
            spawn(waits(mpsc::channel().0, tell));
            spawn_local(async move {
                let (_not_send, _tell) = (Rc::new(()), local_tell);
                pending::<()>().await;
            });
        });
        thread::current().id()
    });
    let id = thread.join().unwrap();
    assert_eq!((dropped.wait(), local_dropped.wait()), (id, id));
}

// G35
#[test]
fn what_is_spawned_during_the_end_is_run_or_cancelled() {
    each_runtime(|runtime| {
        let ran = Arc::new(AtomicUsize::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let spawners: Vec<_> = (0..2)
            .map(|_| {
                let (handle, ran, stop) = (runtime.handle().clone(), ran.clone(), stop.clone());
                thread::spawn(move || {
                    let mut cancelled = 0;
                    while !stop.load(Ordering::SeqCst) || cancelled == 0 {
                        let ran = ran.clone();
                        let count = move || ran.fetch_add(1, Ordering::SeqCst);
                        let job = handle.spawn_blocking(count.clone());
                        let task = handle.spawn(async move { count() });
                        // With one worker nobody runs tasks while this is going on.
                        if task.is_finished() || job.is_finished() {
                            cancelled += usize::from(task.wait().is_err());
                        }
                        let _ = job.wait();
                    }
                })
            })
            .collect();
        wait_until(|| ran.load(Ordering::SeqCst) > 10);
        drop(runtime);
        let count = ran.load(Ordering::SeqCst);
        stop.store(true, Ordering::SeqCst);
        for spawner in spawners {
            spawner.join().unwrap();
        }
        assert_eq!(ran.load(Ordering::SeqCst), count, "something runs on");
    });
}

#[test]
fn futures_that_spawn_when_they_are_dropped_do_not_hold_up_the_end() {
    /// Spawns when it is dropped, and so does what it spawns, for a while.
    struct Spawns(Handle, usize, mpsc::Sender<usize>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            if self.1 == 0 {
                return;
            }
            let again = Spawns(self.0.clone(), self.1 - 1, self.2.clone());
            self.0.spawn(async move {
                let _again = again;
                pending::<()>().await;
            });
            assert!(self.0.spawn_blocking(|| ()).is_finished(), "it is refused");
            self.2.send(self.1).unwrap();
        }
    }
    each_runtime(|runtime| {
        let (sender, dropped) = mpsc::channel();
        let spawns = [(); 2].map(|()| Spawns(runtime.handle().clone(), 50, sender.clone()));
        let [anywhere, local] = spawns;
        runtime.spawn(async move {
            let _spawns = anywhere;
            pending::<()>().await;
        });
        runtime.block_on(async {
            spawn_local(async move {
                let _spawns = local;
                pending::<()>().await;
            });
            yield_now().await;
        });
        drop(runtime);
        assert_eq!(dropped.try_iter().count(), 100);
    });
}

#[test]
fn after_the_end_everything_is_cancelled_at_once() {
    each_runtime(|runtime| {
        let handle = runtime.handle().clone();
        drop(runtime);
        let (tell, dropped) = tells_drop();
        let task = handle.spawn(async move { drop(tell) });
        assert!(dropped.has_happened());
        assert!(task.wait().unwrap_err().is_cancelled());
        let job = handle.spawn_blocking(|| ());
        assert!(job.wait().unwrap_err().is_cancelled());
    });
}

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

// H3: tasks are dropped before jobs are waited for.
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

// H6
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
        assert!(dropped.has_happened(), "tasks are not held up by it");
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

// H6
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

// H1
#[test]
fn timers_and_wakes_in_the_middle_of_the_end_do_not_stop_it() {
    let _limit = limit();
    let stop = Arc::new(AtomicBool::new(false));
    let wakers = Arc::new(Mutex::new(Vec::<Waker>::new()));
    let waking = {
        let (stop, wakers) = (stop.clone(), wakers.clone());
        thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                let all = wakers.lock().unwrap().clone();
                all.iter().for_each(Waker::wake_by_ref);
            }
        })
    };
    for round in 0..100 {
        let runtime = runtime(1 + round % 4);
        for number in 0..20 {
            let wakers = wakers.clone();
            drop(runtime.spawn(async move {
                poll_fn(move |context| {
                    let mut wakers = wakers.lock().unwrap();
                    if wakers.len() > 100 {
                        wakers.clear();
                    }
                    wakers.push(context.waker().clone());
                    Poll::Ready(())
                })
                .await;
                loop {
                    sleep(Duration::from_micros(50 + number * 10)).await;
                }
            }));
        }
        runtime.block_on(sleep(Duration::from_micros(200)));
        drop(runtime);
    }
    stop.store(true, Ordering::SeqCst);
    waking.join().unwrap();
}

#[test]
fn a_runtime_leaves_no_descriptor_and_no_memory_of_tasks() {
    support::child::alone(
        "a_runtime_leaves_no_descriptor_and_no_memory_of_tasks",
        || {
            let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
            let live_and_die = |workers| {
                let runtime = runtime(workers);
                let task = runtime.spawn(async { spawn_blocking(|| ()).await.unwrap() });
                runtime.block_on(task).unwrap();
                runtime.spawn(sleep(Duration::MAX));
                runtime.block_on(async {
                    spawn_local(sleep(Duration::MAX));
                });
            };
            live_and_die(2);
            let before = descriptors();
            for round in 0..60 {
                live_and_die(1 + round % 4);
                assert_eq!(descriptors(), before, "round {round}");
            }
        },
    );
}
