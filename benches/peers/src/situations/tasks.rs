//! Tasks among themselves: spawned, joined, yielding, waking each other.

use super::super::{block_on_ready, detach, run, spawn, yield_now};
use crate::case::{Case, Report};
use crate::gate::Gate;
use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};
use std::time::Instant;

/// Tasks in a batch.
const BATCH: u64 = 10_000;
/// Tasks that yield in turn.
const YIELDING: u64 = 100;

/// Spawns batches of 10,000 tasks from inside a task and joins each batch; per task. `count` is
/// the number of batches. Two more go before them, so that queues have grown.
pub(super) fn spawn_and_join(case: Case) -> Report {
    let elapsed = run(case.workers, async move {
        batches(2).await;
        let start = Instant::now();
        batches(case.count).await;
        start.elapsed()
    });
    Report::each(elapsed, case.count * BATCH)
}

async fn batches(count: u64) {
    let mut handles = Vec::with_capacity(BATCH as usize);
    for _ in 0..count {
        handles.extend((0..BATCH).map(|_| spawn(async {})));
        for handle in handles.drain(..) {
            let _ = handle.await;
        }
    }
}

/// Lets 100 tasks yield `count` times each; per yield.
pub(super) fn yields(case: Case) -> Report {
    let elapsed = run(case.workers, async move {
        let start = Instant::now();
        let spawn_one = |_| {
            spawn(async move {
                for _ in 0..case.count {
                    yield_now().await;
                }
            })
        };
        let handles: Vec<_> = (0..YIELDING).map(spawn_one).collect();
        for handle in handles {
            let _ = handle.await;
        }
        start.elapsed()
    });
    Report::each(elapsed, case.count * YIELDING)
}

/// Lets a task spawn a task that spawns a task, `count` times; per task.
pub(super) fn chain(case: Case) -> Report {
    let elapsed = run(case.workers, async move {
        links(1000).await;
        let start = Instant::now();
        links(case.count).await;
        start.elapsed()
    });
    Report::each(elapsed, case.count)
}

async fn links(count: u64) {
    let end = Arc::new(Gate::default());
    link(count, end.clone());
    end.opened().await;
}

fn link(left: u64, end: Arc<Gate>) {
    match left {
        0 => end.open(),
        _ => detach(async move { link(left - 1, end) }),
    }
}

/// Lets two tasks wake each other in turn, `count` times each; per round trip.
pub(super) fn wake(case: Case) -> Report {
    let elapsed = run(case.workers, async move {
        let table = Arc::new(Table::default());
        let start = Instant::now();
        let sides = [0, 1].map(|side| spawn(player(side, case.count, table.clone())));
        for side in sides {
            let _ = side.await;
        }
        start.elapsed()
    });
    Report::each(elapsed, case.count)
}

/// What the two players share.
#[derive(Default)]
struct Table {
    /// How often the turn has passed; the player of its parity is on.
    turn: AtomicU64,
    /// The players' wakers, left at their first poll.
    wakers: [OnceLock<Waker>; 2],
}

fn player(side: usize, count: u64, table: Arc<Table>) -> impl Future<Output = ()> {
    poll_fn(move |context| {
        table.wakers[side].get_or_init(|| context.waker().clone());
        let turn = table.turn.load(Ordering::Acquire);
        if turn % 2 == side as u64 {
            table.turn.store(turn + 1, Ordering::Release);
        }
        // The other one may not have been polled yet; then it looks at the turn when it is.
        if let Some(other) = table.wakers[1 - side].get() {
            other.wake_by_ref();
        }
        match turn >= 2 * count {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
}

/// Blocks on a ready future `count` times; per call.
pub(super) fn block_on(case: Case) -> Report {
    block_on_ready(1000);
    Report::each(block_on_ready(case.count), case.count)
}
