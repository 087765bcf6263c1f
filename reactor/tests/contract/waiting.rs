//! How long a wait lasts.

use crate::support::system::{interrupted_by, on_signal};
use crate::support::{LONG, each_poller, look_until, shortest_wait};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use windlass_reactor::{Events, Poller};

/// A busy machine may be late, but not by this.
const LATE: Duration = Duration::from_secs(2);

/// Waits, and returns how long that took.
fn time_of_wait(poller: &Poller, timeout: Duration) -> Duration {
    let start = Instant::now();
    let count = poller.wait(&mut Events::new(), Some(timeout)).unwrap();
    let took = start.elapsed();
    assert_eq!(count, 0);
    took
}

#[test]
fn a_wait_is_never_early_and_late_within_reason() {
    each_poller(|poller| {
        for timeout in [0, 1, 900, 1_000, 1_500, 20_000] {
            let timeout = Duration::from_micros(timeout);
            let took: Vec<_> = (0..10).map(|_| time_of_wait(poller, timeout)).collect();
            assert!(
                took.iter().all(|took| *took >= timeout),
                "{timeout:?}: {took:?}"
            );
            assert!(
                took.iter().all(|took| *took < timeout + LATE),
                "{timeout:?}: {took:?}"
            );
            let shortest = match timeout {
                Duration::ZERO => Duration::ZERO,
                _ => shortest_wait(poller.backend()),
            };
            // On a machine that is not busy just then, it is not late by a whole millisecond.
            let in_time = timeout.max(shortest) + Duration::from_micros(2_500);
            let is_in_time = |_| time_of_wait(poller, timeout) < in_time;
            assert!((0..500).any(is_in_time), "{timeout:?}: {took:?}");
        }
    });
}

#[test]
fn no_timeout_does_not_block() {
    each_poller(|poller| {
        let took = (0..20).map(|_| time_of_wait(poller, Duration::ZERO)).min();
        assert!(took.unwrap() < Duration::from_millis(1), "{took:?}");
    });
}

#[test]
fn a_timeout_that_is_too_long_to_reckon_with_is_for_ever() {
    let month = Duration::from_secs(30 * 24 * 60 * 60);
    let near_the_end = Duration::from_nanos(u64::MAX - 1);
    each_poller(|poller| {
        for timeout in [Some(month), Some(near_the_end), Some(Duration::MAX), None] {
            let is_over = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    poller.wait(&mut Events::new(), timeout).unwrap();
                    is_over.store(true, Ordering::SeqCst);
                });
                thread::sleep(Duration::from_millis(10));
                assert!(!is_over.load(Ordering::SeqCst), "{timeout:?}");
                poller.notify().unwrap();
                look_until(|| is_over.load(Ordering::SeqCst));
            });
        }
    });
}

#[test]
fn a_wait_for_ever_is_not_ended_by_an_earlier_timeout() {
    each_poller(|poller| {
        time_of_wait(poller, Duration::from_millis(1));
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                poller.wait(&mut Events::new(), None).unwrap();
                is_over.store(true, Ordering::SeqCst);
            });
            thread::sleep(Duration::from_millis(10));
            assert!(!is_over.load(Ordering::SeqCst));
            poller.notify().unwrap();
        });
    });
}

#[test]
fn signals_neither_shorten_nor_lengthen_a_wait() {
    static ARRIVALS: AtomicUsize = AtomicUsize::new(0);
    on_signal(libc::SIGALRM, || {
        ARRIVALS.fetch_add(1, Ordering::SeqCst);
    });
    each_poller(|poller| {
        let timeout = Duration::from_millis(200);
        let before = ARRIVALS.load(Ordering::SeqCst);
        // On a busy machine few of them may come during one wait.
        let mut arrivals = 0;
        for _ in 0..20 {
            let took = interrupted_by(libc::SIGALRM, || time_of_wait(poller, timeout));
            assert!(took >= timeout && took < timeout + LATE, "{took:?}");
            arrivals = ARRIVALS.load(Ordering::SeqCst) - before;
            if arrivals > 3 {
                break;
            }
        }
        assert!(arrivals > 3, "only {arrivals} signals came");
    });
}

#[test]
fn a_second_waiter_is_told_that_it_is_one() {
    each_poller(|poller| {
        let has_begun = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                has_begun.store(true, Ordering::SeqCst);
                poller.wait(&mut Events::new(), None).unwrap();
            });
            look_until(|| has_begun.load(Ordering::SeqCst));
            let end = Instant::now() + LONG;
            // Until the other one is inside, we may be the first.
            loop {
                match poller.wait(&mut Events::new(), Some(Duration::ZERO)) {
                    Ok(_) => assert!(Instant::now() < end),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::ResourceBusy);
                        break;
                    }
                }
                thread::yield_now();
            }
            poller.notify().unwrap();
        });
        time_of_wait(poller, Duration::ZERO);
    });
}
