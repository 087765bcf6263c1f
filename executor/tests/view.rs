//! What can be seen of a runtime: its metrics, and its tasks and what they wait for.

mod support;

use futures::channel::oneshot;
use futures::future::{Either, select};
use std::future::{Future, pending};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use windlass_executor::{
    Dump, Handle, JoinHandle, RootView, Runtime, TaskBuilder, TaskState, TaskView, WaitingFor,
    block_on, spawn, spawn_blocking, spawn_local, spawn_on, yield_now,
};
use windlass_reactor::time::sleep;
use windlass_reactor::{Async, Backend};

/// How long a test waits for what must come.
const LIMIT: Duration = Duration::from_secs(20);

fn view<T>(dump: &Dump, task: &JoinHandle<T>) -> TaskView {
    let found = dump.tasks.iter().find(|view| view.id == task.id());
    found.expect("the task is alive").clone()
}

/// Lets all tasks of this worker run that are ready.
async fn settle() {
    for _ in 0..3 {
        yield_now().await;
    }
}

/// Waits until a task waits for something.
async fn until_idle<T>(task: &JoinHandle<T>) {
    let end = Instant::now() + LIMIT;
    while view(&Handle::current().dump(), task).state != TaskState::Idle {
        assert!(Instant::now() < end, "the task goes on and on");
        sleep(Duration::from_millis(1)).await;
    }
}

fn backends() -> Vec<Backend> {
    let all = [Backend::Epoll, Backend::Poll];
    let works = |backend: &Backend| {
        Runtime::builder()
            .workers(1)
            .backend(*backend)
            .build()
            .is_ok()
    };
    all.into_iter().filter(works).collect()
}

fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let server = listener.accept().unwrap().0;
    (client, server)
}

/// Writes until the other end has no room for more, which it never gets.
async fn fill(socket: &Async<TcpStream>) {
    loop {
        let written = socket
            .write_with(|mut socket| socket.write(&[0; 1 << 16]))
            .await;
        written.unwrap();
    }
}

#[test]
fn each_kind_of_wait_is_named() {
    for backend in backends() {
        let runtime = Runtime::builder()
            .workers(1)
            .backend(backend)
            .build()
            .unwrap();
        runtime.block_on(kinds());
    }
}

async fn kinds() {
    let (client, server) = connection();
    let (number, peer) = (server.as_raw_fd(), client.local_addr().unwrap());
    let server = Arc::new(Async::new(server).unwrap());
    let reader = server.clone();
    let reads = spawn(async move { reader.read_with(|mut socket| socket.read(&mut [0])).await });
    let writer = server.clone();
    let writes = spawn(async move { fill(&writer).await });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let listens_at = listener.local_addr().unwrap();
    let listener = Async::new(listener).unwrap();
    let accepts = spawn(async move { listener.read_with(TcpListener::accept).await });
    let sleeps = TaskBuilder::new()
        .name("nap")
        .spawn(sleep(Duration::from_secs(60)));
    let other = spawn(pending::<()>());
    let (keep, never) = mpsc::channel::<()>();
    let job = spawn_blocking(move || never.recv());
    let (job_id, joined_id) = (job.id(), other.id());
    let joins = spawn(other);
    let awaits_job = spawn(job);
    settle().await;
    until_idle(&writes).await;

    let dump = Handle::current().dump();
    let only = |task: &TaskView| {
        assert_eq!(task.state, TaskState::Idle, "{task}");
        assert_eq!(task.waits_for.len(), 1, "{task}");
        task.waits_for[0].clone()
    };
    let (reads, writes) = (view(&dump, &reads), view(&dump, &writes));
    match (only(&reads), only(&writes)) {
        (WaitingFor::Read(from), WaitingFor::Write(to)) => {
            assert_eq!((from.descriptor, from.peer), (number, Some(peer)));
            assert_eq!((to.descriptor, to.peer), (number, Some(peer)));
        }
        others => panic!("{others:?}"),
    }
    let accepts = view(&dump, &accepts);
    match only(&accepts) {
        WaitingFor::Accept(on) => assert_eq!((on.local, on.peer), (Some(listens_at), None)),
        other => panic!("{other:?}"),
    }
    let sleeps = view(&dump, &sleeps);
    assert_eq!(sleeps.name.as_deref(), Some("nap"));
    match only(&sleeps) {
        WaitingFor::Sleep { left } => assert!(left > Duration::from_secs(30), "{left:?}"),
        other => panic!("{other:?}"),
    }
    let expected = WaitingFor::task(joined_id, false);
    assert_eq!(only(&view(&dump, &joins)), expected);
    assert_eq!(
        only(&view(&dump, &awaits_job)),
        WaitingFor::task(job_id, true)
    );
    let other = dump.tasks.iter().find(|task| task.id == joined_id).unwrap();
    assert_eq!(only(other), WaitingFor::Other);
    let job = dump.tasks.iter().find(|task| task.id == job_id).unwrap();
    assert!(job.is_blocking);

    let text = format!("{dump:#}");
    assert!(
        text.contains(&format!("waits to read from {peer} (descriptor {number})")),
        "{text}"
    );
    assert!(
        text.contains(&format!("waits to accept on {listens_at}")),
        "{text}"
    );
    assert!(
        text.contains("\"nap\": waits for a timer, due in"),
        "{text}"
    );
    assert!(
        text.contains(&format!("waits for task {joined_id};")),
        "{text}"
    );
    drop(keep);
}

