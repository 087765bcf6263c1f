//! The wakers of runtimes: the consumer is a task of one worker.

use crate::protocol::{Consumer, Contest, Notify, Outcome, Protocol};
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};
use windlass_peers::case::Report;
use windlass_peers::runtimes;

/// A waker alone.
#[derive(Default)]
struct Merged {
    waker: OnceLock<Waker>,
}

/// A waker, and a count beside it.
#[derive(Default)]
struct Counted {
    waker: OnceLock<Waker>,
    count: AtomicU64,
}

/// What the consumer's task needs of either.
trait Awaited: Notify + Default {
    /// Where the task leaves its waker before the producers are let go.
    fn waker(&self) -> &OnceLock<Waker>;

    /// Takes all that was counted.
    fn take(&self) -> u64;
}

/// The waker that the consumer has left. The producers are let go after that.
fn left(waker: &OnceLock<Waker>) -> &Waker {
    waker.get().expect("it was left before the start")
}

impl Notify for Merged {
    fn notify(&self) {
        left(&self.waker).wake_by_ref();
    }
}

impl Awaited for Merged {
    fn waker(&self) -> &OnceLock<Waker> {
        &self.waker
    }

    fn take(&self) -> u64 {
        0
    }
}

impl Notify for Counted {
    fn notify(&self) {
        self.count.fetch_add(1, Ordering::Release);
        left(&self.waker).wake_by_ref();
    }
}

impl Awaited for Counted {
    fn waker(&self) -> &OnceLock<Waker> {
        &self.waker
    }

    fn take(&self) -> u64 {
        self.count.swap(0, Ordering::Acquire)
    }
}

/// The consumer. Its first poll leaves the waker and lets the producers go.
async fn consume<A: Awaited>(contest: Arc<Contest>, means: Arc<A>) -> Outcome {
    let mut begun: Option<Consumer<'_>> = None;
    poll_fn(|context| {
        let Some(consumer) = &mut begun else {
            means.waker().get_or_init(|| context.waker().clone());
            begun = Some(contest.begin());
            return Poll::Pending;
        };
        match consumer.note(means.take()) {
            true => Poll::Ready(consumer.end()),
            false => Poll::Pending,
        }
    })
    .await
}

/// Holds a contest on a runtime.
macro_rules! contest_on {
    ($runtime:ident) => {
        /// Holds the contest with this runtime's waker.
        pub(crate) fn $runtime(protocol: Protocol, each: u64) -> Report {
            fn with<A: Awaited>(protocol: Protocol, each: u64) -> Report {
                let (contest, means) = (Contest::new(protocol, each), Arc::new(A::default()));
                let producers = contest.produce(&means);
                let outcome = runtimes::$runtime::run(1, consume(contest, means));
                producers.report(outcome)
            }
            match protocol {
                Protocol::Coalescing => with::<Merged>(protocol, each),
                Protocol::Taken => with::<Counted>(protocol, each),
            }
        }
    };
}

contest_on!(windlass);
contest_on!(tokio);
contest_on!(smol);
