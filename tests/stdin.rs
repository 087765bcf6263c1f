//! Standard input under a runtime: a task that waits for it keeps neither the runtime nor the
//! process from ending.

use std::io::Write;
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
