//! Tasks that find everything ready give way to others.

mod support;

use futures::future::join_all;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use support::{each_runtime, limit};
use windlass_executor::{
    CancellationToken, JoinHandle, Runtime, block_on, spawn, spawn_local, yield_now,
};
use windlass_reactor::budget::unconstrained;
use windlass_reactor::time::{interval_at, sleep, sleep_until, timeout};
use windlass_reactor::{Async, Direction, Taken};

/// How many operations a task may do in one poll, where nothing else is said.
const DEFAULT: usize = 64;

/// A socket that is never waited for: what is written there can be read here.
struct Loop {
    here: Async<UnixStream>,
    there: Async<UnixStream>,
}

impl Loop {
    fn new() -> Self {
        let (here, there) = UnixStream::pair().unwrap();
        Self {
            here: Async::new(here).unwrap(),
            there: Async::new(there).unwrap(),
        }
    }

    async fn write(&self) {
        let written = self.there.write_with(|mut end| end.write(b"x")).await;
        assert_eq!(written.unwrap(), 1);
    }

    async fn read(&self) {
        let read = self.here.read_with(|mut end| end.read(&mut [0])).await;
        assert_eq!(read.unwrap(), 1);
    }

    /// Does operations without end, each of which tells `done`.
    async fn spin(&self, done: impl Fn()) {
        loop {
            self.write().await;
            done();
            self.read().await;
            done();
        }
    }
}

/// Runs `hog` beside a neighbour who asks for nothing but a turn now and then; returns the largest
/// number of operations that it was kept waiting for.
fn longest_wait<F>(runtime: &Runtime, turns: usize, hog: impl FnOnce(Rc<Cell<usize>>) -> F) -> usize
where
    F: Future + 'static,
{
    let _limit = limit();
    runtime.block_on(async {
        let operations = Rc::new(Cell::new(0));
        let hog = spawn_local(hog(operations.clone()));
        let neighbour = spawn_local(async move {
            yield_now().await;
            let mut longest = 0;
            for _ in 0..turns {
                operations.set(0);
                yield_now().await;
                longest = longest.max(operations.get());
            }
            longest
        });
        let longest = neighbour.await.unwrap();
        hog.abort();
        let _ = hog.await;
        longest
    })
}

fn counts(operations: &Cell<usize>) -> impl Fn() {
    || operations.set(operations.get() + 1)
}

fn runtime() -> Runtime {
    support::runtime(1)
}

#[test]
fn a_task_whose_socket_is_always_ready_gives_way() {
    let longest = longest_wait(&runtime(), 100, async |operations: Rc<Cell<usize>>| {
        Loop::new().spin(counts(&operations)).await;
    });
    assert_eq!(longest, DEFAULT);
}

#[test]
fn the_builder_sets_the_budget() {
    let few = Runtime::builder().workers(1).budget(5).build().unwrap();
    let longest = longest_wait(&few, 100, async |operations: Rc<Cell<usize>>| {
        Loop::new().spin(counts(&operations)).await;
    });
    assert_eq!(longest, 5);
    let none = Runtime::builder().workers(1).budget(0).build().unwrap();
    let longest = longest_wait(&none, 100, async |operations: Rc<Cell<usize>>| {
        Loop::new().spin(counts(&operations)).await;
    });
    assert_eq!(longest, 1);
}

#[test]
fn waiting_for_readiness_that_is_there_gives_way() {
    let longest = longest_wait(&runtime(), 20, async |operations: Rc<Cell<usize>>| {
        let socket = Loop::new();
        loop {
            socket.there.writable().await.unwrap();
            counts(&operations)();
            poll_fn(|context| socket.there.poll_writable(context))
                .await
                .unwrap();
            counts(&operations)();
        }
    });
    assert_eq!(longest, DEFAULT);
}

#[test]
fn timers_that_are_due_give_way() {
    let past = Instant::now() - Duration::from_secs(1);
    let longest = longest_wait(&runtime(), 20, async move |operations: Rc<Cell<usize>>| {
        let mut ticks = interval_at(past, Duration::from_nanos(1));
        loop {
            sleep_until(past).await;
            counts(&operations)();
            ticks.tick().await;
            counts(&operations)();
            let never = timeout(Duration::ZERO, std::future::pending::<()>()).await;
            assert!(never.is_err());
            counts(&operations)();
        }
    });
    // The end of a timeout is never put off, and counts nevertheless.
    assert!((DEFAULT..=DEFAULT + 1).contains(&longest), "{longest}");
}

