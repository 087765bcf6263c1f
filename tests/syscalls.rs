//! What things cost in system calls, on epoll: each test runs itself again in a child, twice under
//! strace, and looks at what the longer run has called more often.

mod support;

use futures_util::task::AtomicWaker;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream as StdTcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;
use support::LIMIT;
use support::child::{self, Running};
use support::trace::{self, Calls, MEMORY, WAITS};
use windlass::net::{TcpListener, TcpStream};
use windlass::time::timeout;
use windlass::{Runtime, spawn, yield_now};

/// What may differ between two runs by chance, as when a thread is held up in between.
const SLACK: i64 = 5;
/// A connection's message.
const MESSAGE: [u8; 64] = [7; 64];

/// Runs `child` with the number of rounds, if this is a child; else compares two of them.
fn compare(
    name: &str,
    rounds: (usize, usize),
    child: impl FnOnce(usize),
    parent: impl Fn(&mut Running, usize),
    check: impl FnOnce(Calls),
) {
    if let Some(rounds) = child::rounds() {
        return child(rounds);
    }
    if trace::is_possible() {
        check(trace::difference(name, rounds, parent));
    }
}

#[track_caller]
fn assert_near(calls: i64, expected: i64) {
    let range = expected - SLACK..=expected + SLACK;
    assert!(range.contains(&calls), "{calls} instead of {expected}");
}

#[track_caller]
fn assert_none(calls: i64) {
    assert!(calls <= SLACK, "{calls} instead of none");
}

fn run<F: Future>(workers: usize, future: F) -> F::Output {
    let runtime = Runtime::builder().workers(workers).build().unwrap();
    runtime.block_on(async { timeout(LIMIT, future).await.expect("it takes too long") })
}

async fn echo(stream: TcpStream) {
    let mut space = [0; 256];
    while let Ok(count @ 1..) = stream.read(&mut space).await {
        stream.write_all(&space[..count]).await.unwrap();
    }
}

/// Serves so many connections to their ends.
fn serve(connections: usize) {
    run(1, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        child::say_ready(listener.local_addr().ok());
        let mut tasks = Vec::new();
        for _ in 0..connections {
            let (stream, _) = listener.accept().await.unwrap();
            tasks.push(spawn(echo(stream)));
        }
        // All of them are to wait for their first message, in each run.
        for _ in 0..10 {
            yield_now().await;
        }
        child::say_ready(None);
        for task in tasks {
            task.await.unwrap();
        }
    });
}

fn connect(address: SocketAddr) -> StdTcpStream {
    let stream = StdTcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

#[test]
fn a_steady_echo_is_a_wait_a_read_and_a_write() {
    let rounds = (100, 1_100);
    compare(
        "a_steady_echo_is_a_wait_a_read_and_a_write",
        rounds,
        |_| serve(1),
        |child, rounds| {
            let mut stream = connect(child.wait_until_ready().unwrap());
            child.wait_until_ready();
            for _ in 0..rounds {
                stream.write_all(&MESSAGE).unwrap();
                stream.read_exact(&mut [0; 64]).unwrap();
            }
        },
        |calls| {
            assert_near(calls.of(&["recvfrom"]), 1_000);
            assert_near(calls.of(&["sendto"]), 1_000);
            assert_near(calls.of(WAITS), 1_000);
            assert_none(calls.besides(&[&["recvfrom", "sendto"], WAITS]));
            assert_none(calls.failed(&["recvfrom", "sendto"]));
        },
    );
}

#[test]
fn many_busy_connections_share_their_waits() {
    const CONNECTIONS: usize = 64;
    let rounds = (5, 55);
    compare(
        "many_busy_connections_share_their_waits",
        rounds,
        |_| serve(CONNECTIONS),
        |child, rounds| {
            let address = child.wait_until_ready().unwrap();
            let mut streams: Vec<_> = (0..CONNECTIONS).map(|_| connect(address)).collect();
            child.wait_until_ready();
            for _ in 0..rounds {
                streams
                    .iter_mut()
                    .for_each(|stream| stream.write_all(&MESSAGE).unwrap());
                streams
                    .iter_mut()
                    .for_each(|stream| stream.read_exact(&mut [0; 64]).unwrap());
            }
        },
        |calls| {
            let messages = (50 * CONNECTIONS) as i64;
            assert_near(calls.of(&["recvfrom"]), messages);
            assert_near(calls.of(&["sendto"]), messages);
            assert_none(calls.besides(&[&["recvfrom", "sendto"], WAITS]));
            assert_none(calls.failed(&["recvfrom", "sendto"]));
            // While it is traced every call takes so long that I/O is looked at after each task.
            let waits = calls.of(WAITS);
            assert!(waits <= messages + SLACK, "{waits} waits");
        },
    );
}

#[test]
fn a_connection_whose_request_is_there_is_served_without_being_registered() {
    let rounds = (20, 100);
    compare(
        "a_connection_whose_request_is_there_is_served_without_being_registered",
        rounds,
        |connections| {
            run(1, async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                child::say_ready(listener.local_addr().ok());
                // Every connection is there, and its request with it.
                child::wait_for_parent();
                for _ in 0..connections {
                    let (stream, _) = listener.accept().await.unwrap();
                    let serve = async move {
                        let mut space = [0; 256];
                        let count = stream.read(&mut space).await.unwrap();
                        stream.write_all(&space[..count]).await.unwrap();
                    };
                    spawn(serve).await.unwrap();
                }
            });
        },
        |child, connections| {
            let address = child.wait_until_ready().unwrap();
            let streams: Vec<_> = (0..connections)
                .map(|_| {
                    let mut stream = connect(address);
                    stream.write_all(&MESSAGE).unwrap();
                    stream
                })
                .collect();
            child.go_on();
            for mut stream in streams {
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer).unwrap();
                assert_eq!(answer, MESSAGE);
            }
        },
        |calls| {
            assert_eq!(calls.of(&["epoll_ctl"]), 0);
            for name in ["accept4", "recvfrom", "sendto", "close"] {
                assert_near(calls.of(&[name]), 80);
            }
            let once = ["accept4", "recvfrom", "sendto", "close"];
            // With its checks on, the standard library looks at each descriptor that it closes.
            let checks: &[&str] = if cfg!(debug_assertions) {
                &["fcntl"]
            } else {
                &[]
            };
            assert_none(calls.besides(&[&once, checks, WAITS, MEMORY]));
            // Looks at I/O between tasks, not waits of a connection.
            assert!(calls.of(WAITS) <= 80 + SLACK);
        },
    );
}

