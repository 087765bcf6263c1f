//! What a task takes while it only waits. Needs the counting allocator.

use super::super::{run, spawn};
use crate::case::{Case, Report};
use crate::gate::Gate;
use crate::heap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

/// A future that is pending for ever, or ready at once.
struct Idle<const WORDS: usize> {
    shared: Arc<Shared>,
    is_ready: bool,
    _payload: [u64; WORDS],
}

/// How many words make it 128 bytes: a runtime that fills up to whole cache lines has least to fill
/// then.
const MEASURED: usize = 14;
/// Those of the tasks before: of another size, so that their memory, if it is kept, is of no use.
const BEFORE: usize = 30;

/// What the futures of a batch share.
struct Shared {
    /// How many have not been polled yet.
    left: AtomicU64,
    /// Opened by the last of them.
    polled: Gate,
}

impl<const WORDS: usize> Future for Idle<WORDS> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.shared.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.shared.polled.open();
        }
        match self.is_ready {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

/// Spawns `count` tasks and has each polled once: the bytes that one takes beyond its future, and
/// its allocations. As many tasks have come and gone before, so that the growth of queues and
/// tables is not counted.
pub(super) fn idle_task(case: Case) -> Report {
    let (bytes, allocations) = run(case.workers, async move {
        batch::<BEFORE>(case.count, true).await;
        batch::<MEASURED>(case.count, false).await
    });
    let each = |total: u64| total as f64 / case.count as f64;
    let beyond = each(bytes) - size_of::<Idle<MEASURED>>() as f64;
    Report::of("bytes", beyond).and("allocations", each(allocations))
}

/// Spawns a batch, waits until all were polled, joins them if they end, and returns what they took
/// meanwhile.
async fn batch<const WORDS: usize>(count: u64, is_ready: bool) -> (u64, u64) {
    let shared = Arc::new(Shared {
        left: AtomicU64::new(count),
        polled: Gate::default(),
    });
    let mut handles = Vec::with_capacity(count as usize);
    let before = (heap::live(), heap::count());
    for _ in 0..count {
        handles.push(spawn(Idle::<WORDS> {
            shared: shared.clone(),
            is_ready,
            _payload: [0; WORDS],
        }));
    }
    shared.polled.opened().await;
    let after = (heap::live(), heap::count());
    if is_ready {
        for handle in handles {
            let _ = handle.await;
        }
    }
    (after.0.saturating_sub(before.0), after.1 - before.1)
}
