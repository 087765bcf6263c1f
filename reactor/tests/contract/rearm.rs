//! Edges, and what `rearm` promises of them.

use crate::kinds::{Kind, Subject};
use crate::situations::Situation;
use crate::support::{LONG, each_poller, expect_nothing, wait};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;
use windlass_reactor::{Interest, Mode, Poller, Token};

const READABLE: Interest = Interest::READABLE;
const BOTH: Interest = READABLE.union(Interest::WRITABLE);

/// Waits until a readable event of `token` comes.
#[track_caller]
fn expect_readable(poller: &Poller, token: Token) {
    for _ in 0..10 {
        let events = wait(poller, LONG);
        if events
            .iter()
            .any(|event| event.is_readable() && event.token() == token)
        {
            return;
        }
    }
    panic!("no readable event came");
}

// Whatever was read or looked at in between, WouldBlock and rearm bring the next event.
#[test]
fn each_rearm_is_answered() {
    each_poller(|poller| {
        for kind in [
            Kind::Tcp,
            Kind::Udp,
            Kind::UnixStream,
            Kind::PipeReadEnd,
            Kind::Eventfd,
        ] {
            let mut subject = Subject::new(kind);
            poller
                .add(subject.as_fd(), Token(1), READABLE, Mode::Edge)
                .unwrap();
            for _ in 0..50 {
                subject.drain();
                poller.rearm(subject.as_fd(), READABLE).unwrap();
                Situation::DataArrives.happen(&mut subject);
                expect_readable(poller, Token(1));
            }
            poller.remove(subject.as_fd()).unwrap();
        }
    });
}

// Data that come between WouldBlock and rearm are not lost.
#[test]
fn data_between_would_block_and_rearm_are_reported() {
    each_poller(|poller| {
        let mut subject = Subject::new(Kind::UnixStream);
        poller
            .add(subject.as_fd(), Token(1), READABLE, Mode::Edge)
            .unwrap();
        for _ in 0..50 {
            Situation::DataArrives.happen(&mut subject);
            expect_readable(poller, Token(1));
            subject.drain();
            Situation::DataArrives.happen(&mut subject);
            poller.rearm(subject.as_fd(), READABLE).unwrap();
            expect_readable(poller, Token(1));
            subject.drain();
            poller.rearm(subject.as_fd(), READABLE).unwrap();
        }
        poller.remove(subject.as_fd()).unwrap();
    });
}

#[test]
fn a_rearm_from_another_thread_reaches_the_wait_under_way() {
    each_poller(|poller| {
        let mut subject = Subject::new(Kind::UnixStream);
        poller
            .add(subject.as_fd(), Token(1), READABLE, Mode::Edge)
            .unwrap();
        for _ in 0..20 {
            subject.drain();
            poller.rearm(subject.as_fd(), READABLE).unwrap();
            Situation::DataArrives.happen(&mut subject);
            expect_readable(poller, Token(1));
            // What nobody wants is taken from the kernel.
            expect_nothing_much(poller);
            thread::scope(|scope| {
                scope.spawn(|| {
                    thread::sleep(Duration::from_micros(300));
                    subject.drain();
                    poller.rearm(subject.as_fd(), READABLE).unwrap();
                    Situation::DataArrives.happen(&mut subject);
                });
                expect_readable(poller, Token(1));
            });
        }
        poller.remove(subject.as_fd()).unwrap();
    });
}

fn expect_nothing_much(poller: &Poller) {
    for _ in 0..3 {
        wait(poller, Duration::ZERO);
    }
    expect_nothing(poller);
}

// The directions are rearmed one by one.
#[test]
fn a_direction_that_nobody_wants_does_not_spin() {
    each_poller(|poller| {
        let mut subject = Subject::new(Kind::UnixStream);
        poller
            .add(subject.as_fd(), Token(1), BOTH, Mode::Edge)
            .unwrap();
        wait(poller, LONG);
        expect_nothing_much(poller);
        for _ in 0..10 {
            poller.rearm(subject.as_fd(), READABLE).unwrap();
            expect_nothing(poller);
            Situation::DataArrives.happen(&mut subject);
            expect_readable(poller, Token(1));
            subject.drain();
        }
        poller.remove(subject.as_fd()).unwrap();
    });
}

// In the other modes, and for directions that are not registered, there is nothing to rearm.
#[test]
fn rearm_changes_nothing_but_edges() {
    each_poller(|poller| {
        let mut subject = Subject::new(Kind::UnixStream);
        let fd = subject.as_fd();
        poller.add(fd, Token(1), READABLE, Mode::Level).unwrap();
        poller.rearm(fd, BOTH).unwrap();
        expect_nothing(poller);
        poller.modify(fd, Token(1), READABLE, Mode::Edge).unwrap();
        poller.rearm(fd, BOTH).unwrap();
        expect_nothing(poller);
        poller
            .modify(fd, Token(1), READABLE, Mode::Oneshot)
            .unwrap();
        Situation::DataArrives.happen(&mut subject);
        expect_readable(poller, Token(1));
        poller.rearm(subject.as_fd(), READABLE).unwrap();
        expect_nothing(poller);
        poller.remove(subject.as_fd()).unwrap();
    });
}

// A steady read loop changes nothing in the kernel.
#[test]
fn a_steady_loop_changes_no_interest() {
    each_poller(|poller| {
        let mut subject = Subject::new(Kind::Tcp);
        poller
            .add(subject.as_fd(), Token(1), READABLE, Mode::Edge)
            .unwrap();
        let before = poller.interest_changes();
        for _ in 0..100 {
            Situation::DataArrives.happen(&mut subject);
            expect_readable(poller, Token(1));
            subject.drain();
            poller.rearm(subject.as_fd(), READABLE).unwrap();
        }
        assert_eq!(poller.interest_changes() - before, 0);
        poller.remove(subject.as_fd()).unwrap();
    });
}