#[test]
fn a_task_that_waits_for_two_things_shows_both() {
    block_on(async {
        let other = spawn(pending::<()>());
        let id = other.id();
        let both = spawn(async move {
            select(other, Box::pin(sleep(Duration::from_secs(60)))).await;
        });
        settle().await;
        let both = view(&Handle::current().dump(), &both);
        assert_eq!(both.waits_for.len(), 2, "{both}");
        assert!(
            both.waits_for.contains(&WaitingFor::task(id, false)),
            "{both}"
        );
    });
}

#[test]
fn a_dump_from_inside_shows_who_runs() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let task = runtime
        .handle()
        .spawn_on(1, async { Handle::current().dump() });
    let id = task.id();
    let dump = task.wait().unwrap();
    let own = dump.tasks.iter().find(|task| task.id == id).unwrap();
    assert_eq!(own.state, TaskState::Running { worker: Some(1) });
    assert_eq!(own.polls, 1);
    assert!(own.last_poll.unwrap() < LIMIT);
}

#[test]
fn tasks_of_threads_and_places_are_shown() {
    block_on(async {
        let local = spawn_local(pending::<()>());
        let placed = spawn_on(0, pending::<()>());
        settle().await;
        let dump = Handle::current().dump();
        assert_eq!(view(&dump, &local).state, TaskState::Idle);
        assert_eq!(view(&dump, &placed).state, TaskState::Idle);
        let alive = Handle::current().metrics().tasks_alive;
        assert_eq!(alive, 2);
        local.abort();
        placed.abort();
    });
}

#[test]
fn polls_and_their_times_are_counted() {
    let runtime = Runtime::builder()
        .workers(1)
        .task_times(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let task = spawn(async {
            for _ in 0..4 {
                yield_now().await;
            }
            thread::sleep(Duration::from_millis(30));
            pending::<()>().await;
        });
        for _ in 0..8 {
            yield_now().await;
        }
        sleep(Duration::from_millis(50)).await;
        let task = view(&Handle::current().dump(), &task);
        assert_eq!(task.polls, 5);
        assert!(task.busy >= Duration::from_millis(30), "{task}");
        let ago = task.last_poll.unwrap();
        assert!(ago >= Duration::from_millis(40) && ago < LIMIT, "{ago:?}");
    });
    let busy = runtime.metrics().total().busy;
    assert!(busy >= Duration::from_millis(30), "{busy:?}");
}

