//! The end of a runtime: every task is dropped, whatever goes on meanwhile.

mod support;

use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;
use support::{Dropped, each_runtime, limit, runtime, tells_drop, wait_until};
use windlass_executor::{Handle, spawn_blocking, spawn_local, yield_now};
use windlass_reactor::time::sleep;

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
                        // With one worker nobody runs tasks while this is going on, so that one
                        // may not wait for them.
                        if task.is_finished() {
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
