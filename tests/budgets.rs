//! What things cost in allocations, counted by an allocator of the test's own on the thread that
//! does them: what a longer run allocates more than a shorter one.
//!
//! What the reactor does by itself is counted by its own tests.

mod support;

use futures_util::task::AtomicWaker;
use std::future::{pending, poll_fn};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream as StdTcpStream};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;
use support::ball::throw_a_ball;
use support::{LIMIT, allocations};
use windlass::net::{TcpListener, TcpStream};
use windlass::time::{sleep, timeout};
use windlass::{Runtime, spawn, spawn_local, yield_now};

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

/// So often each thing is done, in the shorter run and in the longer one.
const ROUNDS: (usize, usize) = (100, 1_100);
/// What two runs may differ by besides: a table grows, or something that another thread does comes
/// earlier or later.
const SLACK: usize = 8;

/// How many allocations `work`, done in a runtime of one worker, makes for a thousand rounds.
fn of_a_thousand<F: Future>(work: impl Fn(usize) -> F) -> isize {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let run = |rounds| {
        runtime.block_on(async { timeout(LIMIT, work(rounds)).await.expect("it hangs") });
    };
    run(ROUNDS.1);
    let few = allocations::of(|| run(ROUNDS.0));
    let many = allocations::of(|| run(ROUNDS.1));
    many as isize - few as isize
}

#[track_caller]
fn assert_costs(allocations: isize, each: usize) {
    let expected = (each * (ROUNDS.1 - ROUNDS.0)) as isize;
    assert!(
        allocations.abs_diff(expected) <= SLACK,
        "{allocations} for a thousand, instead of {each} each"
    );
}

/// The memory of a task that is over is that of the next.
#[test]
fn tasks_one_after_the_other_are_no_allocation() {
    let joined = of_a_thousand(async |rounds| {
        for _ in 0..rounds {
            spawn(async { [0_u8; 100] }).await.unwrap();
        }
    });
    assert_costs(joined, 0);
    let local = of_a_thousand(async |rounds| {
        for _ in 0..rounds {
            spawn_local(yield_now()).await.unwrap();
        }
    });
    assert_costs(local, 0);
    let detached = of_a_thousand(async |rounds| {
        for _ in 0..rounds {
            drop(spawn(async {}));
            yield_now().await;
        }
    });
    assert_costs(detached, 0);
    let aborted = of_a_thousand(async |rounds| {
        for _ in 0..rounds {
            let task = spawn(pending::<()>());
            yield_now().await;
            task.abort();
            assert!(task.await.is_err());
        }
    });
    // Which is the error.
    assert_costs(aborted, 1);
}

#[test]
fn a_large_task_is_one_allocation() {
    let joined = of_a_thousand(async |rounds| {
        for _ in 0..rounds {
            spawn(async { [0_u8; 2000] }).await.unwrap();
        }
    });
    assert_costs(joined, 1);
}

#[test]
fn many_tasks_at_once_are_one_allocation_each() {
    let spawned = of_a_thousand(async |rounds| {
        let left = Arc::new(AtomicUsize::new(rounds));
        for _ in 0..rounds {
            let left = left.clone();
            spawn(async move {
                yield_now().await;
                left.fetch_sub(1, Ordering::SeqCst);
            });
        }
        while left.load(Ordering::SeqCst) > 0 {
            yield_now().await;
        }
    });
    // The queues and tables are as large as they have been in the run before.
    assert_costs(spawned, 1);
}

#[test]
fn a_wake_is_no_allocation() {
    let yielded = of_a_thousand(async |rounds| {
        for _ in 0..rounds {
            yield_now().await;
        }
    });
    assert_costs(yielded, 0);

    let thrown = of_a_thousand(throw_a_ball);
    assert_costs(thrown, 0);
}

#[test]
fn a_wake_by_another_thread_is_no_allocation() {
    let woken = of_a_thousand(async |rounds| {
        let (thrown, waker) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicWaker::new()));
        let caught = Arc::new(AtomicUsize::new(0));
        let thread = {
            let (thrown, waker, caught) = (thrown.clone(), waker.clone(), caught.clone());
            thread::spawn(move || {
                for number in 1..=rounds {
                    thrown.store(number, Ordering::SeqCst);
                    waker.wake();
                    while caught.load(Ordering::SeqCst) < number {
                        thread::yield_now();
                    }
                }
            })
        };
        let task = spawn(poll_fn(move |context| {
            waker.register(context.waker());
            let now = thrown.load(Ordering::SeqCst);
            caught.store(now, Ordering::SeqCst);
            if now == rounds {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        }));
        task.await.unwrap();
        thread.join().unwrap();
    });
    assert_costs(woken, 0);
}

#[test]
fn a_timeout_that_does_not_run_out_is_no_allocation() {
    let slept = of_a_thousand(async |rounds| {
        for _ in 0..rounds {
            assert!(timeout(LIMIT, yield_now()).await.is_ok());
            let mut hour = pin!(sleep(Duration::from_secs(3_600)));
            let polled = poll_fn(|context| Poll::Ready(hour.as_mut().poll(context))).await;
            assert!(polled.is_pending());
        }
    });
    assert_costs(slept, 0);
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn connect(address: SocketAddr) -> StdTcpStream {
    let stream = StdTcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

/// Reads once, and writes that back.
async fn answer(stream: TcpStream) {
    let mut space = [0; 64];
    let count = stream.read(&mut space).await.unwrap();
    stream.write_all(&space[..count]).await.unwrap();
}

/// Accepted, read from, written to and closed, by a task of its own, in the memory of the last.
#[test]
fn a_connection_that_is_served_at_once_is_no_allocation() {
    let served = of_a_thousand(async |connections| {
        let (listener, address) = listen().await;
        for _ in 0..connections {
            let mut client = connect(address);
            client.write_all(&[1; 64]).unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            spawn(answer(stream)).await.unwrap();
            client.read_exact(&mut [0; 64]).unwrap();
        }
    });
    assert_costs(served, 0);
}

/// A connection that waits has been registered, which is one allocation.
#[test]
fn a_connection_that_waits_is_one_allocation() {
    let waited = of_a_thousand(async |connections| {
        let (listener, address) = listen().await;
        for _ in 0..connections {
            let mut client = connect(address);
            let (stream, _) = listener.accept().await.unwrap();
            let serve = spawn(answer(stream));
            yield_now().await;
            client.write_all(&[1; 64]).unwrap();
            serve.await.unwrap();
        }
    });
    assert_costs(waited, 1);
}

#[test]
fn a_steady_echo_is_no_allocation() {
    let echoed = of_a_thousand(async |rounds| {
        let (listener, address) = listen().await;
        let thread = thread::spawn(move || {
            let mut client = connect(address);
            for _ in 0..rounds {
                client.write_all(&[1; 64]).unwrap();
                client.read_exact(&mut [0; 64]).unwrap();
            }
        });
        let (stream, _) = listener.accept().await.unwrap();
        let echo = async move {
            let mut space = [0; 256];
            while let Ok(count @ 1..) = stream.read(&mut space).await {
                stream.write_all(&space[..count]).await.unwrap();
            }
        };
        spawn(echo).await.unwrap();
        thread.join().unwrap();
    });
    assert_costs(echoed, 0);
}
