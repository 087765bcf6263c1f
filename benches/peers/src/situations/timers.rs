//! Timeouts that do not happen, and sleeps.

use super::super::{expire_after, run, sleep};
use crate::case::{Case, Report};
use crate::median::median;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Timers that are pending in a crowd.
const CROWD: u64 = 100_000;

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
        let mut pending = Vec::new();
        for place in 0..crowd {
            // From 30 to 90 seconds, in no order.
            let millis = 30_000 + place * 7919 % 60_000;
            let mut timeout = Box::pin(expire_after(Duration::from_millis(millis)));
            poll_once(timeout.as_mut()).await;
            pending.push(timeout);
        }
        for _ in 0..1000 {
            poll_once(pin!(expire_after(Duration::from_secs(60)))).await;
        }
        let start = Instant::now();
        for _ in 0..case.count {
            poll_once(pin!(expire_after(Duration::from_secs(60)))).await;
        }
        start.elapsed()
    });
    Report::each(elapsed, case.count)
}

/// Polls a future once and leaves it pending.
async fn poll_once<F: Future>(mut future: std::pin::Pin<&mut F>) {
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
