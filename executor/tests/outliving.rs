//! What outlives a runtime, or the thread-locals of its threads.

mod support;

use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;
use support::{LIMIT, each_runtime, limit, runtime, tells_drop, waits};
use windlass_executor::{block_on, spawn, spawn_local, try_spawn, yield_now};
use windlass_reactor::time::sleep;

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
