//! Notifications: each ends the wait under way, or else the next one.

use crate::support::system::{Target, on_signal};
use crate::support::{LONG, TimeLimit, each_poller, look_until, wait};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};
use windlass_reactor::{Backend, Events, NotifierKind, Poller};

/// Waits for ever, on a thread of its own, and says whether it is over.
fn during_wait(poller: &Poller, meanwhile: impl FnOnce(&AtomicBool)) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let count = poller.wait(&mut Events::new(), None).unwrap();
            assert_eq!(count, 0, "a notification is no event");
            is_over.store(true, Ordering::SeqCst);
        });
        meanwhile(&is_over);
        look_until(|| is_over.load(Ordering::SeqCst));
    });
}

/// How long a wait lasts that nothing ends but its timeout.
fn expect_to_last(poller: &Poller) {
    let (timeout, start) = (Duration::from_millis(5), Instant::now());
    assert!(wait(poller, timeout).is_empty());
    assert!(start.elapsed() >= timeout, "ended by an old notification");
}

#[test]
fn a_notification_before_the_wait_ends_it() {
    each_poller(|poller| {
        for _ in 0..20 {
            poller.notify().unwrap();
            during_wait(poller, |_| {});
            expect_to_last(poller);
        }
    });
}

#[test]
fn a_notification_during_the_wait_ends_it() {
    each_poller(|poller| {
        for _ in 0..20 {
            during_wait(poller, |is_over| {
                thread::sleep(Duration::from_micros(500));
                assert!(!is_over.load(Ordering::SeqCst));
                poller.notify().unwrap();
            });
            expect_to_last(poller);
        }
    });
}

#[test]
fn several_notifications_count_as_one() {
    each_poller(|poller| {
        for _ in 0..5 {
            for _ in 0..3 {
                poller.notify().unwrap();
            }
            during_wait(poller, |_| {});
            expect_to_last(poller);
            poller.notify().unwrap();
            during_wait(poller, |_| {});
            expect_to_last(poller);
        }
    });
}

// Every number that is handed over is seen, whatever the other thread is doing.
#[test]
fn no_notification_of_a_hundred_thousand_is_lost() {
    const COUNT: u64 = 100_000;
    each_poller(|poller| {
        let handed_over = AtomicU64::new(0);
        let seen = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 1..=COUNT {
                    handed_over.store(number, Ordering::Release);
                    poller.notify().unwrap();
                    if number % 64 == 0 {
                        let is_seen = || seen.load(Ordering::Acquire) == number;
                        let end = Instant::now() + LONG;
                        while !is_seen() {
                            assert!(Instant::now() < end, "{number} was not seen");
                            thread::yield_now();
                        }
                    }
                }
            });
            let mut events = Events::new();
            while seen.load(Ordering::Relaxed) < COUNT {
                poller.wait(&mut events, None).unwrap();
                seen.store(handed_over.load(Ordering::Acquire), Ordering::Release);
            }
        });
        // The last of them may have come after the last wait.
        wait(poller, Duration::ZERO);
        expect_to_last(poller);
    });
}

// A signal that comes with a notification doesn't swallow it. The handler notifies, so
// that the notification always comes when the kernel has given up the wait, before it is over.
#[test]
fn a_notification_that_comes_with_a_signal_is_not_lost() {
    static POLLERS: OnceLock<Vec<Poller>> = OnceLock::new();
    static CURRENT: AtomicUsize = AtomicUsize::new(0);
    let mut pollers = Vec::new();
    for backend in Backend::available() {
        let kinds = NotifierKind::ALL.iter();
        pollers.extend(kinds.filter_map(|kind| Poller::with_notifier(backend, *kind).ok()));
    }
    POLLERS.set(pollers).unwrap();
    on_signal(libc::SIGUSR2, || {
        let _ = POLLERS.get().unwrap()[CURRENT.load(Ordering::SeqCst)].notify();
    });
    for (index, poller) in POLLERS.get().unwrap().iter().enumerate() {
        let _limit = TimeLimit::of(LONG);
        CURRENT.store(index, Ordering::SeqCst);
        for _ in 0..50 {
            is_ended_by_signal(poller, libc::SIGUSR2);
        }
    }
}

fn is_ended_by_signal(poller: &Poller, signal: libc::c_int) {
    let is_over = AtomicBool::new(false);
    let target = Mutex::new(None);
    thread::scope(|scope| {
        scope.spawn(|| {
            *target.lock().unwrap() = Some(Target::this_thread());
            poller.wait(&mut Events::new(), None).unwrap();
            is_over.store(true, Ordering::SeqCst);
            // It lives for as long as it may be sent the signal.
            look_until(|| target.lock().unwrap().is_none());
        });
        look_until(|| target.lock().unwrap().is_some());
        thread::sleep(Duration::from_micros(300));
        if let Some(target) = target.lock().unwrap().take() {
            target.send(signal);
        }
        look_until(|| is_over.load(Ordering::SeqCst));
    });
}