#[test]
fn nothing_is_measured_unless_asked_for() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let task = runtime.spawn(async { thread::sleep(Duration::from_millis(2)) });
    runtime.block_on(task).unwrap();
    assert_eq!(runtime.metrics().total().busy, Duration::ZERO);
}

#[test]
fn counters_move_as_they_should() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let before = runtime.metrics();
    runtime.block_on(async {
        for _ in 0..10 {
            spawn(async {}).await.unwrap();
        }
        sleep(Duration::from_millis(1)).await;
    });
    let after = runtime.metrics();
    assert_eq!(after.tasks_spawned - before.tasks_spawned, 10);
    assert_eq!(after.tasks_alive, 0);
    let (before, after) = (before.total(), after.total());
    assert!(after.polls - before.polls >= 20, "{after:?}");
    assert!(after.parks > before.parks, "{after:?}");
    assert!(after.turns - before.turns >= after.parks - before.parks);
    assert_eq!(after.timers - before.timers, 1);
    assert!(after.events_per_turn() >= 0.0);
}

#[test]
fn a_wake_from_elsewhere_is_written_if_the_worker_sleeps() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let end = Instant::now() + LIMIT;
    // Spawned from this thread, which is no worker: sooner or later worker 1 sleeps before.
    while runtime.metrics().total().notifications_written == 0 {
        assert!(Instant::now() < end, "{}", runtime.metrics());
        runtime.spawn(async {}).wait().unwrap();
        thread::sleep(Duration::from_millis(1));
    }
    let metrics = runtime.metrics();
    assert!(metrics.shared_queue_ever >= 1, "{metrics}");
    assert!(metrics.workers[1].parks >= 1, "{metrics}");
}

#[test]
fn steals_are_counted() {
    let runtime = Runtime::builder().workers(3).build().unwrap();
    let end = Instant::now() + LIMIT;
    while runtime.metrics().total().stolen_tasks == 0 {
        assert!(Instant::now() < end, "{}", runtime.metrics());
        let spawner = runtime.spawn(async {
            let tasks: Vec<_> = (0..100)
                .map(|_| spawn(async { thread::sleep(Duration::from_micros(100)) }))
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        spawner.wait().unwrap();
    }
    let total = runtime.metrics().total();
    assert!(
        total.steals >= 1 && total.steals <= total.stolen_tasks,
        "{total:?}"
    );
    assert!(total.steal_attempts >= total.steals, "{total:?}");
}

#[test]
fn blocking_jobs_are_counted() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let (keep, wait) = mpsc::channel::<()>();
    let (begun, has_begun) = mpsc::channel();
    let job = runtime.handle().spawn_blocking(move || {
        begun.send(()).unwrap();
        wait.recv()
    });
    has_begun.recv_timeout(LIMIT).unwrap();
    let metrics = runtime.metrics();
    assert_eq!((metrics.blocking_threads, metrics.blocking_running), (1, 1));
    let job_view = view(&runtime.dump(), &job);
    assert_eq!(job_view.state, TaskState::Running { worker: None });
    drop(keep);
    assert!(job.wait().unwrap().is_err());
}

#[test]
fn dumps_under_load_end_and_hold_nobody_up() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let sleepers: Vec<_> = (0..500)
        .map(|_| runtime.spawn(sleep(Duration::from_secs(60))))
        .collect();
    let spawners: Vec<_> = (0..2)
        .map(|_| {
            let over = over.clone();
            runtime.spawn(async move {
                let mut done = 0_u32;
                while !over.load(Ordering::Relaxed) {
                    spawn(yield_now()).await.unwrap();
                    done += 1;
                }
                done
            })
        })
        .collect();
    let handle = runtime.handle().clone();
    for _ in 0..50 {
        let dump = handle.dump();
        assert!(dump.tasks.len() >= 502, "{dump}");
        let lines = dump.to_string().lines().count();
        assert!(lines < 100, "it is short for people: {lines} lines");
    }
    over.store(true, Ordering::Relaxed);
    for spawner in spawners {
        assert!(spawner.wait().unwrap() > 0);
    }
    let asleep = |task: &&TaskView| matches!(task.waits_for[..], [WaitingFor::Sleep { .. }]);
    let end = Instant::now() + LIMIT;
    while runtime.dump().tasks.iter().filter(asleep).count() < 500 {
        assert!(Instant::now() < end);
        thread::yield_now();
    }
    sleepers.iter().for_each(JoinHandle::abort);
}

