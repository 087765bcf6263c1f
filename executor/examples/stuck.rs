//! A task blocks its thread for a second: how late is everything else?
//!
//!     cargo run --release -p windlass-executor --example stuck -- [ROUNDS] [MILLISECONDS]
//!
//! Of two workers one is blocked in each round. What was bound to it is measured: tasks that wait
//! behind the one that blocks, the first of them where it would run next; the readiness of a socket
//! and the deadlines of timers that its reactor has. Beside stands how late a plain thread wakes up
//! meanwhile. Printed are the worst of each round, and the median and the worst of those.

use std::future::Future;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};
use windlass_executor::{Handle, Runtime, spawn};
use windlass_reactor::{Async, Direction, time};

/// The time between two bytes, two deadlines, and two looks of the plain thread.
const STEP: Duration = Duration::from_millis(7);

/// The longest delay of each kind, in one round.
#[derive(Clone, Copy, Default)]
struct Worst {
    queued: Duration,
    socket: Duration,
    timer: Duration,
    thread: Duration,
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().ok());
    let rounds: u64 = arguments.next().flatten().unwrap_or(20);
    let blocked = Duration::from_millis(arguments.next().flatten().unwrap_or(1000));
    let runtime = Runtime::builder().workers(2).build().expect("a runtime");
    let handle = runtime.handle().clone();
    let measuring = runtime.handle().spawn_blocking(move || {
        let rounds = (0..rounds).map(|_| round(&handle, blocked));
        rounds.collect::<Vec<_>>()
    });
    let rounds = runtime.block_on(measuring).expect("no round fails");
    println!(
        "{:>22} {:>10} {:>10}",
        "worst of a round", "median", "worst"
    );
    for (name, of) in [
        (
            "a task that waits",
            (|worst| worst.queued) as fn(&Worst) -> Duration,
        ),
        ("a socket", |worst| worst.socket),
        ("a timer", |worst| worst.timer),
        ("a plain thread", |worst| worst.thread),
    ] {
        let mut all: Vec<_> = rounds.iter().map(of).collect();
        all.sort();
        let (median, last) = (all[all.len() / 2], all[all.len() - 1]);
        println!("{name:>22} {median:>10.2?} {last:>10.2?}");
    }
}

fn round(handle: &Handle, blocked: Duration) -> Worst {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    let ours = Arc::new(Async::new(ours).expect("a socket"));
    let steps = (blocked.as_micros() / STEP.as_micros()).saturating_sub(2) as u32;
    let (tell, told) = mpsc::channel();
    let registered = ours.clone();
    let (ran, has_run) = mpsc::channel();
    let blocks = handle.spawn(async move {
        let mut context = Context::from_waker(Waker::noop());
        // Its readiness and these timers are now with the reactor of this thread.
        let _ = registered.try_io(Direction::Read, |mut io| io.read(&mut [0; 16]));
        let _ = registered.poll_readable(&mut context);
        let begin = Instant::now();
        let timers: Vec<_> = (1..=steps)
            .map(|step| {
                let deadline = begin + STEP * step;
                let mut sleep = Box::pin(time::sleep_until(deadline));
                let _ = sleep.as_mut().poll(&mut context);
                (deadline, sleep)
            })
            .collect();
        tell.send(timers).expect("somebody listens");
        for _ in 0..10 {
            let ran = ran.clone();
            let queued = Instant::now();
            spawn(async move { ran.send(queued.elapsed()) });
        }
        thread::sleep(blocked);
    });
    let timers = told.recv().expect("the task starts");
    let timers: Vec<_> = timers
        .into_iter()
        .map(|(deadline, sleep)| {
            handle.spawn(async move {
                sleep.await;
                deadline.elapsed()
            })
        })
        .collect();
    let begin = Instant::now();
    let reading = handle.spawn(async move {
        let mut worst = Duration::ZERO;
        let mut space = [0; 8];
        for _ in 0..steps {
            let read = ours.read_with(|mut io| io.read(&mut space)).await;
            assert_eq!(read.expect("a read"), space.len());
            let sent = Duration::from_nanos(u64::from_ne_bytes(space));
            worst = worst.max(begin.elapsed().saturating_sub(sent));
        }
        worst
    });
    let mut worst = Worst::default();
    for step in 1..=steps {
        let until = begin + STEP * step;
        thread::sleep(until.saturating_duration_since(Instant::now()));
        worst.thread = worst.thread.max(until.elapsed());
        let now = begin.elapsed().as_nanos() as u64;
        theirs.write_all(&now.to_ne_bytes()).expect("a write");
    }
    worst.socket = reading.wait().expect("the reader ends");
    drop(blocks.wait());
    worst.queued = has_run.into_iter().max().unwrap_or_default();
    let late = timers
        .into_iter()
        .map(|timer| timer.wait().expect("it fires"));
    worst.timer = late.max().unwrap_or_default();
    worst
}
