//! Many workers: who runs what, and that no wake is lost on the way.

mod support;

use futures::channel::mpsc as channel;
use futures::{SinkExt, StreamExt};
use std::cell::Cell;
use std::collections::HashSet;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::Poll;
use std::thread;
use std::time::Duration;
use support::{LIMIT, each_runtime, limit, runtime, wait_until};
use windlass_executor::{Builder, Handle, spawn, spawn_blocking, spawn_local, yield_now};
use windlass_reactor::time::sleep;

#[test]
fn so_many_workers_run_so_many_tasks_at_a_time() {
    let _limit = limit();
    for workers in [2, 3, 5] {
        let runtime = runtime(workers);
        // All must be inside at once, the caller of `block_on` among them.
        let all = Arc::new(Barrier::new(workers));
        let threads = runtime.block_on(async {
            let tasks: Vec<_> = (0..workers)
                .map(|_| {
                    let all = all.clone();
                    spawn(async move {
                        all.wait();
                        thread::current().id()
                    })
                })
                .collect();
            let mut threads = HashSet::new();
            for task in tasks {
                threads.insert(task.await.unwrap());
            }
            threads
        });
        assert_eq!(threads.len(), workers);
        assert!(threads.contains(&thread::current().id()));
    }
}

#[test]
fn workers_bear_names() {
    let _limit = limit();
    let runtime = Builder::new()
        .workers(4)
        .thread_name("mill")
        .build()
        .unwrap();
    let all = Arc::new(Barrier::new(3));
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let all = all.clone();
            runtime.spawn(async move {
                all.wait();
                thread::current().name().unwrap().to_owned()
            })
        })
        .collect();
    let mut names: Vec<_> = tasks.into_iter().map(|task| task.wait().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["mill-1", "mill-2", "mill-3"]);
}

/// A foreign thread and a task throw a ball to each other; each throw is a wake that must not be
/// lost, of a worker that is falling asleep at just that time.
#[test]
fn wakes_from_a_foreign_thread_arrive() {
    const THROWS: usize = 25_000;
    for workers in [1, 2, 4] {
        let _limit = limit();
        let runtime = runtime(workers);
        let (mut to_task, mut from_thread) = channel::unbounded();
        let (to_thread, from_task) = mpsc::channel();
        let task = runtime.spawn(async move {
            while let Some(number) = from_thread.next().await {
                to_thread.send(number).unwrap();
            }
        });
        let foreign = thread::spawn(move || {
            for number in 0..THROWS {
                to_task.start_send(number).unwrap();
                assert_eq!(from_task.recv_timeout(LIMIT), Ok(number));
            }
        });
        runtime.block_on(task).unwrap();
        foreign.join().unwrap();
    }
}

/// The same without waiting for an answer: wakes come in heaps, to tasks in every state.
#[test]
fn wakes_from_many_foreign_threads_arrive() {
    const THREADS: usize = 4;
    const MESSAGES: usize = 10_000;
    for workers in [1, 3] {
        let _limit = limit();
        let runtime = runtime(workers);
        let (senders, tasks): (Vec<_>, Vec<_>) = (0..8)
            .map(|_| {
                let (sender, receiver) = channel::channel::<usize>(3);
                let sum = receiver.fold(0, |sum, number| async move { sum + number });
                (sender, runtime.spawn(sum))
            })
            .unzip();
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let mut senders = senders.clone();
                thread::spawn(move || {
                    for number in 0..MESSAGES {
                        let which = number % senders.len();
                        futures::executor::block_on(senders[which].send(1)).unwrap();
                    }
                })
            })
            .collect();
        drop(senders);
        let total: usize = runtime.block_on(async {
            let mut total = 0;
            for task in tasks {
                total += task.await.unwrap();
            }
            total
        });
        assert_eq!(total, THREADS * MESSAGES);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn no_task_is_polled_by_two_at_once() {
    let _limit = limit();
    let runtime = runtime(4);
    let inside = Arc::new(AtomicUsize::new(0));
    let wakers = Arc::new(Mutex::new(None::<std::task::Waker>));
    let (entered, left) = (inside.clone(), wakers.clone());
    let mut polls = 0;
    let task = runtime.spawn(poll_fn(move |context| {
        assert_eq!(entered.fetch_add(1, Ordering::SeqCst), 0);
        *left.lock().unwrap() = Some(context.waker().clone());
        thread::yield_now();
        assert_eq!(entered.fetch_sub(1, Ordering::SeqCst), 1);
        polls += 1;
        if polls == 2_000 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }));
    let wake = || {
        let waker = wakers.lock().unwrap().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    };
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                wait_until(|| {
                    wake();
                    task.is_finished()
                });
            });
        }
    });
    task.wait().unwrap();
}

