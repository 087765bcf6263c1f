//! Aborting: from anywhere, in any state; the future ends where it lives.

mod support;

use futures::channel::oneshot;
use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use support::{LIMIT, TellsDrop, each_runtime, limit, runtime, tells_drop, wait_until};
use windlass_executor::{AbortHandle, Runtime, block_on, spawn, spawn_local, yield_now};
use windlass_reactor::time::sleep;

/// Says that it has been polled, then waits for ever.
async fn waits_for_ever(polled: oneshot::Sender<()>, _tell: TellsDrop) {
    polled.send(()).unwrap();
    pending::<()>().await;
}

#[test]
fn a_plain_thread_aborts() {
    each_runtime(|runtime| {
        let (tell, dropped) = tells_drop();
        let (polled, waits) = oneshot::channel();
        let task = runtime.spawn(waits_for_ever(polled, tell));
        let abort = task.abort_handle();
        runtime.block_on(async {
            waits.await.unwrap();
            thread::spawn(move || abort.abort());
            assert!(task.await.unwrap_err().is_cancelled());
        });
        assert!(dropped.has_happened());
    });
}

#[test]
fn another_runtime_aborts() {
    each_runtime(|runtime| {
        let other = support::runtime(2);
        let (tell, dropped) = tells_drop();
        let (polled, waits) = oneshot::channel();
        let task = runtime.spawn(waits_for_ever(polled, tell));
        runtime.block_on(async {
            waits.await.unwrap();
            let abort = task.abort_handle();
            other.spawn(async move { abort.abort() });
            assert!(task.await.unwrap_err().is_cancelled());
        });
        assert!(dropped.has_happened());
    });
}

#[test]
fn an_abort_without_a_handle_drops_the_future() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let (tell, dropped) = tells_drop();
            let (polled, waits) = oneshot::channel();
            let task = spawn(waits_for_ever(polled, tell));
            waits.await.unwrap();
            task.abort();
            drop(task);
            while !dropped.has_happened() {
                yield_now().await;
            }
        });
    });
}

#[test]
fn a_task_that_was_never_polled_is_dropped_unpolled() {
    let _limit = limit();
    let runtime = runtime(1);
    let (tell, dropped) = tells_drop();
    let task = runtime.spawn(async move {
        let _tell = tell;
        panic!("it was aborted");
    });
    task.abort();
    let error = runtime
        .block_on::<_>(task)
        .map(|never: ()| never)
        .unwrap_err();
    assert!(error.is_cancelled());
    assert!(dropped.has_happened());
}

#[test]
fn a_task_aborts_itself() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let (send, receive) = oneshot::channel::<AbortHandle>();
            let (tell, dropped) = tells_drop();
            let task = spawn(async move {
                let _tell = tell;
                receive.await.unwrap().abort();
                yield_now().await;
                unreachable!("an aborted task is not polled");
            });
            send.send(task.abort_handle()).unwrap();
            let error = task.await.map(|never: ()| never).unwrap_err();
            assert!(error.is_cancelled());
            assert!(dropped.has_happened());
        });
    });
}

#[test]
fn a_poll_that_completes_beats_the_abort_that_it_makes() {
    let _limit = limit();
    block_on(async {
        let (send, receive) = oneshot::channel::<AbortHandle>();
        let task = spawn(async move {
            receive.await.unwrap().abort();
            6
        });
        send.send(task.abort_handle()).unwrap();
        assert_eq!(task.await.unwrap(), 6);
    });
}

#[test]
fn abort_is_idle_on_what_is_complete_and_on_what_is_aborted() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let mut task = spawn(async { 1 });
            let abort = task.abort_handle();
            let output = (&mut task).await.unwrap();
            abort.abort();
            task.abort();
            assert_eq!(output, 1);
            let task = spawn(pending::<()>());
            let abort = task.abort_handle();
            for _ in 0..3 {
                task.abort();
                abort.abort();
            }
            assert!(task.await.unwrap_err().is_cancelled());
            assert!(abort.is_finished());
        });
    });
}

#[test]
fn a_sleeping_task_is_aborted_at_once() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let task = spawn(sleep(Duration::MAX));
            yield_now().await;
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        });
    });
}

#[test]
fn the_future_of_a_pinned_task_is_dropped_at_home() {
    each_runtime(|runtime| {
        let home = thread::current().id();
        runtime.block_on(async {
            let (tell, dropped) = tells_drop();
            let (polled, waits) = oneshot::channel();
            let not_send = Rc::new(Cell::new(0));
            let task = spawn_local(async move {
                not_send.set(1);
                waits_for_ever(polled, tell).await;
            });
            waits.await.unwrap();
            let abort = task.abort_handle();
            thread::spawn(move || abort.abort()).join().unwrap();
            assert!(task.await.unwrap_err().is_cancelled());
            assert_eq!(dropped.wait(), home);
        });
    });
}

#[test]
fn a_pinned_task_aborted_between_two_calls_is_dropped_at_home_in_the_next() {
    let _limit = limit();
    let runtime = runtime(2);
    let home = thread::current().id();
    let (tell, dropped) = tells_drop();
    let mut task = None;
    runtime.block_on(async {
        let (polled, waits) = oneshot::channel();
        task = Some(spawn_local(waits_for_ever(polled, tell)));
        waits.await.unwrap();
    });
    let task = task.unwrap();
    let abort = task.abort_handle();
    thread::spawn(move || abort.abort()).join().unwrap();
    assert!(!task.is_finished(), "its thread has not been inside since");
    assert!(runtime.block_on(task).unwrap_err().is_cancelled());
    assert_eq!(dropped.wait(), home);
}

#[test]
fn the_future_is_dropped_on_a_thread_of_its_runtime() {
    struct TellsName(mpsc::Sender<Option<String>>);
    impl Drop for TellsName {
        fn drop(&mut self) {
            let name = thread::current().name().map(str::to_owned);
            self.0.send(name).unwrap();
        }
    }
    let _limit = limit();
    let runtime = Runtime::builder()
        .workers(3)
        .thread_name("home")
        .build()
        .unwrap();
    let (sender, names) = mpsc::channel();
    for _ in 0..100 {
        let tells = TellsName(sender.clone());
        let task = runtime.spawn(async move {
            let _tells = tells;
            pending::<()>().await;
        });
        task.abort();
        drop(task);
        let name = names.recv_timeout(LIMIT).unwrap().unwrap();
        assert!(name == "home-1" || name == "home-2", "{name}");
    }
}

#[test]
fn an_abort_in_the_middle_of_anything_ends_the_task_once() {
    const TASKS: usize = 3_000;
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let _limit = limit();
    let runtime = runtime(3);
    let dropped = Arc::new(AtomicUsize::new(0));
    let (sender, aborts) = mpsc::channel::<AbortHandle>();
    let aborter = thread::spawn(move || aborts.iter().for_each(|handle| handle.abort()));
    let tasks: Vec<_> = (0..TASKS)
        .map(|number| {
            let counts = Counts(dropped.clone());
            let task = runtime.spawn(async move {
                let _counts = counts;
                for _ in 0..number % 5 {
                    yield_now().await;
                }
                number
            });
            sender.send(task.abort_handle()).unwrap();
            task
        })
        .collect();
    drop(sender);
    for (number, task) in tasks.into_iter().enumerate() {
        match task.wait() {
            Ok(output) => assert_eq!(output, number),
            Err(error) => assert!(error.is_cancelled()),
        }
    }
    aborter.join().unwrap();
    wait_until(|| dropped.load(Ordering::SeqCst) == TASKS);
}
