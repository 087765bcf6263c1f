//! A task that blocks its thread holds up nothing that could run elsewhere, and is told of.

mod support;

use std::future::{pending, poll_fn};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::panic::panic_any;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};
use support::{LIMIT, limit, runtime};
use windlass_executor::{
    Builder, Culprit, Handle, JoinHandle, Runtime, Stall, spawn, spawn_local, yield_now,
};
use windlass_reactor::{Async, Backend, time};

/// In what time help must have come, also on a machine that is busy with other things.
const HELPED: Duration = Duration::from_secs(5);

/// Two workers, of which neither is the thread of the test.
struct Two {
    handle: Handle,
    end: Option<Sender<()>>,
    seat: Option<thread::JoinHandle<()>>,
}

impl Two {
    fn new(builder: Builder) -> Self {
        let runtime = builder.workers(2).build().unwrap();
        let handle = runtime.handle().clone();
        let (end, ended) = mpsc::channel::<()>();
        let seat = thread::spawn(move || {
            let job = runtime.handle().spawn_blocking(move || ended.recv());
            let _ = runtime.block_on(job).unwrap();
        });
        Self {
            handle,
            end: Some(end),
            seat: Some(seat),
        }
    }
}

impl Drop for Two {
    fn drop(&mut self) {
        self.end.take();
        if let Some(seat) = self.seat.take() {
            let ended = seat.join();
            assert!(ended.is_ok() || thread::panicking());
        }
    }
}

/// Ends the block of a thread when it is dropped.
fn block() -> (Sender<()>, impl FnOnce() + Send + 'static) {
    let (release, released) = mpsc::channel::<()>();
    (release, move || {
        assert!(released.recv_timeout(LIMIT).is_err());
    })
}

/// A builder whose hook sends the stalls.
fn telling() -> (Builder, Receiver<Stall>) {
    let (tell, told) = mpsc::channel();
    let builder = Runtime::builder().on_stall(move |stall| {
        let _ = tell.send(stall.clone());
    });
    (builder, told)
}

fn each_backend(test: impl Fn(Backend)) {
    for backend in Backend::available() {
        println!("{backend}");
        let _limit = limit();
        test(backend);
    }
}

/// The line of the call.
#[track_caller]
fn line() -> u32 {
    std::panic::Location::caller().line()
}

#[test]
fn what_waits_behind_a_blocked_task_runs_elsewhere() {
    let _limit = limit();
    let two = Two::new(Runtime::builder());
    for count in [1, 2, 10, 1000] {
        let (release, until_released) = block();
        let (done, is_done) = mpsc::channel();
        let blocked = two.handle.spawn(async move {
            for _ in 0..count {
                let done = done.clone();
                spawn(async move { done.send(()).unwrap() });
            }
            until_released();
        });
        for _ in 0..count {
            is_done.recv_timeout(HELPED).expect("others could run it");
        }
        assert!(!blocked.is_finished());
        drop(release);
        blocked.wait().unwrap();
    }
}

#[test]
fn sockets_and_timers_of_a_blocked_worker_are_served() {
    each_backend(|backend| {
        let two = Two::new(Runtime::builder().backend(backend));
        let (release, until_released) = block();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let ours = Arc::new(Async::new(ours).unwrap());
        let mut sleep = Box::pin(time::sleep(Duration::from_millis(200)));
        let (hand_over, handed_over) = mpsc::channel();
        let registered = ours.clone();
        let blocked = two.handle.spawn(async move {
            // Both wait with the reactor of this thread from here on.
            let mut context = Context::from_waker(Waker::noop());
            assert!(
                registered
                    .try_io(windlass_reactor::Direction::Read, read)
                    .is_err()
            );
            assert!(registered.poll_readable(&mut context).is_pending());
            assert!(sleep.as_mut().poll(&mut context).is_pending());
            hand_over.send(sleep).unwrap();
            until_released();
        });
        let sleep = handed_over.recv_timeout(LIMIT).unwrap();
        let sleeping = two.handle.spawn(sleep);
        let reading = two
            .handle
            .spawn(async move { ours.read_with(read).await.unwrap() });
        let begin = Instant::now();
        theirs.write_all(b"x").unwrap();
        assert_eq!(reading.wait().unwrap(), 1);
        sleeping.wait().unwrap();
        assert!(begin.elapsed() < HELPED, "{:?}", begin.elapsed());
        assert!(!blocked.is_finished());
        drop(release);
        blocked.wait().unwrap();
    });
}