#[cfg(feature = "serde")]
#[test]
fn both_are_written_by_serde() {
    block_on(async {
        let task = spawn(sleep(Duration::from_secs(60)));
        settle().await;
        let dump = serde_json::to_value(Handle::current().dump()).unwrap();
        let first = &dump["tasks"][0];
        assert_eq!(first["id"], task.id().as_u64());
        assert!(
            first["spawned_at"].as_str().unwrap().contains("view.rs"),
            "{first}"
        );
        assert!(
            first["waits_for"][0]["Sleep"]["left"]["secs"].as_u64() > Some(30),
            "{first}"
        );
        let metrics = serde_json::to_value(Handle::current().metrics()).unwrap();
        assert!(
            metrics["workers"][0]["polls"].as_u64() > Some(0),
            "{metrics}"
        );
    });
}

/// Blocks on `future`, and asks what it waits for once it does.
fn root_of(runtime: &Runtime, future: impl Future<Output = ()>) -> RootView {
    let _limit = support::limit();
    let handle = runtime.handle().clone();
    let (tell, seen) = oneshot::channel();
    let watcher = thread::spawn(move || {
        let end = Instant::now() + LIMIT;
        loop {
            assert!(Instant::now() < end, "it waits for nothing");
            match handle.dump().root {
                Some(root) if root.state == TaskState::Idle => break drop(tell.send(root)),
                _ => thread::sleep(Duration::from_millis(1)),
            }
        }
    });
    let root = runtime.block_on(async {
        match select(pin!(future), seen).await {
            Either::Right((seen, _)) => seen.unwrap(),
            Either::Left(_) => panic!("it was to wait"),
        }
    });
    watcher.join().unwrap();
    root
}

#[test]
fn the_root_future_is_shown() {
    for workers in [1, 2] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        assert!(runtime.dump().root.is_none(), "nobody blocks");
        let root = root_of(&runtime, sleep(Duration::from_secs(3600)));
        assert!(
            matches!(root.waits_for[..], [WaitingFor::Sleep { .. }]),
            "{root:?}"
        );
        let task = runtime.spawn(pending::<()>());
        let id = task.id();
        let root = root_of(&runtime, async { drop(task.await) });
        assert_eq!(root.waits_for, [WaitingFor::task(id, false)]);
        let root = root_of(&runtime, pending());
        assert_eq!(root.waits_for, [WaitingFor::Other]);
        let dump = runtime.block_on(async { Handle::current().dump() });
        assert_eq!(
            dump.root.as_ref().unwrap().state,
            TaskState::Running { worker: Some(0) }
        );
        assert!(
            dump.to_string()
                .ends_with("the future of block_on: runs on worker 0\n"),
            "{dump}"
        );
        assert!(runtime.dump().root.is_none(), "nobody blocks any more");
    }
    // That of the free `block_on`, whether or not it is the first poll.
    for is_first in [true, false] {
        let dump = block_on(async {
            if !is_first {
                yield_now().await;
            }
            let dump = Handle::current().dump();
            yield_now().await;
            dump
        });
        assert_eq!(
            dump.root.unwrap().state,
            TaskState::Running { worker: Some(0) }
        );
    }
    let task = block_on(async {
        let handle = Handle::current();
        let task = spawn(async move { handle.dump().root });
        task.await.unwrap()
    });
    assert_eq!(task.unwrap().state, TaskState::Idle);
}
