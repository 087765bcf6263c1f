//! Several workers: what one has ready, others run; and what is woken runs soon.

mod support;

use futures::channel::mpsc as channel;
use futures::{FutureExt, StreamExt};
use std::collections::HashSet;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use support::{LIMIT, each_runtime, limit, runtime, tells_drop, waits};
use windlass_executor::{Handle, spawn, yield_now};

/// A task that goes on until all have come, so that it keeps a worker.
async fn keep_a_worker(all: Arc<Barrier>) -> thread::ThreadId {
    all.wait();
    thread::current().id()
}

#[test]
fn what_is_spawned_on_one_worker_is_run_by_all() {
    for workers in [2, 4] {
        let _limit = limit();
        let runtime = runtime(workers);
        let threads = runtime.block_on(async move {
            let spawner = spawn(async move {
                let all = Arc::new(Barrier::new(workers));
                let tasks = (0..workers).map(|_| spawn(keep_a_worker(all.clone())));
                futures::future::join_all(tasks).await
            });
            spawner.await.unwrap()
        });
        let threads: HashSet<_> = threads.into_iter().map(Result::unwrap).collect();
        assert_eq!(threads.len(), workers);
    }
}

/// Tasks that were idle are woken together by one worker, and need them all.
#[test]
fn what_is_woken_on_one_worker_is_run_by_all() {
    const WORKERS: usize = 3;
    let _limit = limit();
    let runtime = runtime(WORKERS);
    runtime.block_on(async {
        let all = Arc::new(Barrier::new(WORKERS));
        let (senders, tasks): (Vec<_>, Vec<_>) = (0..WORKERS)
            .map(|_| {
                let (sender, mut receiver) = channel::unbounded::<()>();
                let all = all.clone();
                let task = spawn(async move {
                    receiver.next().await.unwrap();
                    keep_a_worker(all).await
                });
                (sender, task)
            })
            .unzip();
        let waker = spawn(async move {
            for sender in &senders {
                sender.unbounded_send(()).unwrap();
            }
        });
        waker.await.unwrap();
        let mut threads = HashSet::new();
        for task in tasks {
            threads.insert(task.await.unwrap());
        }
        assert_eq!(threads.len(), WORKERS);
    });
}

/// The task in the middle of a poll may be the one that others wait for; what it has spawned
/// before must not wait for it.
#[test]
fn a_worker_in_a_long_poll_does_not_keep_what_it_has_queued() {
    let _limit = limit();
    let runtime = runtime(2);
    let task = runtime.spawn(async {
        let (sender, receiver) = mpsc::channel();
        // The first may stay with this worker, which is about to run it. The others may not.
        for number in 0..10 {
            let sender = sender.clone();
            spawn(async move { sender.send(number).unwrap() });
        }
        let received: HashSet<_> = (0..9)
            .map(|_| receiver.recv_timeout(LIMIT).unwrap())
            .collect();
        assert_eq!(received.len(), 9);
    });
    runtime.block_on(task).unwrap();
}

#[test]
fn more_tasks_than_there_is_room_for_are_all_run() {
    each_runtime(|runtime| {
        let sum = runtime.block_on(async {
            spawn(async {
                let tasks: Vec<_> = (0..10_000_u64).map(|n| spawn(async move { n })).collect();
                let mut sum = 0;
                for task in tasks {
                    sum += task.await.unwrap();
                }
                sum
            })
            .await
            .unwrap()
        });
        assert_eq!(sum, 10_000 * 9_999 / 2);
    });
}