#[test]
fn a_wake_on_the_own_worker_is_no_call() {
    let rounds = (1_000, 101_000);
    compare(
        "a_wake_on_the_own_worker_is_no_call",
        rounds,
        |rounds| {
            run(1, async move {
                let ball = Arc::new((
                    AtomicUsize::new(0),
                    [AtomicWaker::new(), AtomicWaker::new()],
                ));
                // Two players: one has the even throws, one the odd ones.
                let players = [0, 1].map(|player| {
                    let ball = ball.clone();
                    spawn(poll_fn(move |context| {
                        let (throws, wakers) = &*ball;
                        wakers[player].register(context.waker());
                        if throws.load(Ordering::SeqCst) % 2 == player {
                            throws.fetch_add(1, Ordering::SeqCst);
                            wakers[1 - player].wake();
                        }
                        if throws.load(Ordering::SeqCst) > rounds {
                            Poll::Ready(())
                        } else {
                            Poll::Pending
                        }
                    }))
                });
                for player in players {
                    player.await.unwrap();
                }
            });
        },
        |_, _| (),
        |calls| {
            assert_none(calls.besides(&[WAITS, MEMORY]));
            // I/O is looked at by elapsed time, so that there are few looks to many wakes.
            let looks = calls.of(WAITS);
            assert!(looks <= 100_000 / 10, "{looks} looks at I/O");
        },
    );
}

#[test]
fn a_wake_by_another_thread_is_one_write_at_the_most() {
    // From none: how many of a hundred take a write is left to chance.
    let rounds = (0, 1_000);
    compare(
        "a_wake_by_another_thread_is_one_write_at_the_most",
        rounds,
        |rounds| {
            let (thrown, waker) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicWaker::new()));
            let (back, caught) = mpsc::channel();
            let thread = {
                let (thrown, waker) = (thrown.clone(), waker.clone());
                thread::spawn(move || {
                    for number in 1..=rounds {
                        thrown.store(number, Ordering::SeqCst);
                        waker.wake();
                        assert_eq!(caught.recv_timeout(LIMIT), Ok(number));
                    }
                })
            };
            let mut seen = 0;
            run(1, async {
                spawn(poll_fn(move |context| {
                    waker.register(context.waker());
                    let now = thrown.load(Ordering::SeqCst);
                    if now != seen {
                        seen = now;
                        back.send(now).unwrap();
                    }
                    if now == rounds {
                        Poll::Ready(())
                    } else {
                        Poll::Pending
                    }
                }))
                .await
                .unwrap();
            });
            thread.join().unwrap();
        },
        |_, _| (),
        |calls| {
            let writes = calls.of(&["write"]);
            assert!(writes <= 1_000 + SLACK, "{writes} writes");
            // And what it writes is read back by the wait, or by one call.
            assert!(calls.of(&["read"]) <= writes + SLACK);
        },
    );
}

