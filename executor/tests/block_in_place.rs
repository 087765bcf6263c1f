//! Blocking a worker in place: others go on with what was its work.

mod support;

use futures::channel::oneshot;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use support::{LIMIT, each_runtime, limit, panic_quietly, runtime};
use windlass_executor::{
    Handle, block_in_place, block_on, spawn, spawn_blocking, spawn_local, spawn_on, yield_now,
};
use windlass_reactor::time::sleep;

#[test]
fn tasks_that_are_ready_go_to_others() {
    let _limit = limit();
    let runtime = runtime(2);
    runtime.block_on(async {
        spawn_on(1, async {
            let (send, receive) = mpsc::channel();
            for _ in 0..3 {
                let send = send.clone();
                spawn(async move {
                    yield_now().await;
                    send.send(()).unwrap();
                });
            }
            // They may be in the queue of this worker by now, or at the other one.
            yield_now().await;
            block_in_place(|| {
                for _ in 0..3 {
                    receive.recv_timeout(LIMIT).unwrap();
                }
            });
        })
        .await
        .unwrap();
    });
}

#[test]
fn tasks_that_are_woken_or_spawned_meanwhile_go_to_others() {
    let _limit = limit();
    let runtime = runtime(2);
    runtime.block_on(async {
        let (wake, wait) = oneshot::channel();
        let (send, receive) = mpsc::channel();
        let waits = spawn({
            let send = send.clone();
            async move {
                wait.await.unwrap();
                send.send("woken").unwrap();
            }
        });
        yield_now().await;
        block_in_place(|| {
            wake.send(()).unwrap();
            assert_eq!(receive.recv_timeout(LIMIT).unwrap(), "woken");
            spawn(async move { send.send("spawned").unwrap() });
            assert_eq!(receive.recv_timeout(LIMIT).unwrap(), "spawned");
        });
        waits.await.unwrap();
    });
}

#[test]
fn what_waits_on_the_reactor_of_the_thread_goes_on() {
    let _limit = limit();
    let runtime = runtime(2);
    runtime.block_on(async {
        let (send, receive) = mpsc::channel();
        spawn_on(1, async move {
            // All of these wait on the reactor of worker 1 first.
            for milliseconds in 1..5 {
                let send = send.clone();
                spawn(async move {
                    for _ in 0..milliseconds {
                        sleep(Duration::from_millis(1)).await;
                    }
                    send.send(()).unwrap();
                });
            }
            for _ in 0..10 {
                yield_now().await;
            }
            block_in_place(|| {
                for _ in 1..5 {
                    receive.recv_timeout(LIMIT).unwrap();
                }
            });
        })
        .await
        .unwrap();
    });
}

#[test]
fn one_worker_goes_on_afterwards() {
    let _limit = limit();
    let runtime = runtime(1);
    runtime.block_on(async {
        let task = spawn(async { 5 });
        let spawned = block_in_place(|| spawn(async { 6 }));
        assert_eq!((task.await.unwrap(), spawned.await.unwrap()), (5, 6));
        let local = spawn_local(async { 7 });
        block_in_place(|| thread::spawn(|| ()).join().unwrap());
        assert_eq!(local.await.unwrap(), 7);
        sleep(Duration::from_millis(1)).await;
    });
}

#[test]
fn it_nests_in_itself_and_with_block_on() {
    each_runtime(|runtime| {
        let handle = runtime.handle().clone();
        let nests = move || {
            block_in_place(|| {
                let inner = block_on(async {
                    let task = spawn(async { 1 });
                    block_in_place(|| block_in_place(|| ()));
                    task.await.unwrap()
                });
                assert!(Handle::current().is_same(&handle));
                inner + 1
            })
        };
        runtime.block_on(async {
            assert_eq!(nests.clone()(), 2);
            assert_eq!(spawn(async move { nests() }).await.unwrap(), 2);
            spawn(async {}).await.unwrap();
        });
    });
}

#[test]
fn a_panic_gives_the_thread_its_work_back() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let panics = || block_in_place(|| panic_quietly());
            assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
            let task: Result<(), _> = spawn(async { block_in_place(|| panic_quietly()) }).await;
            assert!(task.unwrap_err().is_panic());
            assert_eq!(spawn_local(async { 5 }).await.unwrap(), 5);
            sleep(Duration::from_millis(1)).await;
        });
    });
}

#[test]
fn where_there_is_no_worker_it_only_runs() {
    let _limit = limit();
    assert_eq!(block_in_place(|| 5), 5);
    block_on(async {
        assert_eq!(spawn_blocking(|| block_in_place(|| 6)).await.unwrap(), 6);
    });
}