#[test]
fn results_of_tasks_give_way() {
    let longest = longest_wait(&runtime(), 2_000, async |operations: Rc<Cell<usize>>| {
        loop {
            let tasks: Vec<_> = (0..200).map(|_| spawn(async {})).collect();
            while !tasks.iter().all(JoinHandle::is_finished) {
                yield_now().await;
            }
            for task in tasks {
                task.await.unwrap();
                counts(&operations)();
            }
        }
    });
    assert_eq!(longest, DEFAULT);
}

#[test]
fn waits_for_what_is_cancelled_give_way() {
    type Wait = fn(CancellationToken) -> Pin<Box<dyn Future<Output = ()>>>;
    let ways: [(&str, Wait); 3] = [
        ("borrowed", |token| {
            Box::pin(async move { token.cancelled().await })
        }),
        ("owned", |token| Box::pin(token.cancelled_owned())),
        ("run until", |token| {
            Box::pin(async move {
                // The future is not begun, also when the budget is used up.
                let never = poll_fn(|_| panic!("it is polled"));
                assert_eq!(token.run_until_cancelled(never).await, None::<()>);
            })
        }),
    ];
    for (way, wait) in ways {
        let longest = longest_wait(
            &runtime(),
            20,
            move |operations: Rc<Cell<usize>>| async move {
                let token = CancellationToken::new();
                token.cancel();
                loop {
                    wait(token.clone()).await;
                    counts(&operations)();
                }
            },
        );
        assert_eq!(longest, DEFAULT, "{way}");
    }
}

#[test]
fn polls_that_use_up_their_budget_are_counted() {
    let _limit = limit();
    let runtime = Runtime::builder().workers(1).budget(5).build().unwrap();
    runtime.block_on(async {
        let socket = Loop::new();
        // The first refusal of a poll counts, however many there are.
        spawn_local(async move {
            for _ in 0..10 {
                socket.write().await;
                socket.read().await;
            }
            join_all((0..20).map(|_| socket.write())).await;
        })
        .await
        .unwrap();
    });
    // 40 operations, five a poll; and the results of joining take none that is refused.
    let used_up = runtime.metrics().total().budgets_used_up;
    assert!((7..=8).contains(&used_up), "{used_up}");
    runtime.block_on(async {
        for _ in 0..100 {
            yield_now().await;
        }
    });
    assert_eq!(runtime.metrics().total().budgets_used_up, used_up);
}

#[test]
fn connections_that_wait_to_be_accepted_give_way() {
    let runtime = Runtime::builder().workers(1).budget(8).build().unwrap();
    let longest = longest_wait(&runtime, 10, async |operations: Rc<Cell<usize>>| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let clients: Vec<_> = (0..100).map(|_| TcpStream::connect(address)).collect();
        assert!(clients.iter().all(Result::is_ok));
        let listener = Async::new(listener).unwrap();
        loop {
            listener.read_with(TcpListener::accept).await.unwrap();
            counts(&operations)();
        }
    });
    assert_eq!(longest, 8);
}

#[test]
fn unconstrained_futures_go_on() {
    let longest = longest_wait(&runtime(), 4, async |operations: Rc<Cell<usize>>| {
        let socket = Loop::new();
        loop {
            unconstrained(async {
                for _ in 0..1_000 {
                    socket.write().await;
                    counts(&operations)();
                    socket.read().await;
                }
            })
            .await;
            // What was done in there is nobody's loss.
            for _ in 0..DEFAULT / 2 {
                socket.write().await;
                socket.read().await;
            }
            yield_now().await;
        }
    });
    assert_eq!(longest, 1_000);
}

