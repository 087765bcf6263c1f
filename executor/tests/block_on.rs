//! `block_on`, free and of a runtime: what runs while a thread is inside.

use std::cell::Cell;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;
use windlass_executor::{Handle, Runtime, block_on, spawn, spawn_local, try_spawn, yield_now};
use windlass_reactor::time::{sleep, timeout};

/// Longer than anything here takes, on a machine that is busy with other things.
const LIMIT: Duration = Duration::from_secs(30);

/// A future that another thread completes after the first poll.
fn completed_elsewhere() -> impl Future<Output = u32> {
    let (sender, receiver) = mpsc::channel();
    let mut started = false;
    poll_fn(move |context| {
        if let Ok(value) = receiver.try_recv() {
            return Poll::Ready(value);
        }
        if !std::mem::replace(&mut started, true) {
            let (sender, waker) = (sender.clone(), context.waker().clone());
            thread::spawn(move || {
                sender.send(7).unwrap();
                waker.wake();
            });
        }
        Poll::Pending
    })
}

#[test]
fn a_ready_future_is_ready() {
    assert_eq!(block_on(async { 5 }), 5);
}

#[test]
fn a_wake_from_another_thread_ends_the_sleep() {
    for _ in 0..200 {
        assert_eq!(block_on(completed_elsewhere()), 7);
    }
}

#[test]
fn tasks_run_while_the_thread_is_inside() {
    let sum = block_on(async {
        let handles: Vec<_> = (0..1000).map(|n| spawn(async move { n })).collect();
        let mut sum = 0;
        for handle in handles {
            sum += handle.await.unwrap();
        }
        sum
    });
    assert_eq!(sum, 499_500);
}

#[test]
fn a_task_that_is_left_goes_on_with_the_next_call() {
    let count = Arc::new(AtomicUsize::new(0));
    let counting = count.clone();
    let mut handle = None;
    block_on(async {
        handle = Some(spawn(async move {
            for _ in 0..3 {
                counting.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(1)).await;
            }
        }));
    });
    assert!(
        count.load(Ordering::Relaxed) <= 1,
        "nothing runs outside of block_on"
    );
    block_on(handle.unwrap()).unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 3);
}

#[test]
fn tasks_that_are_not_send_run_on_the_thread() {
    let value = Rc::new(Cell::new(0));
    let seen = value.clone();
    block_on(async move {
        let inner = seen.clone();
        spawn_local(async move {
            yield_now().await;
            inner.set(3);
        })
        .await
        .unwrap();
    });
    assert_eq!(value.get(), 3);
}

#[test]
fn a_panic_of_the_future_passes_and_tasks_survive_it() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let handle = runtime.spawn(async {
        yield_now().await;
        1
    });
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            yield_now().await;
            panic!("on purpose");
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(runtime.block_on(handle).unwrap(), 1);
}

#[test]
fn nested_calls_work_with_timers_and_tasks() {
    let result = block_on(async {
        let outer = spawn(async {
            sleep(Duration::from_millis(5)).await;
            1
        });
        let inner = block_on(async {
            sleep(Duration::from_millis(1)).await;
            let task = spawn(async { 2 });
            task.await.unwrap()
        });
        inner + outer.await.unwrap()
    });
    assert_eq!(result, 3);
}

#[test]
fn a_nested_call_reaches_timers_that_wait_on_the_outer_reactor() {
    block_on(async {
        let mut outer = Box::pin(sleep(Duration::from_millis(20)));
        // It is registered with the reactor that the nested call keeps from being turned.
        assert!(timeout(Duration::ZERO, &mut outer).await.is_err());
        block_on(outer);
    });
}

#[test]
fn a_second_thread_is_a_guest_of_the_runtime() {
    let runtime = Arc::new(Runtime::builder().workers(1).build().unwrap());
    let (entered, inside) = mpsc::channel();
    let first = {
        let runtime = runtime.clone();
        let stop = completed_by_channel();
        let sender = stop.0;
        let thread = thread::spawn(move || {
            runtime.block_on(async move {
                entered.send(()).unwrap();
                stop.1.await;
            });
        });
        (thread, sender)
    };
    inside.recv_timeout(LIMIT).unwrap();
    let sum = runtime.block_on(async {
        let task = spawn(async { 20 });
        sleep(Duration::from_millis(1)).await;
        task.await.unwrap() + 1
    });
    assert_eq!(sum, 21);
    first.1();
    first.0.join().unwrap();
}

/// A future and what completes it.
fn completed_by_channel() -> (impl FnOnce(), impl Future<Output = ()> + Send) {
    let (sender, receiver) = futures_util_channel();
    (sender, receiver)
}

fn futures_util_channel() -> (impl FnOnce(), impl Future<Output = ()> + Send) {
    use std::sync::Mutex;
    use std::task::Waker;
    #[derive(Default)]
    struct State {
        done: bool,
        waker: Option<Waker>,
    }
    let state = Arc::new(Mutex::new(State::default()));
    let sender = state.clone();
    let complete = move || {
        let mut state = sender.lock().unwrap();
        state.done = true;
        if let Some(waker) = state.waker.take() {
            drop(state);
            waker.wake();
        }
    };
    let future = poll_fn(move |context| {
        let mut state = state.lock().unwrap();
        if state.done {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    });
    (complete, future)
}

#[test]
fn elsewhere_spawning_says_what_to_do_instead() {
    assert!(try_spawn(async {}).is_err());
    assert!(Handle::try_current().is_none());
    let panic = catch_unwind(|| drop(spawn(async {}))).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("Handle"), "{text}");
}

#[test]
fn the_root_future_is_not_starved_by_tasks_nor_they_by_it() {
    block_on(async {
        let polls = Arc::new(AtomicUsize::new(0));
        let counting = polls.clone();
        let busy = spawn(async move {
            loop {
                counting.fetch_add(1, Ordering::Relaxed);
                yield_now().await;
            }
        });
        for _ in 0..100 {
            yield_now().await;
        }
        assert!(polls.load(Ordering::Relaxed) > 50);
        busy.abort();
        assert!(busy.await.unwrap_err().is_cancelled());
    });
}

#[test]
fn timers_fire_beside_a_root_future_that_never_waits() {
    block_on(async {
        let fired = Arc::new(AtomicUsize::new(0));
        let counting = fired.clone();
        let task = spawn(async move {
            sleep(Duration::from_millis(1)).await;
            counting.fetch_add(1, Ordering::Relaxed);
        });
        while fired.load(Ordering::Relaxed) == 0 {
            yield_now().await;
        }
        task.await.unwrap();
    });
}

#[test]
fn dropping_a_runtime_drops_what_never_ends() {
    struct Tell(mpsc::Sender<()>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }
    for workers in [1, 2, 4] {
        let (sender, dropped) = mpsc::channel();
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        let tell = Tell(sender.clone());
        let handle = runtime.spawn(async move {
            let _tell = tell;
            pending::<()>().await;
        });
        let tell = Tell(sender);
        runtime.block_on(async move {
            let _local = spawn_local(async move {
                let _tell = tell;
                pending::<()>().await;
            });
            yield_now().await;
        });
        drop(runtime);
        dropped.recv_timeout(LIMIT).unwrap();
        dropped.recv_timeout(LIMIT).unwrap();
        assert!(block_on(handle).unwrap_err().is_cancelled());
    }
}
