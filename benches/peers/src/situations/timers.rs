//! Timeouts that do not happen, and sleeps.

use super::super::{expire_after, run, sleep, spawn};
use crate::case::{Case, Report};
use crate::gate::Gate;
use crate::median::median;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Tasks with pending timers in a crowd.
const CROWD: u64 = 100;
/// Pending timers of each; there are runtimes that bear no more than 32,767 clones of a waker.
const EACH: u64 = 1000;

/// Creates a timeout, polls it once and drops it, `count` times.
pub(super) fn timeout(case: Case) -> Report {
    timeout_among(0, case)
}

/// The same while 100,000 others are pending, some of which are due earlier, some later.
pub(super) fn timeout_in_a_crowd(case: Case) -> Report {
    timeout_among(CROWD, case)
}

fn timeout_among(crowd: u64, case: Case) -> Report {
    let elapsed = run(case.workers, async move {
        let mut holders = Vec::new();
        for first in (0..crowd).map(|task| task * EACH) {
            let (held, release) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
            let holder = spawn(hold(first, held.clone(), release.clone()));
            held.opened().await;
            holders.push((holder, release));
        }
        create_and_drop(1000).await;
        let start = Instant::now();
        create_and_drop(case.count).await;
        let elapsed = start.elapsed();
        for (holder, release) in holders {
            release.open();
            let _ = holder.await;
        }
        elapsed
    });
    Report::each(elapsed, case.count)
}

async fn create_and_drop(count: u64) {
    for _ in 0..count {
        poll_once(pin!(expire_after(Duration::from_secs(60)))).await;
    }
}

/// Keeps timers pending, due in 30 to 90 seconds, in no order.
async fn hold(first: u64, held: Arc<Gate>, release: Arc<Gate>) {
    let mut pending = Vec::with_capacity(EACH as usize);
    for place in first..first + EACH {
        let millis = 30_000 + place * 7919 % 60_000;
        let mut timeout = Box::pin(expire_after(Duration::from_millis(millis)));
        poll_once(timeout.as_mut()).await;
        pending.push(timeout);
    }
    held.open();
    release.opened().await;
}

/// Polls a future once and leaves it pending.
async fn poll_once<F: Future>(mut future: Pin<&mut F>) {
    poll_fn(|context| {
        assert!(future.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

/// Sleeps a millisecond `count` times: by how much that takes longer, the median.
pub(super) fn sleeps(case: Case) -> Report {
    let late = run(case.workers, async move {
        let mut late = Vec::with_capacity(case.count as usize);
        for _ in 0..case.count {
            let start = Instant::now();
            sleep(Duration::from_millis(1)).await;
            late.push(start.elapsed().as_secs_f64() * 1e6 - 1000.0);
        }
        late
    });
    Report::of("late_us", median(&late))
}