// C21
#[test]
fn a_wake_by_another_thread_while_the_worker_runs_is_no_call() {
    let rounds = (0, 20_000);
    compare(
        "a_wake_by_another_thread_while_the_worker_runs_is_no_call",
        rounds,
        |rounds| {
            run(1, async {
                let polls = Arc::new(AtomicUsize::new(0));
                let waker = Arc::new(AtomicWaker::new());
                let stop = Arc::new(AtomicBool::new(false));
                let (polled, registers, stopped) = (polls.clone(), waker.clone(), stop.clone());
                let task = spawn(poll_fn(move |context| {
                    registers.register(context.waker());
                    polled.fetch_add(1, Ordering::SeqCst);
                    if stopped.load(Ordering::SeqCst) {
                        Poll::Ready(())
                    } else {
                        Poll::Pending
                    }
                }));
                let thread = thread::spawn(move || {
                    for _ in 0..rounds {
                        waker.wake();
                    }
                    stop.store(true, Ordering::SeqCst);
                    waker.wake();
                });
                // The worker never runs out of work, so it never sleeps.
                while !thread.is_finished() {
                    yield_now().await;
                }
                task.await.unwrap();
                assert!(polls.load(Ordering::SeqCst) > 0);
            });
        },
        |_, _| (),
        |calls| {
            assert_none(calls.of(&["write"]));
            assert_none(calls.of(&["read"]));
        },
    );
}

#[test]
fn a_spawn_is_no_call() {
    let rounds = (1_000, 51_000);
    compare(
        "a_spawn_is_no_call",
        rounds,
        |rounds| {
            run(1, async {
                for _ in 0..rounds {
                    spawn(async {}).await.unwrap();
                }
            });
        },
        |_, _| (),
        |calls| {
            assert_none(calls.besides(&[WAITS, MEMORY]));
            let looks = calls.of(WAITS);
            assert!(looks <= 50_000 / 10, "{looks} looks at I/O");
        },
    );
}

#[test]
fn a_sleep_is_no_call() {
    let rounds = (1_000, 51_000);
    compare(
        "a_sleep_is_no_call",
        rounds,
        |rounds| {
            run(1, async {
                for _ in 0..rounds {
                    // Polled, so that it is among the timers, and dropped.
                    let hour = Duration::from_secs(3_600);
                    let mut first = true;
                    let ready = poll_fn(|_| {
                        if std::mem::take(&mut first) {
                            return Poll::Pending;
                        }
                        Poll::Ready(())
                    });
                    let mut limited = std::pin::pin!(timeout(hour, ready));
                    poll_fn(|context| {
                        assert!(limited.as_mut().poll(context).is_pending());
                        Poll::Ready(())
                    })
                    .await;
                }
            });
        },
        |_, _| (),
        |calls| {
            assert_none(calls.besides(&[WAITS, MEMORY]));
            let looks = calls.of(WAITS);
            assert!(looks <= 50_000 / 10, "{looks} looks at I/O");
        },
    );
}

/// Blocks in a runtime of so many workers until the parent says that it is enough.
fn idle(workers: usize) {
    let (enough, wait) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicWaker::new()),
    );
    let (tells, wakes) = (enough.clone(), wait.clone());
    let listens = thread::spawn(move || {
        child::wait_for_parent();
        tells.store(true, Ordering::SeqCst);
        wakes.wake();
    });
    let runtime = Runtime::builder().workers(workers).build().unwrap();
    runtime.block_on(async {
        spawn(yield_now()).await.unwrap();
        child::say_ready(None);
        poll_fn(|context| {
            wait.register(context.waker());
            if enough.load(Ordering::SeqCst) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    });
    listens.join().unwrap();
}

fn expect_idle(name: &str, workers: usize) {
    // The rounds are milliseconds: a second more or less.
    let rounds = (100, 1_100);
    compare(
        name,
        rounds,
        |_| idle(workers),
        |child, milliseconds| {
            child.wait_until_ready();
            thread::sleep(Duration::from_millis(milliseconds as u64));
            child.go_on();
        },
        |calls| {
            assert_none(calls.of(WAITS));
            // Several threads don't start in the same steps each time.
            assert!(calls.besides(&[MEMORY]) <= 4 * SLACK, "{calls}");
        },
    );
}

#[test]
fn an_idle_runtime_of_one_worker_is_idle() {
    expect_idle("an_idle_runtime_of_one_worker_is_idle", 1);
}

#[test]
fn an_idle_runtime_of_four_workers_is_idle() {
    expect_idle("an_idle_runtime_of_four_workers_is_idle", 4);
}

/// The last thing that a connection does is to be closed; the peer sees the end, not a reset.
#[test]
fn a_served_connection_ends_in_order() {
    run(1, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let client = thread::spawn(move || {
            let mut stream = connect(address);
            stream.write_all(&MESSAGE).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            answer
        });
        let (stream, _) = listener.accept().await.unwrap();
        spawn(echo(stream)).await.unwrap();
        assert_eq!(client.join().unwrap(), MESSAGE);
    });
}
