//! A runtime whose clock is paused.

mod support;

use std::cell::RefCell;
use std::future::pending;
use std::io::ErrorKind;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use windlass_executor::{Runtime, spawn, spawn_blocking, spawn_local, yield_now};
use windlass_reactor::time::{advance, interval, now, sleep, timeout};
use windlass_reactor::{Async, Backend};

const HOUR: Duration = Duration::from_secs(3600);

/// Runs `test` with a paused runtime on every back end, and sees to it that it takes no time.
fn each_paused(test: impl Fn(&Runtime)) {
    for backend in Backend::available() {
        println!("{backend}");
        let _limit = support::limit();
        let builder = Runtime::builder().backend(backend);
        test(&builder.paused_clock().build().unwrap());
    }
}

#[test]
fn tasks_sleep_for_hours_in_no_time_and_in_the_same_order_always() {
    each_paused(|runtime| {
        let run = || {
            runtime.block_on(async {
                let begin = now();
                let log = Rc::new(RefCell::new(Vec::new()));
                let tasks: Vec<_> = [3_u32, 1, 2, 3, 1]
                    .into_iter()
                    .enumerate()
                    .map(|(number, hours)| {
                        let log = log.clone();
                        spawn_local(async move {
                            for _ in 0..3 {
                                sleep(hours * HOUR).await;
                                yield_now().await;
                                log.borrow_mut().push((now() - begin, number));
                            }
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await.unwrap();
                }
                log.take()
            })
        };
        let first = run();
        assert!(first.is_sorted_by_key(|(time, _)| *time), "{first:?}");
        assert_eq!(first.last().unwrap().0, 9 * HOUR);
        for _ in 0..50 {
            assert_eq!(run(), first);
        }
    });
}

#[test]
fn a_task_that_is_ready_runs_before_the_time_moves() {
    each_paused(|runtime| {
        runtime.block_on(async {
            let begin = now();
            let sleeper = spawn(sleep(HOUR));
            for _ in 0..1_000 {
                yield_now().await;
                assert_eq!(now(), begin);
            }
            sleeper.await.unwrap();
            assert_eq!(now(), begin + HOUR);
        });
    });
}

#[test]
fn a_blocking_job_holds_the_time_until_its_result_is_taken() {
    each_paused(|runtime| {
        runtime.block_on(async {
            let begin = now();
            let job = spawn_blocking(|| thread::sleep(Duration::from_millis(10)));
            assert!(timeout(HOUR, job).await.is_ok());
            assert_eq!(now(), begin);
            // Also one that nobody waits for.
            let (done, wait) = mpsc::channel();
            drop(spawn_blocking(move || {
                thread::sleep(Duration::from_millis(10));
                done.send(()).unwrap();
            }));
            sleep(HOUR).await;
            wait.try_recv().expect("the job was not waited for");
            assert_eq!(now(), begin + HOUR);
        });
    });
}

#[test]
fn io_holds_the_time_and_does_not_when_it_is_over() {
    each_paused(|runtime| {
        use std::io::{Read, Write};
        use std::os::unix::net::UnixStream;
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let ours = Async::new(ours).unwrap();
        runtime.block_on(async {
            let begin = now();
            let writer = thread::spawn(move || {
                thread::sleep(Duration::from_millis(10));
                theirs.write_all(b"x").unwrap();
                theirs
            });
            let read = ours.read_with(|mut stream| stream.read(&mut [0; 8]));
            assert_eq!(timeout(HOUR, read).await.unwrap().unwrap(), 1);
            assert_eq!(now(), begin);
            sleep(HOUR).await;
            assert_eq!(now(), begin + HOUR);
            // A read that never ends is given up when the time is moved by hand.
            let reading = spawn(async move {
                let read = ours.read_with(|mut stream| stream.read(&mut [0; 8]));
                timeout(HOUR, read).await.is_err()
            });
            advance(2 * HOUR).await;
            assert!(reading.is_finished());
            assert!(reading.await.unwrap());
            drop(writer.join());
        });
    });
}

#[test]
fn whoever_advances_finds_done_what_was_due() {
    each_paused(|runtime| {
        runtime.block_on(async {
            let begin = now();
            let ticks = spawn(async move {
                let mut ticks = interval(HOUR);
                for number in 0..10 {
                    assert_eq!(ticks.tick().await, begin + number * HOUR);
                }
            });
            advance(9 * HOUR - Duration::from_nanos(1)).await;
            assert!(!ticks.is_finished());
            advance(Duration::from_nanos(1)).await;
            assert!(ticks.is_finished());
            assert!(timeout(HOUR, pending::<()>()).await.is_err());
            assert_eq!(now(), begin + 10 * HOUR);
        });
    });
}

#[test]
fn the_time_stays_where_it_was_between_two_calls() {
    each_paused(|runtime| {
        let end = runtime.block_on(async {
            sleep(HOUR).await;
            now()
        });
        let task = runtime.spawn(async move {
            assert_eq!(now(), end);
            sleep(HOUR).await;
            now()
        });
        assert_eq!(runtime.block_on(task).unwrap(), end + HOUR);
    });
}

#[test]
fn a_paused_clock_takes_one_worker() {
    let build = |workers| Runtime::builder().workers(workers).paused_clock().build();
    let error = build(2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("paused"), "{error}");
    build(1).unwrap();
}

#[test]
fn other_runtimes_have_the_real_clock() {
    let _limit = support::limit();
    let _paused = Runtime::builder().paused_clock().build().unwrap();
    let nap = Duration::from_millis(2);
    support::each_runtime(|runtime| {
        let took = runtime.block_on(async move {
            let begin = Instant::now();
            sleep(nap).await;
            assert!(now() >= begin + nap);
            begin.elapsed()
        });
        assert!(took >= nap);
    });
}

#[test]
#[should_panic(expected = "paused_clock")]
fn a_real_clock_is_not_advanced() {
    support::runtime(1).block_on(async { advance(HOUR).await });
}