#[test]
fn floods_starve_neither_sockets_nor_timers_nor_aborts() {
    each_runtime(|runtime| {
        runtime.block_on(async {
            let done = Arc::new(AtomicUsize::new(0));
            // One for each worker, at least.
            let hogs: Vec<_> = (0..5).map(|_| spawn(flood(done.clone()))).collect();
            sleep(Duration::from_millis(5)).await;
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let ours = Async::new(ours).unwrap();
            let neighbour = spawn(async move {
                for _ in 0..20 {
                    ours.read_with(|mut end| end.read(&mut [0])).await.unwrap();
                    ours.write_with(|mut end| end.write(b"y")).await.unwrap();
                    sleep(Duration::from_micros(100)).await;
                }
            });
            let peer = windlass_executor::spawn_blocking(move || {
                for _ in 0..20 {
                    theirs.write_all(b"x").unwrap();
                    theirs.read_exact(&mut [0]).unwrap();
                }
            });
            neighbour.await.unwrap();
            peer.await.unwrap();
            assert!(done.load(Ordering::Relaxed) > 0);
            let limited = timeout(Duration::from_millis(5), flood(done.clone()));
            assert!(limited.await.is_err(), "the root future is one, too");
            for hog in hogs {
                hog.abort();
                assert!(hog.await.unwrap_err().is_cancelled());
            }
        });
    });
}

async fn flood(done: Arc<AtomicUsize>) {
    let count = || {
        done.fetch_add(1, Ordering::Relaxed);
    };
    Loop::new().spin(count).await;
}

/// Bytes that are read one by one, by futures that are dropped when they are not done at once.
#[test]
fn nothing_is_lost_when_an_operation_is_put_off() {
    let _limit = limit();
    let count = 10_000;
    let ends = UnixStream::pair().unwrap();
    let (ours, theirs) = (Async::new(ends.0).unwrap(), Async::new(ends.1).unwrap());
    runtime().block_on(async {
        spawn(async move {
            for number in 0..count {
                let byte = [number as u8];
                let mut written = 0;
                while written == 0 {
                    let write = theirs.write_with(|mut end| end.write(&byte));
                    written = give_up_or_wait(pin!(write)).await.map_or(0, Result::unwrap);
                }
            }
        });
        let mut given_up = 0;
        for number in 0..count {
            let mut space = [0];
            loop {
                let read = ours.io_with(Direction::Read, |mut end| {
                    end.read(&mut space).map(Taken::Some)
                });
                match give_up_or_wait(pin!(read)).await {
                    Some(read) => break assert_eq!(read.unwrap(), 1),
                    None => given_up += 1,
                }
            }
            assert_eq!(space, [number as u8]);
        }
        assert!(given_up >= count / DEFAULT, "{given_up}");
    });
}

/// Polls `future` once; if it is pending, the task is polled again before this is.
async fn give_up_or_wait<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    let mut is_first = true;
    poll_fn(move |context: &mut Context<'_>| {
        if !std::mem::take(&mut is_first) {
            return Poll::Ready(None);
        }
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[test]
fn block_on_within_a_task_has_a_budget_of_its_own() {
    let _limit = limit();
    block_on(async {
        let socket = Loop::new();
        let operations = async |count| {
            for _ in 0..count / 2 {
                socket.write().await;
                socket.read().await;
            }
        };
        // This one knows nothing of budgets, and polls again at once.
        futures::executor::block_on(operations(10_000));
        yield_now().await;
        let within_one_budget = async {
            operations(10).await;
            block_on(operations(1_000));
            operations(DEFAULT - 10).await;
        };
        assert_eq!(polls_of(within_one_budget).await, 1);
        assert_eq!(polls_of(operations(2)).await, 2);
    });
}

/// Runs `future` and says in how many polls.
async fn polls_of(future: impl Future<Output = ()>) -> usize {
    let mut future = pin!(future);
    let mut polls = 0;
    poll_fn(|context| {
        polls += 1;
        future.as_mut().poll(context)
    })
    .await;
    polls
}

#[test]
fn other_executors_grant_nothing_and_know_no_end() {
    let _limit = limit();
    let socket = Loop::new();
    let polls = futures::executor::block_on(polls_of(async {
        for _ in 0..10_000 {
            socket.write().await;
            socket.read().await;
        }
    }));
    assert_eq!(polls, 1);
}

#[test]
fn joining_many_ready_futures_takes_few_polls() {
    let _limit = limit();
    let polls = Rc::new(Cell::new(0));
    block_on(async {
        let one = |polls: Rc<Cell<usize>>| async move {
            let socket = Loop::new();
            let mut writing = pin!(socket.write());
            poll_fn(|context| {
                polls.set(polls.get() + 1);
                writing.as_mut().poll(context)
            })
            .await;
        };
        join_all((0..400).map(|_| one(polls.clone()))).await;
    });
    assert!(polls.get() < 1_000, "{}", polls.get());
}
