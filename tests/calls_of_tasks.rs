//! What tasks cost in system calls, on epoll: each test runs itself again in a child, twice under
//! strace, and looks at what the longer run has called more often.

mod support;

use futures_util::task::AtomicWaker;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;
use support::LIMIT;
use support::ball::throw_a_ball;
use support::child;
use support::trace::{MEMORY, SLACK, WAITS, assert_none, compare, run};
use windlass::time::{sleep, timeout};
use windlass::{Runtime, spawn, yield_now};

#[test]
fn a_wake_on_the_own_worker_is_no_call() {
    let rounds = (1_000, 101_000);
    compare(
        "a_wake_on_the_own_worker_is_no_call",
        rounds,
        |rounds| {
            run(1, throw_a_ball(rounds));
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

/// Fails unless looks at I/O came by the time that passed: one every some rounds, the fewer the
/// slower the machine is at the moment, but never one for each.
#[track_caller]
fn assert_by_time(looks: i64, rounds: i64) {
    assert!(
        looks <= rounds / 2,
        "{looks} looks at I/O in {rounds} rounds"
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
            assert_by_time(calls.of(WAITS), 50_000);
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
            assert_by_time(calls.of(WAITS), 50_000);
        },
    );
}

// Whoever is woken by its own worker is polled next, so that there is nobody to notify.
#[test]
fn a_sleep_of_the_root_future_is_one_wait() {
    let rounds = (20, 520);
    compare(
        "a_sleep_of_the_root_future_is_one_wait",
        rounds,
        |rounds| {
            let sleeps = async {
                for _ in 0..rounds {
                    sleep(Duration::from_micros(300)).await;
                }
            };
            windlass::block_on(async { timeout(LIMIT, sleeps).await.expect("it takes too long") });
        },
        |_, _| (),
        |calls| {
            assert_none(calls.besides(&[WAITS, MEMORY]));
            // A thread that is held up on its way into the wait has none to make any more.
            let waits = calls.of(WAITS);
            assert!(waits <= 500 + SLACK, "{waits} waits for 500 sleeps");
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