fn read(mut stream: &UnixStream) -> std::io::Result<usize> {
    stream.read(&mut [0; 16])
}

/// A worker that was chosen to search for work blocks before it has looked: nobody else is chosen
/// meanwhile.
#[test]
fn a_blocked_searcher_strands_nothing() {
    let _limit = limit();
    for _ in 0..20 {
        let runtime = runtime(2);
        let (release, until_released) = block();
        let (give, root) = mpsc::channel();
        let handle = runtime.handle().clone();
        let seat = thread::spawn(move || {
            let mut until_released = Some(until_released);
            let mut polls = 0;
            runtime.block_on(poll_fn(move |context| {
                polls += 1;
                if polls == 1 {
                    give.send(context.waker().clone()).unwrap();
                    return Poll::Pending;
                }
                until_released.take().expect("it is polled twice")();
                Poll::Ready(())
            }));
        });
        let root: Waker = root.recv_timeout(LIMIT).unwrap();
        let (done, is_done) = mpsc::channel();
        handle.spawn(async move { done.send(()).unwrap() });
        root.wake();
        is_done
            .recv_timeout(HELPED)
            .expect("the other worker is free");
        drop(release);
        seat.join().unwrap();
    }
}

#[test]
fn the_task_is_named_and_once_more_when_it_is_over() {
    let _limit = limit();
    let (builder, told) = telling();
    let two = Two::new(builder);
    let (release, until_released) = block();
    let (blocked, spawned) = (two.handle.spawn(async move { until_released() }), line());
    let stall = told.recv_timeout(LIMIT).unwrap();
    let Culprit::Task(task) = &stall.culprit else {
        panic!("{stall:?}");
    };
    assert_eq!(task.id, blocked.id());
    assert_eq!(task.spawned_at.line(), spawned);
    assert!(stall.lasted >= Duration::from_millis(10));
    assert!(!stall.is_over && !stall.root_waits && stall.left_behind == 0);
    let text = stall.to_string();
    assert!(
        text.contains(&format!("stuck in task {}", task.id)),
        "{text}"
    );
    assert!(text.contains(&format!("stuck.rs:{spawned}")), "{text}");
    drop(release);
    let over = told.recv_timeout(LIMIT).unwrap();
    assert!(over.is_over && over.lasted >= stall.lasted);
    assert_eq!((over.worker, over.culprit), (stall.worker, stall.culprit));
    assert!(two.handle.stalls() >= 1);
    blocked.wait().unwrap();
}

#[test]
fn what_can_not_leave_the_thread_is_named() {
    let _limit = limit();
    let (builder, told) = telling();
    let two = Two::new(builder);
    let (release, until_released) = block();
    let blocked = two.handle.spawn(async move {
        // It has nothing to do, so that it does not wait for the thread.
        spawn_local(pending::<()>());
        yield_now().await;
        let tasks: Vec<_> = (0..20).map(|_| spawn_local(async {})).collect();
        until_released();
        tasks.iter().map(JoinHandle::id).collect::<Vec<_>>()
    });
    let stall = told.recv_timeout(LIMIT).unwrap();
    assert_eq!(stall.left_behind, 20);
    assert_eq!(stall.named.len(), Stall::MOST_NAMED);
    let text = stall.to_string();
    assert!(text.contains("20 tasks of its thread wait"), "{text}");
    drop(release);
    let ids = blocked.wait().unwrap();
    assert!(stall.named.iter().all(|named| ids.contains(&named.id)));
}

#[test]
fn the_root_future_is_named_as_one_who_waits_or_blocks() {
    let _limit = limit();
    for workers in [1, 2] {
        let (builder, told) = telling();
        let runtime = builder.workers(workers).build().unwrap();
        let waits = runtime.block_on(async {
            // It blocks the thread of the root future, which is ready.
            let blocks =
                spawn_local(async move { told.recv_timeout(LIMIT).map(|stall| (stall, told)) });
            yield_now().await;
            blocks.await.unwrap().unwrap()
        });
        let (stall, told) = waits;
        assert!(matches!(stall.culprit, Culprit::Task(_)), "{stall}");
        assert!(told.recv_timeout(LIMIT).unwrap().is_over);
        let blocks = runtime.block_on(async { told.recv_timeout(LIMIT).unwrap() });
        assert_eq!((blocks.worker, &blocks.culprit), (0, &Culprit::Root));
        assert!(
            blocks
                .to_string()
                .contains("stuck in the future of block_on")
        );
    }
}

