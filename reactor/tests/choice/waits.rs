//! Waits where `epoll_pwait2`, which takes nanoseconds, is refused.

use crate::refusal::EPOLL_PWAIT2;
use crate::refused_with;
use crate::support::{LONG, TimeLimit, run_on, wait, wait_for_one};
use crate::use_of::expect_works;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use windlass_reactor::time::sleep;
use windlass_reactor::{Backend, Events, Interest, Mode, Poller, Reactor, Token};

fn poller() -> Poller {
    Poller::with_backend(Backend::Epoll).unwrap()
}

/// The shortest of ten waits, of which none may be early.
fn shortest(timeout: Duration, mut wait: impl FnMut()) -> Duration {
    let each = (0..10).map(|_| {
        let start = Instant::now();
        wait();
        let waited = start.elapsed();
        assert!(waited >= timeout, "{waited:?} for {timeout:?}");
        waited
    });
    each.min().unwrap()
}

#[test]
fn they_are_never_early_and_late_by_the_rounding() {
    let name = "waits::they_are_never_early_and_late_by_the_rounding";
    let Some(error) = refused_with(name, &[]) else {
        return;
    };
    let _limit = TimeLimit::of(Duration::from_secs(60));
    EPOLL_PWAIT2.refuse(error);
    let poller = poller();
    let mut reactor = Reactor::with_backend(Backend::Epoll).unwrap();
    // To the next millisecond, and what a busy machine adds to the shortest of ten.
    let late = Duration::from_millis(1 + 15);
    for nanoseconds in [1, 900_000, 1_000_000, 1_000_001, 2_999_999, 10_400_000] {
        let timeout = Duration::from_nanos(nanoseconds);
        let waited = shortest(timeout, || assert!(wait(&poller, timeout).is_empty()));
        assert!(waited < timeout + late, "{waited:?} for {timeout:?}");
        let slept = shortest(timeout, || run_on(&mut reactor, sleep(timeout)));
        assert!(slept < timeout + late, "{slept:?} for {timeout:?}");
    }
}

#[test]
fn what_is_ready_ends_also_the_first_of_them() {
    let name = "waits::what_is_ready_ends_also_the_first_of_them";
    let Some(error) = refused_with(name, &[]) else {
        return;
    };
    let _limit = TimeLimit::of(Duration::from_secs(60));
    EPOLL_PWAIT2.refuse(error);
    let poller = poller();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let interest = Interest::READABLE;
    poller
        .add(ours.as_fd(), Token(3), interest, Mode::Level)
        .unwrap();
    theirs.write_all(b"x").unwrap();
    let start = Instant::now();
    assert_eq!(wait_for_one(&poller).token(), Token(3));
    assert!(start.elapsed() < LONG);
    poller.remove(ours.as_fd()).unwrap();
    // Timeouts that no system takes are waits as well.
    for timeout in [Duration::from_secs(30 * 86_400), Duration::MAX] {
        poller.notify().unwrap();
        let mut events = Events::new();
        assert_eq!(poller.wait(&mut events, Some(timeout)).unwrap(), 0);
    }
    expect_works(self::poller);
}