/// Two tasks that wake each other go on for as long as the third has not run.
#[test]
fn tasks_that_wake_each_other_do_not_keep_others_waiting() {
    each_runtime(|runtime| {
        let turns = Arc::new(AtomicUsize::new(0));
        let has_run = Arc::new(AtomicBool::new(false));
        let player = |mut receiver: channel::UnboundedReceiver<()>,
                      other: channel::UnboundedSender<()>| {
            let (turns, has_run) = (turns.clone(), has_run.clone());
            async move {
                while receiver.next().await.is_some() && !has_run.load(Ordering::SeqCst) {
                    turns.fetch_add(1, Ordering::SeqCst);
                    let _ = other.unbounded_send(());
                }
            }
        };
        let ((to_one, one), (to_two, two)) = (channel::unbounded(), channel::unbounded());
        to_one.unbounded_send(()).unwrap();
        runtime.block_on(async {
            let players = [spawn(player(one, to_two)), spawn(player(two, to_one))];
            let (ran, seen) = (has_run.clone(), turns.clone());
            let third = spawn(async move {
                for _ in 0..100 {
                    yield_now().await;
                }
                ran.store(true, Ordering::SeqCst);
                seen.load(Ordering::SeqCst)
            });
            third.await.unwrap();
            for player in players {
                player.await.unwrap();
            }
        });
    });
}

/// Each wakes the next before it ends, so there is always one to be run next.
#[test]
fn a_chain_of_tasks_does_not_keep_others_waiting() {
    fn link(stop: Arc<AtomicBool>) {
        spawn(async move {
            if !stop.load(Ordering::SeqCst) {
                link(stop);
            }
        });
    }
    each_runtime(|runtime| {
        let stop = Arc::new(AtomicBool::new(false));
        runtime.block_on(async {
            let chains = runtime.handle().clone();
            let (more, stopper) = (stop.clone(), stop.clone());
            spawn(async move {
                // One for each worker, and one more.
                for _ in 0..5 {
                    link(more.clone());
                }
                assert!(Handle::current().is_same(&chains));
                spawn(async move { stopper.store(true, Ordering::SeqCst) })
                    .await
                    .unwrap();
            })
            .await
            .unwrap();
        });
        assert!(stop.load(Ordering::SeqCst));
    });
}

#[test]
fn a_wake_from_elsewhere_does_not_wait_for_a_worker_to_run_out_of_tasks() {
    each_runtime(|runtime| {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = futures::channel::oneshot::channel::<()>();
        let stopper = stop.clone();
        let task = runtime.spawn(async move {
            receiver.await.unwrap();
            stopper.store(true, Ordering::SeqCst);
        });
        runtime.block_on(async {
            let busy: Vec<_> = (0..20)
                .map(|_| {
                    let stop = stop.clone();
                    spawn(async move {
                        while !stop.load(Ordering::SeqCst) {
                            yield_now().await;
                        }
                    })
                })
                .collect();
            yield_now().await;
            let foreign = thread::spawn(move || sender.send(()).unwrap());
            for task in busy {
                task.await.unwrap();
            }
            foreign.join().unwrap();
        });
        task.now_or_never().unwrap().unwrap();
    });
}

/// However many tasks of its own a worker has, what another thread wakes is the next to run.
#[test]
fn what_another_thread_wakes_is_the_next_to_run() {
    let _limit = limit();
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |what: &'static str| {
        let order = order.clone();
        move || order.lock().unwrap().push(what)
    };
    let waker = Arc::new(Mutex::new(None::<Waker>));
    let (woken, left) = (note("woken"), waker.clone());
    runtime(1).block_on(async {
        let woken = spawn(poll_fn(move |context| {
            woken();
            *left.lock().unwrap() = Some(context.waker().clone());
            Poll::<()>::Pending
        }));
        yield_now().await;
        let busy = [(); 3].map(|()| {
            let (plain, wakes, waker) = (note("plain"), note("wakes"), waker.clone());
            spawn(async move {
                for turn in 0..20 {
                    if turn % 4 == 3 {
                        wakes();
                        let waker = waker.lock().unwrap().clone().unwrap();
                        thread::spawn(move || waker.wake()).join().unwrap();
                    } else {
                        plain();
                    }
                    yield_now().await;
                }
            })
        });
        for task in busy {
            task.await.unwrap();
        }
        woken.abort();
    });
    let order = order.lock().unwrap();
    let after_wakes: Vec<_> = order
        .windows(2)
        .filter(|pair| pair[0] == "wakes")
        .map(|pair| pair[1])
        .collect();
    assert_eq!(after_wakes, ["woken"; 15], "{order:?}");
}

