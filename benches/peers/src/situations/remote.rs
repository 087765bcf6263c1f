//! A wake from a thread that is no worker.

use super::super::{detach, run};
use crate::case::{Case, Report, Samples};
use crate::clock::{self, spin};
use crate::gate::Gate;
use crate::median::median;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// Tasks that keep the worker busy: with so many, a queue that is first in, first out makes the
/// woken task wait 2.5 microseconds at the median.
const BUSY: usize = 3;

/// What the thread and the task share.
#[derive(Default)]
struct Line {
    /// The waker of the task.
    waker: OnceLock<Waker>,
    /// When it was woken; 0 once it has seen that.
    woken: AtomicU64,
}

/// Wakes a task `count` times while its worker runs other tasks of a microsecond each: how long
/// the call takes, and how long it then takes until the task runs; medians.
pub(super) fn wake_from_a_thread(case: Case) -> Report {
    let line = Arc::new(Line::default());
    let caller = std::thread::spawn({
        let line = line.clone();
        move || call(&line, case.count)
    });
    let waits = run(case.workers, async move {
        let stop = Arc::new(Gate::default());
        for _ in 0..BUSY {
            let stop = stop.clone();
            // It wakes itself: a runtime's own way to yield may look at wakes from elsewhere.
            detach(poll_fn(move |context| {
                spin(Duration::from_micros(1));
                context.waker().wake_by_ref();
                match stop.is_open() {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                }
            }));
        }
        let waits = answer(&line, case.count).await;
        stop.open();
        waits
    });
    let calls = caller.join().expect("the thread does not panic");
    Report::of("call_ns", median(&calls)).and("wait_us", median(&waits.0))
}

/// The thread: calls, and waits until the call was answered.
fn call(line: &Line, count: u64) -> Vec<f64> {
    let waker = loop {
        match line.waker.get() {
            Some(waker) => break waker,
            None => std::thread::yield_now(),
        }
    };
    let one = |_| {
        spin(Duration::from_micros(20));
        line.woken.store(clock::stamp(), Ordering::Release);
        let start = Instant::now();
        waker.wake_by_ref();
        let elapsed = start.elapsed().as_nanos() as f64;
        while line.woken.load(Ordering::Acquire) != 0 {
            std::hint::spin_loop();
        }
        elapsed
    };
    (0..count).map(one).collect()
}

/// The task: notes how long ago it was woken.
async fn answer(line: &Line, count: u64) -> Samples {
    let mut waits = Samples::default();
    poll_fn(|context| {
        line.waker.get_or_init(|| context.waker().clone());
        let woken = line.woken.load(Ordering::Acquire);
        if woken != 0 {
            waits.since(woken);
            line.woken.store(0, Ordering::Release);
        }
        match waits.0.len() as u64 == count {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    waits
}
