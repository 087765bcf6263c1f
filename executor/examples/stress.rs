//! Runs everything at once, in runtime after runtime, for as long as it is told to.
//!
//!     cargo run --release -p windlass-executor --example stress -- [SECONDS] [SEED]
//!
//! Each round has a runtime of one to four workers, with tasks that yield, sleep, time out, read and
//! write sockets, wake each other, panic, are aborted, awaited or forgotten, and threads that spawn
//! and wake from outside; then it is shut down in the middle of that. Afterwards each future that
//! was made must have been dropped once, and no descriptor be open that was not before. A round that
//! takes more than a minute is one that hangs: the program then aborts.

use futures::FutureExt;
use futures::task::AtomicWaker;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::process::abort;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};
use windlass_executor::{Handle, JoinSet, Runtime, spawn, spawn_blocking, spawn_local, yield_now};
use windlass_reactor::{Async, time};

/// How many tasks a round has.
const TASKS: u64 = 300;
/// How long a round may take.
const LIMIT: Duration = Duration::from_secs(60);

/// How many futures are there.
static ALIVE: AtomicI64 = AtomicI64::new(0);
/// How many have been made.
static MADE: AtomicU64 = AtomicU64::new(0);
/// How many rounds are over.
static ROUNDS: AtomicU64 = AtomicU64::new(0);

/// Is in each future, and so dropped with it.
struct Counted;

impl Counted {
    fn new() -> Self {
        ALIVE.fetch_add(1, Ordering::SeqCst);
        MADE.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A sequence of numbers that look random (xorshift).
#[derive(Clone)]
struct Lots(u64);

impl Lots {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn apart(&mut self) -> Self {
        Self(self.below(u64::MAX) | 1)
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().ok());
    let seconds = arguments.next().flatten().unwrap_or(10);
    let mut lots = Lots(arguments.next().flatten().unwrap_or(1) | 1);
    // The panics of tasks are meant; those of this thread are not.
    let main_thread = thread::current().id();
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if thread::current().id() == main_thread && !panic.to_string().contains("meant") {
            report(panic);
        }
    }));
    thread::spawn(watch);
    // What is made once and stays.
    round(&mut lots);
    let (before, end) = (descriptors(), Instant::now() + Duration::from_secs(seconds));
    while Instant::now() < end {
        round(&mut lots);
        assert_eq!(ALIVE.load(Ordering::SeqCst), 0, "futures are left");
    }
    assert_eq!(descriptors(), before, "descriptors are left");
    let (rounds, made) = (ROUNDS.load(Ordering::Relaxed), MADE.load(Ordering::Relaxed));
    println!("{rounds} runtimes, {made} futures: all are dropped, no descriptor is left");
}

/// Aborts when a round takes too long.
fn watch() {
    loop {
        let before = ROUNDS.load(Ordering::Relaxed);
        thread::sleep(LIMIT);
        if ROUNDS.load(Ordering::Relaxed) == before {
            eprintln!("round {before} hangs");
            abort();
        }
    }
}

fn round(lots: &mut Lots) {
    let workers = 1 + lots.below(4) as usize;
    let runtime = Runtime::builder()
        .workers(workers)
        .stealing(lots.below(8) > 0)
        .build()
        .expect("a runtime");
    let (handle, mut inside) = (runtime.handle().clone(), lots.apart());
    let outside = {
        let mut lots = lots.apart();
        thread::spawn(move || {
            for _ in 0..TASKS / 4 {
                let task = handle.spawn(act(lots.apart()));
                match lots.below(3) {
                    0 => task.abort(),
                    1 if workers > 1 => drop(task.wait()),
                    _ => {}
                }
            }
        })
    };
    runtime.block_on(async {
        let mut set = JoinSet::new();
        for _ in 0..TASKS {
            let own = inside.apart();
            match inside.below(6) {
                0 => drop(spawn(act(own))),
                1 => drop(spawn_local(act(own))),
                2 => spawn(act(own)).abort(),
                3 => drop(spawn(act(own)).await),
                _ => {
                    set.spawn(act(own));
                }
            }
            if inside.below(16) == 0 {
                while set.try_join_next().is_some() {}
            }
        }
        if inside.below(2) == 0 {
            while set.join_next().await.is_some() {}
        }
    });
    if lots.below(2) == 0 {
        drop(runtime);
        outside.join().expect("the outer thread does not panic");
    } else {
        outside.join().expect("the outer thread does not panic");
        drop(runtime);
    }
    ROUNDS.fetch_add(1, Ordering::Relaxed);
}

/// Does one thing or another.
async fn act(mut lots: Lots) -> u64 {
    let counted = Counted::new();
    let moment = Duration::from_micros(lots.below(400));
    match lots.below(10) {
        0 => yield_now().await,
        1 => time::sleep(moment).await,
        2 => drop(time::timeout(moment, std::future::pending::<()>()).await),
        3 => {
            let job = spawn_blocking(move || thread::sleep(moment));
            if lots.below(2) == 0 {
                drop(job.await);
            }
        }
        4 => talk(lots.below(2000) as usize).await,
        5 => woken_from_outside().await,
        6 => panic!("meant"),
        7 => {
            let counted = Counted::new();
            let inner = spawn(async move {
                let _counted = counted;
                yield_now().await;
            });
            inner.await.unwrap_or(());
        }
        8 => {
            let end = Instant::now() + moment;
            while Instant::now() < end {
                std::hint::spin_loop();
            }
        }
        _ => {
            let mut sleep = pin!(time::sleep(moment).fuse());
            while futures::poll!(&mut sleep).is_pending() {
                yield_now().await;
            }
        }
    }
    drop(counted);
    lots.below(100)
}

/// Sends bytes through a pair of sockets, in a task on each side.
async fn talk(count: usize) {
    let Ok((one, other)) = UnixStream::pair() else {
        return;
    };
    let (Ok(one), Ok(other)) = (Async::new(one), Async::new(other)) else {
        return;
    };
    let counted = Counted::new();
    let writes = spawn(async move {
        let _counted = counted;
        let mut left = count;
        while left > 0 {
            let bytes = vec![7; left.min(100)];
            let sent = one.write_with(|mut socket| std::io::Write::write(&mut socket, &bytes));
            left -= sent.await.unwrap_or(left);
        }
    });
    let mut space = [0; 64];
    loop {
        let read = other.read_with(|mut socket| std::io::Read::read(&mut socket, &mut space));
        if read.await.unwrap_or(0) == 0 {
            break;
        }
    }
    writes.await.unwrap_or(());
}

/// Waits for a thread that wakes it, and then some.
async fn woken_from_outside() {
    let state = Arc::new((AtomicWaker::new(), AtomicBool::new(false)));
    let theirs = state.clone();
    Handle::current().spawn_blocking(move || {
        theirs.0.wake();
        theirs.1.store(true, Ordering::SeqCst);
        theirs.0.wake();
        theirs.0.wake();
    });
    std::future::poll_fn(|context| {
        state.0.register(context.waker());
        match state.1.load(Ordering::SeqCst) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}
