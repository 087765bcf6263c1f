//! Standard input under a runtime: a task that waits for it keeps neither the runtime nor the
//! process from ending.

#[path = "../executor/tests/support/fork.rs"]
mod fork;

use futures_util::{pending, poll};
use std::fs::File;
use std::io::Write;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use windlass::reactor::Backend;
use windlass::{Runtime, io, time};

const MARK: &str = "WINDLASS_TEST_CHILD";

/// Much less than any wait would last, and much more than it takes.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn a_task_that_waits_for_input_keeps_nothing_from_ending() {
    let name = "a_task_that_waits_for_input_keeps_nothing_from_ending";
    if std::env::var_os(MARK).is_some() {
        for backend in Backend::available() {
            for workers in [1, 2] {
                wait_for_input(backend, workers);
            }
        }
        return;
    }
    let began = Instant::now();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(MARK, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // It comes late, byte by byte, so that some are read by threads whose task is gone.
    let mut input = child.stdin.take().unwrap();
    while child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < SOON, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
        let _ = input.write_all(b"x");
    }
    assert!(child.wait().unwrap().success());
}

/// Has a task wait for more than will come, and ends the runtime.
fn wait_for_input(backend: Backend, workers: usize) {
    let runtime = Runtime::builder().backend(backend).workers(workers);
    let runtime = runtime.build().unwrap();
    runtime.block_on(async {
        windlass::spawn(async {
            let mut input = io::stdin().unwrap();
            while input.read(&mut [0; 4]).await.unwrap() > 0 {}
        });
        time::sleep(Duration::from_millis(20)).await;
    });
    let began = Instant::now();
    drop(runtime);
    assert!(began.elapsed() < SOON / 2);
}

#[test]
fn what_was_read_before_a_fork_is_the_parents() {
    let name = "what_was_read_before_a_fork_is_the_parents";
    if std::env::var_os(MARK).is_none() {
        let path = std::env::temp_dir().join(format!("windlass-fork-{}", std::process::id()));
        let numbers = (0..200).collect::<Vec<u8>>();
        for backend in ["epoll", "poll"] {
            std::fs::write(&path, &numbers).unwrap();
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", name, "--nocapture", "--test-threads=1"])
                .env(MARK, "1")
                .env("WINDLASS_BACKEND", backend)
                .stdin(File::open(&path).unwrap())
                .stdout(Stdio::null())
                .status();
            assert!(status.unwrap().success(), "on {backend}");
        }
        std::fs::remove_file(&path).unwrap();
        return;
    }
    let next = windlass::block_on(read_for_nobody());
    fork::in_child(|| assert_eq!(read_two(), [next + 2, next + 3]));
    assert_eq!(read_two(), [next, next + 1]);
}

/// Has the thread read two bytes that nobody takes; returns the first of them.
async fn read_for_nobody() -> u8 {
    let mut input = io::stdin().unwrap();
    for next in (0..100).step_by(2) {
        let mut space = [0; 2];
        let mut reading = pin!(input.read(&mut space));
        // The thread may be so fast that they are taken.
        if poll!(reading.as_mut()).is_pending() {
            pending!();
            return next;
        }
    }
    panic!("the thread is always faster");
}

fn read_two() -> [u8; 2] {
    windlass::block_on(async {
        let mut space = [0; 2];
        let mut input = io::stdin().unwrap();
        let reading = time::timeout(SOON, input.read(&mut space));
        assert_eq!(reading.await.unwrap().unwrap(), 2);
        space
    })
}
