//! A loop of somebody else's that waits for the poller's or the reactor's descriptor.

use crate::kinds::{Kind, Subject};
use crate::situations::Situation;
use crate::support::{CountingWaker, LONG, each_poller, each_reactor, poll_once, wait};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;
use windlass_reactor::{Interest, Mode, Token, time};

/// Waits for `descriptor` as the outside loop does; says whether it became readable.
fn is_readable(descriptor: BorrowedFd<'_>, timeout: Duration) -> bool {
    let timeout = Timespec::try_from(timeout).unwrap();
    let mut entries = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    poll(&mut entries, Some(&timeout)).unwrap() == 1
}

#[test]
fn the_descriptor_is_readable_when_there_is_an_event() {
    each_poller(|poller| {
        let Some(descriptor) = poller.descriptor() else {
            println!("{} has none", poller.backend());
            return;
        };
        let mut subject = Subject::new(Kind::Udp);
        let (fd, interest) = (subject.as_fd(), Interest::READABLE);
        poller.add(fd, Token(1), interest, Mode::Level).unwrap();
        assert!(!is_readable(descriptor, Duration::ZERO));
        Situation::DataArrives.happen(&mut subject);
        assert!(is_readable(descriptor, LONG));
        assert_eq!(wait(poller, Duration::ZERO).len(), 1);
        subject.drain();
        wait(poller, Duration::ZERO);
        assert!(!is_readable(descriptor, Duration::ZERO));
        poller.remove(subject.as_fd()).unwrap();
    });
}

#[test]
fn the_descriptor_is_readable_after_a_notification() {
    each_poller(|poller| {
        // Also one that came before anybody asked for the descriptor.
        poller.notify().unwrap();
        let Some(descriptor) = poller.descriptor() else {
            return println!("skipped: it has no descriptor");
        };
        for _ in 0..3 {
            assert!(is_readable(descriptor, Duration::ZERO));
            wait(poller, Duration::ZERO);
            assert!(!is_readable(descriptor, Duration::ZERO));
            poller.notify().unwrap();
            poller.notify().unwrap();
        }
    });
}

#[test]
fn an_outside_loop_hears_of_notifications_and_of_earlier_timers() {
    each_reactor(|mut reactor| {
        let handle = reactor.handle().clone();
        let mut late = time::sleep(Duration::from_secs(3600));
        let (_, waker) = CountingWaker::new();
        assert!(handle.enter(|| poll_once(&mut late, &waker)).is_pending());
        if reactor.descriptor().is_none() {
            return println!("skipped: it has no descriptor");
        }
        let deadline = reactor.next_deadline().unwrap();
        assert!(Some(deadline) <= late.deadline());
        thread::scope(|scope| {
            scope.spawn(|| handle.notify().unwrap());
            assert!(is_readable(reactor.descriptor().unwrap(), LONG));
        });
        assert!(reactor.turn(Some(Duration::ZERO)).unwrap().notified);
        assert!(!is_readable(reactor.descriptor().unwrap(), Duration::ZERO));

        reactor.next_deadline();
        let mut early = time::sleep(Duration::from_secs(1800));
        let (count, waker) = CountingWaker::new();
        thread::scope(|scope| {
            scope.spawn(|| handle.enter(|| poll_once(&mut early, &waker).is_pending()));
            assert!(is_readable(reactor.descriptor().unwrap(), LONG));
        });
        early.reset_after(Duration::ZERO);
        while count.count() == 0 {
            reactor.turn(Some(Duration::ZERO)).unwrap();
        }
    });
}
