//! Once a removal has returned, no batch handed out later has the token.

use crate::kinds::{Kind, Subject};
use crate::situations::Situation;
use crate::support::{LONG, each_poller, wait};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use windlass_reactor::{Events, Interest, Mode, Token};

/// How long each combination churns.
const CHURN: Duration = Duration::from_millis(150);

#[test]
fn what_was_removed_before_the_wait_never_comes() {
    each_poller(|poller| {
        for mode in [Mode::Level, Mode::Oneshot, Mode::Edge] {
            let mut subject = Subject::new(Kind::UnixStream);
            let fd = Interest::READABLE;
            poller.add(subject.as_fd(), Token(1), fd, mode).unwrap();
            Situation::DataArrives.happen(&mut subject);
            poller.remove(subject.as_fd()).unwrap();
            assert!(wait(poller, Duration::ZERO).is_empty());
        }
    });
}

// Tokens count up, and each is removed before the next comes.
#[test]
fn what_another_thread_removes_never_comes_again() {
    each_poller(|poller| {
        for mode in [Mode::Level, Mode::Oneshot, Mode::Edge] {
            let removed_below = AtomicU64::new(0);
            let done = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut subject = Subject::new(Kind::UnixStream);
                    Situation::DataArrives.happen(&mut subject);
                    let end = Instant::now() + CHURN;
                    for token in 0.. {
                        let (fd, interest) = (subject.as_fd(), Interest::READABLE);
                        poller.add(fd, Token(token), interest, mode).unwrap();
                        if token % 3 == 0 {
                            thread::yield_now();
                        }
                        poller.remove(fd).unwrap();
                        removed_below.store(token + 1, Ordering::SeqCst);
                        if Instant::now() > end {
                            break;
                        }
                    }
                    done.store(true, Ordering::SeqCst);
                    poller.notify().unwrap();
                });
                let mut events = Events::new();
                while !done.load(Ordering::SeqCst) {
                    // A batch may have what was removed after the look, not before the wait.
                    let gone = removed_below.load(Ordering::SeqCst);
                    poller.wait(&mut events, Some(LONG)).unwrap();
                    for event in &events {
                        assert!(
                            event.token().0 >= gone,
                            "{event:?} was removed before {gone}"
                        );
                    }
                }
            });
        }
    });
}

// The same for tokens that are replaced.
#[test]
fn a_token_that_another_thread_replaces_never_comes_again() {
    each_poller(|poller| {
        for mode in [Mode::Level, Mode::Oneshot, Mode::Edge] {
            let replaced_below = AtomicU64::new(0);
            let done = AtomicBool::new(false);
            let mut subject = Subject::new(Kind::UnixStream);
            Situation::DataArrives.happen(&mut subject);
            let (fd, interest) = (subject.as_fd(), Interest::READABLE);
            poller.add(fd, Token(0), interest, mode).unwrap();
            thread::scope(|scope| {
                scope.spawn(|| {
                    let end = Instant::now() + CHURN;
                    for token in 1.. {
                        poller.modify(fd, Token(token), interest, mode).unwrap();
                        replaced_below.store(token, Ordering::SeqCst);
                        if Instant::now() > end {
                            break;
                        }
                    }
                    done.store(true, Ordering::SeqCst);
                    poller.notify().unwrap();
                });
                let mut last = 0;
                let mut events = Events::new();
                while !done.load(Ordering::SeqCst) {
                    let gone = replaced_below.load(Ordering::SeqCst);
                    poller.wait(&mut events, Some(LONG)).unwrap();
                    for event in &events {
                        last = event.token().0;
                        assert!(last >= gone, "{event:?} was replaced before {gone}");
                    }
                }
                // On a busy machine each batch may have come too late so far. Now nothing is replaced
                // any more; the notification ends one wait at the most.
                for _ in 0..2 {
                    if last == 0 {
                        poller.wait(&mut events, Some(LONG)).unwrap();
                        last = events.iter().map(|event| event.token().0).sum();
                    }
                }
                assert!(last > 0, "no event came at all");
            });
            poller.remove(fd).unwrap();
        }
    });
}

// Two descriptors may share a token; the removal of one loses no event of the other.
#[test]
fn a_removal_does_not_touch_others_of_the_same_token() {
    each_poller(|poller| {
        let shared = Token(5);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut other = Subject::new(Kind::UnixStream);
                Situation::DataArrives.happen(&mut other);
                while !done.load(Ordering::SeqCst) {
                    let (fd, interest) = (other.as_fd(), Interest::PRIORITY);
                    poller.add(fd, shared, interest, Mode::Level).unwrap();
                    poller.remove(fd).unwrap();
                }
            });
            let mut subject = Subject::new(Kind::Eventfd);
            let (fd, interest) = (subject.as_fd(), Interest::READABLE);
            poller.add(fd, shared, interest, Mode::Oneshot).unwrap();
            for _ in 0..300 {
                Situation::DataArrives.happen(&mut subject);
                assert_eq!(wait(poller, LONG).len(), 1, "the one shot was lost");
                subject.drain();
                let fd = subject.as_fd();
                poller.modify(fd, shared, interest, Mode::Oneshot).unwrap();
            }
            done.store(true, Ordering::SeqCst);
            poller.remove(subject.as_fd()).unwrap();
        });
    });
}
