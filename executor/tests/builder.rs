//! What the builder of a runtime can choose.

mod support;

use std::future::pending;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use support::{PanicsWhenDropped, limit, panic_quietly, tells_drop, wait_until};
use windlass_executor::{
    Builder, Runtime, TaskBuilder, TaskPanic, spawn, spawn_blocking, spawn_local, spawn_on,
    yield_now,
};
use windlass_reactor::time::sleep;

/// Counts calls.
fn counter() -> (Arc<AtomicUsize>, impl Fn() + Send + Sync + 'static) {
    let count = Arc::new(AtomicUsize::new(0));
    let own = count.clone();
    let counts = move || {
        own.fetch_add(1, Ordering::SeqCst);
    };
    (count, counts)
}

#[test]
fn threads_are_named_by_a_name_or_a_function() {
    let _limit = limit();
    let names_of = |builder: Builder| {
        let runtime = builder.workers(3).build().unwrap();
        let name = || thread::current().name().map(str::to_owned).unwrap();
        let worker = |number| runtime.handle().spawn_on(number, async move { name() });
        let job = runtime.handle().spawn_blocking(name);
        [worker(1), worker(2), job].map(|task| task.wait().unwrap())
    };
    let plain = names_of(Runtime::builder().thread_name("cook"));
    assert_eq!(plain, ["cook-1", "cook-2", "cook-blocking-0"]);
    let made = names_of(Runtime::builder().thread_name_fn(|number| format!("number {number}")));
    assert_eq!(made, ["number 1", "number 2", "windlass-blocking-0"]);
    let bad = Runtime::builder()
        .workers(2)
        .thread_name_fn(|_| "a\0b".to_owned());
    assert_eq!(bad.build().unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn threads_have_the_stack_that_was_asked_for() {
    /// Uses so much of the stack.
    fn uses(bytes: usize) -> u8 {
        let here = std::hint::black_box([1_u8; 4096]);
        if bytes < here.len() {
            return here[0];
        }
        std::hint::black_box(uses(bytes - here.len()).max(here[1]))
    }
    let _limit = limit();
    let runtime = Runtime::builder()
        .workers(2)
        .thread_stack_size(32 << 20)
        .build()
        .unwrap();
    // More than a thread has by default; each frame takes a few times what is counted.
    let deep = || uses(4 << 20);
    assert_eq!(
        runtime
            .handle()
            .spawn_on(1, async move { deep() })
            .wait()
            .unwrap(),
        1
    );
    assert_eq!(runtime.handle().spawn_blocking(deep).wait().unwrap(), 1);
}

#[test]
fn every_thread_says_when_it_begins_and_ends() {
    let _limit = limit();
    let (started, start) = counter();
    let (stopped, stop) = counter();
    let runtime = Runtime::builder()
        .workers(3)
        .on_thread_start(start)
        .on_thread_stop(stop)
        .build()
        .unwrap();
    runtime.block_on(async {
        spawn_on(1, async {}).await.unwrap();
        spawn_on(2, async {}).await.unwrap();
        spawn_blocking(|| ()).await.unwrap();
    });
    assert_eq!(started.load(Ordering::SeqCst), 3);
    assert_eq!(stopped.load(Ordering::SeqCst), 0);
    drop(runtime);
    assert_eq!(stopped.load(Ordering::SeqCst), 3);
}

#[test]
fn a_worker_says_when_it_sleeps() {
    let _limit = limit();
    for workers in [1, 3] {
        let (parked, park) = counter();
        let (unparked, unpark) = counter();
        let runtime = Runtime::builder()
            .workers(workers)
            .on_thread_park(park)
            .on_thread_unpark(unpark)
            .build()
            .unwrap();
        runtime.block_on(sleep(Duration::from_millis(2)));
        assert!(unparked.load(Ordering::SeqCst) >= 1);
        wait_until(|| parked.load(Ordering::SeqCst) >= workers);
        drop(runtime);
        assert_eq!(
            parked.load(Ordering::SeqCst),
            unparked.load(Ordering::SeqCst)
        );
    }
}

#[test]
fn a_hook_that_panics_stops_nothing() {
    let _limit = limit();
    let runtime = Runtime::builder()
        .workers(2)
        .on_thread_start(|| panic_quietly())
        .on_thread_stop(|| panic_quietly())
        .on_thread_park(|| panic_quietly())
        .on_thread_unpark(|| panic_quietly())
        .build()
        .unwrap();
    runtime.block_on(async {
        sleep(Duration::from_millis(1)).await;
        assert_eq!(spawn_on(1, async { 5 }).await.unwrap(), 5);
        assert_eq!(spawn_blocking(|| 6).await.unwrap(), 6);
    });
}

/// The ways in which a task can panic.
fn ways_to_panic() -> Vec<(&'static str, fn())> {
    vec![
        ("detached", || {
            drop(
                TaskBuilder::new()
                    .name("bad")
                    .spawn(async { panic_quietly() }),
            );
        }),
        ("joined", || {
            let task = TaskBuilder::new()
                .name("bad")
                .spawn(async { panic_quietly() });
            drop(spawn(async {
                {
                    let joined: Result<(), _> = task.await;
                    joined.is_err()
                }
            }));
        }),
        ("local", || {
            drop(
                TaskBuilder::new()
                    .name("bad")
                    .spawn_local(async { panic_quietly() }),
            );
        }),
        ("placed", || {
            drop(
                TaskBuilder::new()
                    .name("bad")
                    .spawn_on(0, async { panic_quietly() }),
            );
        }),
        ("job", || {
            drop(
                TaskBuilder::new()
                    .name("bad")
                    .spawn_blocking(|| panic_quietly()),
            );
        }),
        ("when its future is dropped", || {
            drop(TaskBuilder::new().name("bad").spawn(async {
                let _panics = PanicsWhenDropped;
            }));
        }),
    ]
}

#[test]
fn a_panic_of_any_task_ends_the_runtime_where_that_was_chosen() {
    for workers in [1, 3] {
        for (way, spawn_it) in ways_to_panic() {
            let _limit = limit();
            println!("{workers} workers, {way}");
            let runtime = Runtime::builder()
                .workers(workers)
                .on_task_panic(TaskPanic::ShutDown)
                .build()
                .unwrap();
            let (tell, dropped) = tells_drop();
            drop(runtime.spawn(async move {
                let _tell = tell;
                pending::<()>().await;
            }));
            let blocks = || {
                runtime.block_on(async {
                    spawn_it();
                    pending::<()>().await;
                });
            };
            let payload = catch_unwind(AssertUnwindSafe(blocks)).unwrap_err();
            let message = payload.downcast_ref::<String>().unwrap();
            assert!(
                message.contains("\"bad\"") && message.contains("builder.rs"),
                "{message}"
            );
            // Nobody else may come in, and nothing is left of the other tasks.
            assert!(catch_unwind(AssertUnwindSafe(|| runtime.block_on(async {}))).is_err());
            // One more may be run by a worker that has not come to its end yet.
            wait_until(|| {
                runtime
                    .spawn(async {})
                    .wait()
                    .is_err_and(|error| error.is_cancelled())
            });
            dropped.wait();
            drop(runtime);
        }
    }
}

/// What is ready when the runtime ends keeps its task, which keeps the runtime: so it must go.
#[test]
fn nothing_is_left_of_a_runtime_that_a_panic_has_ended() {
    for workers in [1, 3] {
        let _limit = limit();
        let (kept, counts) = counter();
        let runtime = Runtime::builder()
            .workers(workers)
            .on_task_panic(TaskPanic::ShutDown)
            .on_thread_stop(counts)
            .build()
            .unwrap();
        let blocks = || {
            runtime.block_on(async {
                for number in 0..1000 {
                    drop(spawn(async move {
                        assert_ne!(number, 5, "on purpose");
                        loop {
                            yield_now().await;
                        }
                    }));
                }
                drop(spawn_local(pending::<()>()));
                pending::<()>().await;
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(blocks)).is_err());
        drop(runtime);
        wait_until(|| Arc::strong_count(&kept) == 1);
    }
}

#[test]
fn a_guest_learns_of_a_panic_as_well() {
    let _limit = limit();
    let runtime = Runtime::builder()
        .workers(2)
        .on_task_panic(TaskPanic::ShutDown)
        .build()
        .unwrap();
    thread::scope(|scope| {
        let blocks = || catch_unwind(AssertUnwindSafe(|| runtime.block_on(pending::<()>())));
        let threads = [scope.spawn(blocks), scope.spawn(blocks)];
        drop(runtime.spawn(async { panic_quietly() }));
        for thread in threads {
            assert!(thread.join().unwrap().is_err());
        }
    });
}

#[test]
fn a_panic_means_nothing_to_others_unless_that_was_chosen() {
    let _limit = limit();
    let runtime = Runtime::builder().workers(2).build().unwrap();
    runtime.block_on(async {
        let task: Result<(), _> = spawn(async { panic_quietly() }).await;
        assert!(task.unwrap_err().is_panic());
        let task: Result<(), _> = spawn_local(async { panic_quietly() }).await;
        assert!(task.unwrap_err().is_panic());
        assert_eq!(spawn(async { 5 }).await.unwrap(), 5);
    });
}

/// The processors that this thread may use, as the kernel lists them.
#[cfg(target_os = "linux")]
fn allowed() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list:"));
    line.unwrap().split_whitespace().nth(1).unwrap().to_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn workers_stay_on_their_processors() {
    let _limit = limit();
    let first = allowed();
    let first: usize = first.split([',', '-']).next().unwrap().parse().unwrap();
    let runtime = Runtime::builder()
        .workers(3)
        .cpu_affinity(move |_| vec![first]);
    let runtime = runtime.build().unwrap();
    for worker in 1..3 {
        let of_worker = runtime.handle().spawn_on(worker, async { allowed() });
        assert_eq!(of_worker.wait().unwrap(), first.to_string());
    }
    let before = allowed();
    assert_eq!(runtime.block_on(async { allowed() }), before);
}

#[cfg(target_os = "linux")]
#[test]
fn processors_that_are_not_there_are_an_error_that_names_the_worker() {
    let _limit = limit();
    for (processors, kind) in [
        (vec![], ErrorKind::InvalidInput),
        (vec![1023], ErrorKind::InvalidInput),
        (vec![1 << 20], ErrorKind::InvalidInput),
    ] {
        let chosen = processors.clone();
        let error = Runtime::builder()
            .workers(2)
            .cpu_affinity(move |_| chosen.clone())
            .build()
            .unwrap_err();
        assert_eq!(error.kind(), kind, "{processors:?}: {error}");
        assert!(error.to_string().contains("worker 1"), "{error}");
    }
}
