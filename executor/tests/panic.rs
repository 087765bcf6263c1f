//! Panics stay with whoever joins, and leave the runtime whole.

mod support;

use futures::channel::oneshot;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::thread;
use support::{LIMIT, PanicsWhenDropped, each_runtime, limit, panic_quietly, runtime, wait_until};
use windlass_executor::{JoinHandle, block_on, spawn, spawn_local, yield_now};

#[test]
fn only_the_joiner_sees_a_panic() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            for _ in 0..200 {
                let failing: JoinHandle<()> = spawn(async {
                    yield_now().await;
                    panic_quietly();
                });
                let local: JoinHandle<()> = spawn_local(async { panic_quietly() });
                for task in [failing, local] {
                    let panic = task.await.unwrap_err().into_panic();
                    assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
                }
                drop(spawn(async { panic_quietly() }));
            }
            assert_eq!(spawn(async { 1 }).await.unwrap(), 1);
        });
    });
}

#[test]
fn destructors_that_panic_are_contained() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let bomb = PanicsWhenDropped;
            let task = spawn(async move {
                let _bomb = bomb;
                pending::<()>().await;
            });
            yield_now().await;
            task.abort();
            assert!(task.await.unwrap_err().is_panic());

            // An output that nobody takes.
            drop(spawn(async { PanicsWhenDropped }));
            let finished = spawn(async { PanicsWhenDropped });
            while !finished.is_finished() {
                yield_now().await;
            }
            drop(finished);
            assert_eq!(spawn(async { 2 }).await.unwrap(), 2);
        });
    });
}

#[test]
fn destructors_that_panic_at_shutdown_do_not_keep_the_others() {
    each_runtime(|runtime| {
        let (tell, dropped) = support::tells_drop();
        let (bombs, local_bomb) = ([PanicsWhenDropped, PanicsWhenDropped], PanicsWhenDropped);
        let tasks = bombs.map(|bomb| {
            runtime.spawn(async move {
                let _bomb = bomb;
                pending::<()>().await;
            })
        });
        runtime.block_on(async {
            spawn_local(async move {
                let _bomb = local_bomb;
                pending::<()>().await;
            });
            yield_now().await;
        });
        let last = runtime.spawn(async move {
            let _tell = tell;
            pending::<()>().await;
        });
        drop(runtime);
        dropped.wait();
        assert!(last.wait().unwrap_err().is_cancelled());
        for task in tasks {
            assert!(task.wait().unwrap_err().is_panic());
        }
    });
}

/// Panics when it is dropped, having been ready.
struct ReadyBomb {
    _bomb: PanicsWhenDropped,
}

impl Future for ReadyBomb {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// A panic of the root future, in a poll or when it is dropped, must leave the worker's place free:
/// else nobody runs tasks from then on.
#[test]
fn a_root_future_that_panics_leaves_its_place_to_the_next() {
    each_runtime(|runtime| {
        for _ in 0..3 {
            let task = runtime.spawn(async { 3 });
            let bomb = ReadyBomb {
                _bomb: PanicsWhenDropped,
            };
            let result = catch_unwind(AssertUnwindSafe(|| runtime.block_on(bomb)));
            assert!(result.is_err());
            assert_eq!(runtime.block_on(task).unwrap(), 3);

            let task = runtime.spawn(async { 4 });
            let result = catch_unwind(AssertUnwindSafe(|| {
                runtime.block_on(async {
                    yield_now().await;
                    panic_quietly();
                })
            }));
            assert!(result.is_err());
            assert_eq!(runtime.block_on(task).unwrap(), 4);
        }
    });
}

#[test]
fn a_poll_that_panics_and_a_destructor_after_it_are_one_panic() {
    let _limit = limit();
    let runtime = runtime(1);
    let bomb = PanicsWhenDropped;
    let both = poll_fn(move |_| -> Poll<()> {
        let _ = &bomb;
        panic_quietly()
    });
    let result = catch_unwind(AssertUnwindSafe(|| runtime.block_on(both)));
    assert!(result.is_err());
    assert_eq!(runtime.block_on(runtime.spawn(async { 5 })).unwrap(), 5);
}

#[test]
fn what_a_root_future_has_come_to_is_not_leaked_when_its_destructor_panics() {
    let _limit = limit();
    let runtime = runtime(1);
    let result = Arc::new(());

    let (bomb, output) = (PanicsWhenDropped, result.clone());
    let mut output = Some(output);
    let returns = poll_fn(move |_| {
        let _ = &bomb;
        Poll::Ready(output.take().unwrap())
    });
    let caught = catch_unwind(AssertUnwindSafe(|| runtime.block_on(returns)));
    assert!(caught.is_err());
    assert_eq!(Arc::strong_count(&result), 1, "the output is left");

    let (bomb, carried) = (PanicsWhenDropped, result.clone());
    let panics = poll_fn(move |_| -> Poll<()> {
        let _ = &bomb;
        resume_unwind(Box::new(carried.clone()))
    });
    let caught = catch_unwind(AssertUnwindSafe(|| runtime.block_on(panics)));
    let panic = caught.unwrap_err();
    assert!(panic.is::<Arc<()>>(), "it is not the first panic");
    drop(panic);
    assert_eq!(Arc::strong_count(&result), 1, "the panic is left");
}

/// Makes the worker that sits in `block_on` search, and the root future panic before it has found
/// anything.
fn panic_while_searching(runtime: &windlass_executor::Runtime) {
    let (inside, is_inside) = mpsc::channel();
    let handle = runtime.handle().clone();
    let (sender, receiver) = oneshot::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            is_inside.recv_timeout(LIMIT).unwrap();
            // The sleeper is chosen for the task, and woken for the root future besides.
            handle.spawn(async {});
            sender.send(()).unwrap();
        });
        let result = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async {
                inside.send(()).unwrap();
                receiver.await.unwrap();
                panic_quietly();
            })
        }));
        assert!(result.is_err());
    });
}

/// A worker that leaves by a panic in the middle of a search must not be waited for: else nobody is
/// woken any more.
#[test]
fn a_panic_in_the_middle_of_a_search_ends_the_search() {
    let _limit = limit();
    let runtime = runtime(2);
    for _ in 0..300 {
        panic_while_searching(&runtime);
        // The other worker may be asleep by now, or not yet.
        let task = runtime.spawn(async {});
        wait_until(|| task.is_finished());
    }
}

#[test]
fn a_destructor_may_spawn_while_its_task_unwinds() {
    struct Spawns(Option<oneshot::Sender<u32>>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let sender = self.0.take().unwrap();
            spawn(async move { sender.send(8).unwrap() });
        }
    }
    let _limit = limit();
    block_on(async {
        let (sender, receiver) = oneshot::channel();
        let task: JoinHandle<()> = spawn(async move {
            let _spawns = Spawns(Some(sender));
            panic_quietly();
        });
        assert!(task.await.unwrap_err().is_panic());
        assert_eq!(receiver.await.unwrap(), 8);
    });
}