#[test]
fn a_hook_that_panics_is_called_again() {
    let _limit = limit();
    let (tell, told) = mpsc::channel();
    let two = Two::new(Runtime::builder().on_stall(move |stall| {
        tell.send(stall.is_over).unwrap();
        panic!("this panic is part of the test");
    }));
    for _ in 0..2 {
        let (release, until_released) = block();
        let blocked = two.handle.spawn(async move { until_released() });
        assert!(!told.recv_timeout(LIMIT).unwrap());
        drop(release);
        assert!(told.recv_timeout(LIMIT).unwrap());
        blocked.wait().unwrap();
    }
}

/// What a panic carries; it tells when it is dropped, and then panics.
struct Carried(Sender<()>);

impl Drop for Carried {
    fn drop(&mut self) {
        self.0.send(()).unwrap();
        // It is leaked, so it has no memory.
        panic_any(());
    }
}

#[test]
fn what_the_panic_of_a_hook_carries_is_dropped() {
    let _limit = limit();
    let (tell, dropped) = mpsc::channel();
    let two = Two::new(Runtime::builder().on_stall(move |_| panic_any(Carried(tell.clone()))));
    let (release, until_released) = block();
    let blocked = two.handle.spawn(async move { until_released() });
    dropped.recv_timeout(LIMIT).unwrap();
    drop(release);
    dropped.recv_timeout(LIMIT).unwrap();
    blocked.wait().unwrap();
}

#[test]
fn a_runtime_is_dropped_by_its_own_hook() {
    let _limit = limit();
    let (give, given) = mpsc::channel::<Runtime>();
    let (tell, dropped) = mpsc::channel();
    let given = Mutex::new(given);
    let builder = Runtime::builder().workers(2).on_stall(move |stall| {
        if !stall.is_over {
            drop(given.lock().unwrap().recv_timeout(LIMIT).unwrap());
            tell.send(()).unwrap();
        }
    });
    let runtime = builder.build().unwrap();
    let (release, until_released) = block();
    let blocked = runtime.spawn(async move { until_released() });
    let pending = runtime.spawn(pending::<()>());
    give.send(runtime).unwrap();
    dropped.recv_timeout(LIMIT).unwrap();
    drop(release);
    blocked.wait().unwrap();
    assert!(pending.wait().unwrap_err().is_cancelled());
}

/// How often the threads of the runtime with this name have gone to sleep.
#[cfg(target_os = "linux")]
fn sleeps_of(name: &str) -> Vec<(String, u64)> {
    let mut sleeps = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let folder = task.unwrap().path();
        let (Ok(thread), Ok(status)) = (
            std::fs::read_to_string(folder.join("comm")),
            std::fs::read_to_string(folder.join("status")),
        ) else {
            continue;
        };
        if thread.starts_with(name) {
            let line = status.lines().find(|line| line.starts_with("voluntary"));
            let count = line.unwrap().split_whitespace().nth(1).unwrap();
            sleeps.push((thread.trim().to_owned(), count.parse().unwrap()));
        }
    }
    sleeps.sort();
    sleeps
}

#[cfg(target_os = "linux")]
#[test]
fn an_idle_runtime_sleeps_without_waking_up() {
    let _limit = limit();
    let runtime = Runtime::builder()
        .workers(2)
        .thread_name("calm")
        .build()
        .unwrap();
    runtime.spawn(async { yield_now().await }).wait().unwrap();
    // The watch looks some more times before it sleeps; how long that takes is up to the machine.
    let mut before = sleeps_of("calm");
    loop {
        thread::sleep(Duration::from_millis(500));
        let now = sleeps_of("calm");
        if now == before {
            break;
        }
        before = now;
    }
    assert_eq!(before.len(), 2, "a worker and the watch: {before:?}");
    thread::sleep(Duration::from_millis(500));
    assert_eq!(sleeps_of("calm"), before);
    // It is awake again when it is needed.
    let (release, until_released) = block();
    let blocked = runtime.spawn(async move { until_released() });
    while runtime.handle().stalls() == 0 {
        thread::yield_now();
    }
    drop(release);
    blocked.wait().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn one_worker_without_a_hook_has_no_thread_at_all() {
    let runtime = Runtime::builder()
        .workers(1)
        .thread_name("lone")
        .build()
        .unwrap();
    runtime.block_on(async { spawn(async {}).await.unwrap() });
    assert!(sleeps_of("lone").is_empty());
    assert_eq!(runtime.handle().stalls(), 0);
}