#[test]
fn pinned_tasks_stay_on_their_thread() {
    each_runtime(|runtime| {
        // From a worker thread as well as from the thread in `block_on`.
        let on_this_thread = || async {
            let home = thread::current().id();
            let count = Rc::new(Cell::new(0));
            let tasks: Vec<_> = (0..20_u64)
                .map(|number| {
                    let count = count.clone();
                    spawn_local(async move {
                        for _ in 0..5 {
                            assert_eq!(thread::current().id(), home);
                            match number % 3 {
                                0 => yield_now().await,
                                1 => sleep(Duration::from_micros(number)).await,
                                _ => spawn_blocking(|| ()).await.unwrap(),
                            }
                        }
                        assert_eq!(thread::current().id(), home);
                        count.set(count.get() + 1);
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            count.get()
        };
        assert_eq!(runtime.block_on(on_this_thread()), 20);
        let starts = spawn_everywhere(&runtime, move || {
            let done = on_this_thread();
            spawn_local(async move { assert_eq!(done.await, 20) });
        });
        runtime.block_on(async {
            for start in starts {
                start.await.unwrap();
            }
        });
    });
}

fn spawn_everywhere(
    runtime: &windlass_executor::Runtime,
    start: impl Fn() + Send + Copy + 'static,
) -> Vec<windlass_executor::JoinHandle<()>> {
    (0..8)
        .map(|_| runtime.spawn(async move { start() }))
        .collect()
}

#[test]
fn tasks_are_spawned_from_everywhere() {
    each_runtime(|runtime| {
        let count = Arc::new(AtomicUsize::new(0));
        let one = {
            let count = count.clone();
            move || {
                let count = count.clone();
                async move {
                    count.fetch_add(1, Ordering::SeqCst);
                }
            }
        };
        let handle = runtime.handle().clone();
        // A foreign thread, a job, a guest, and a task of another runtime.
        let (here, of_thread) = (handle.clone(), one.clone());
        thread::spawn(move || drop(here.spawn(of_thread())));
        let of_job = one.clone();
        handle.spawn_blocking(move || drop(spawn(of_job())));
        let other = support::runtime(2);
        let (there, of_other) = (handle.clone(), one.clone());
        other.spawn(async move { drop(there.spawn(of_other())) });
        thread::scope(|scope| {
            let (of_guest, runtime) = (one.clone(), &runtime);
            runtime.block_on(async {
                scope.spawn(|| runtime.block_on(async move { drop(spawn(of_guest())) }));
                spawn(one());
                spawn_local(async move { drop(spawn(one())) });
                assert!(Handle::current().is_same(&handle));
                while count.load(Ordering::SeqCst) < 6 {
                    sleep(Duration::from_micros(100)).await;
                }
            });
        });
    });
}

#[test]
fn tasks_spawned_by_tasks_are_all_run() {
    fn tree(depth: u32, count: &Arc<AtomicUsize>) {
        count.fetch_add(1, Ordering::SeqCst);
        if depth > 0 {
            for _ in 0..2 {
                let count = count.clone();
                spawn(async move { tree(depth - 1, &count) });
            }
        }
    }
    each_runtime(|runtime| {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        runtime.block_on(async {
            tree(11, &count);
            while counted.load(Ordering::SeqCst) < (1 << 12) - 1 {
                yield_now().await;
            }
        });
    });
}

#[test]
fn workers_go_on_between_two_calls() {
    let _limit = limit();
    let runtime = runtime(2);
    let mut left = None;
    runtime.block_on(async {
        left = Some(spawn(async {
            for _ in 0..50 {
                sleep(Duration::from_micros(50)).await;
                yield_now().await;
            }
        }));
        yield_now().await;
    });
    let left = left.unwrap();
    wait_until(|| left.is_finished());
}

#[test]
fn timers_are_served_while_tasks_are_always_ready() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let busy: Vec<_> = (0..100)
                .map(|_| {
                    spawn(async {
                        loop {
                            yield_now().await;
                        }
                    })
                })
                .collect();
            for _ in 0..20 {
                spawn(sleep(Duration::from_micros(100))).await.unwrap();
            }
            busy.iter().for_each(windlass_executor::JoinHandle::abort);
        });
    });
}