/// The root future always wakes itself, and tasks are always ready: both go on.
#[test]
fn root_future_and_tasks_have_their_turns() {
    each_runtime(|runtime| {
        let (polls, turns) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let stop = Arc::new(AtomicBool::new(false));
        let (counted, stopped) = (turns.clone(), stop.clone());
        let busy = runtime.spawn(async move {
            while !stopped.load(Ordering::SeqCst) {
                counted.fetch_add(1, Ordering::SeqCst);
                yield_now().await;
            }
        });
        runtime.block_on(poll_fn(|context| {
            let polls = polls.fetch_add(1, Ordering::SeqCst);
            if polls >= 100 && turns.load(Ordering::SeqCst) >= 100 {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }));
        stop.store(true, Ordering::SeqCst);
        runtime.block_on(busy).unwrap();
    });
}

/// Tasks on all workers pass tokens on, so that workers fall asleep and are woken all the time.
#[test]
fn no_wake_is_lost_between_workers() {
    const TASKS: usize = 6;
    const ROUNDS: usize = 3_000;
    for workers in [2, 3] {
        let _limit = limit();
        let runtime = runtime(workers);
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..TASKS).map(|_| channel::unbounded::<usize>()).unzip();
        for token in 0..2 {
            senders[token * TASKS / 2].unbounded_send(0).unwrap();
        }
        let done = Arc::new(Mutex::new(0));
        let tasks: Vec<_> = receivers
            .into_iter()
            .enumerate()
            .map(|(index, mut receiver)| {
                let (next, done) = (senders[(index + 1) % TASKS].clone(), done.clone());
                runtime.spawn(async move {
                    while let Some(rounds) = receiver.next().await {
                        if rounds == ROUNDS {
                            *done.lock().unwrap() += 1;
                            next.close_channel();
                            continue;
                        }
                        // Now and then a helper takes a detour over another worker.
                        if rounds % 7 == 0 {
                            spawn(async {}).await.unwrap();
                        }
                        let _ = next.unbounded_send(rounds + 1);
                    }
                    next.close_channel();
                })
            })
            .collect();
        drop(senders);
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert!(*done.lock().unwrap() >= 1);
    }
}

/// Futures that are ready, waiting, or behind a task that keeps its worker, are all dropped.
#[test]
fn shutdown_with_full_queues_drops_every_future() {
    for workers in [1, 2, 4] {
        let _limit = limit();
        let runtime = runtime(workers);
        let (wakers, waiting) = mpsc::channel();
        let dropped: Vec<_> = runtime.block_on(async {
            spawn(async move {
                let mut dropped = Vec::new();
                for _ in 0..2_000 {
                    let (tell, learn) = tells_drop();
                    spawn(waits(wakers.clone(), tell));
                    dropped.push(learn);
                }
                dropped
            })
            .await
            .unwrap()
        });
        // Those that have been polled by now are made ready again.
        waiting.try_iter().for_each(Waker::wake);
        drop(runtime);
        for dropped in dropped {
            dropped.wait();
        }
    }
}

#[test]
fn spawns_of_foreign_threads_are_run() {
    const THREADS: usize = 4;
    const SPAWNS: usize = 2_000;
    each_runtime(|runtime| {
        let count = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let (handle, count) = (runtime.handle().clone(), count.clone());
                thread::spawn(move || {
                    let tasks = (0..SPAWNS).map(|_| {
                        let count = count.clone();
                        handle.spawn(async move { count.fetch_add(1, Ordering::SeqCst) })
                    });
                    tasks.collect::<Vec<_>>()
                })
            })
            .collect();
        runtime.block_on(async {
            for thread in threads {
                for task in thread.join().unwrap() {
                    task.await.unwrap();
                }
            }
        });
        assert_eq!(count.load(Ordering::SeqCst), THREADS * SPAWNS);
    });
}
