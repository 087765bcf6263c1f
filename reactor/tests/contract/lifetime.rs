//! Descriptors that are closed without removal, which is the caller's fault: no event comes under
//! another's token, nothing spins, nothing panics.
//!
//! A number that is free may be any other thread's next, and what that does is reported of what was
//! closed: so each test has a process of its own.

use crate::kinds::{Kind, Subject};
use crate::situations::Situation;
use crate::support::{self, child, wait, wait_for_one};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use windlass_reactor::{Interest, Mode, Poller, Token};

const READABLE: Interest = Interest::READABLE;

/// Runs the test `name`, in a process without others, with each poller.
#[track_caller]
fn each_poller(name: &str, test: impl Fn(&Poller)) {
    if child::is_child() {
        support::each_poller(test);
    } else {
        child::expect_success(&mut child::command(&format!("lifetime::{name}")));
    }
}

/// Registers a descriptor, closes it behind the poller's back, and has its number taken by another
/// of the same kind, which is returned.
fn reuse_number(poller: &Poller, kind: Kind, mode: Mode) -> Subject {
    // The lowest number is reused first; a time limit's thread may take it.
    for _ in 0..1000 {
        let old = Subject::new(kind);
        let number = old.number();
        poller.add(old.as_fd(), Token(1), READABLE, mode).unwrap();
        let replacement = Subject::new(kind);
        drop(OwnedFd::from(old));
        let moved = replacement.renumbered(number);
        if let Some(subject) = moved {
            return subject;
        }
        let _ = wait(poller, Duration::ZERO);
    }
    panic!("no number was reused");
}

#[test]
fn a_closed_descriptor_is_reported_at_most_once() {
    let name = "a_closed_descriptor_is_reported_at_most_once";
    each_poller(name, |poller| {
        for mode in [Mode::Level, Mode::Oneshot, Mode::Edge] {
            let subject = Subject::new(Kind::UnixStream);
            poller
                .add(subject.as_fd(), Token(1), READABLE, mode)
                .unwrap();
            drop(subject);
            let mut count = 0;
            for _ in 0..20 {
                for event in wait(poller, Duration::ZERO) {
                    assert_eq!(event.token(), Token(1));
                    count += 1;
                }
            }
            assert!(count <= 1, "{count} events for what was closed");
        }
    });
}

// What is reported without the kernel, because it can't be watched, ends with the close, too.
#[test]
fn a_closed_pipe_that_nobody_reads_does_not_spin() {
    let name = "a_closed_pipe_that_nobody_reads_does_not_spin";
    each_poller(name, |poller| {
        for interest in [Interest::NONE, Interest::WRITABLE] {
            let mut subject = Subject::new(Kind::PipeWriteEnd);
            drop(subject.peer.take());
            poller
                .add(subject.as_fd(), Token(1), interest, Mode::Level)
                .unwrap();
            assert_eq!(wait(poller, support::LONG).len(), 1);
            drop(subject);
            let after: usize = (0..20).map(|_| wait(poller, Duration::ZERO).len()).sum();
            assert!(after <= 1, "{after} events for what was closed");
        }
    });
}

// Found by the model: what was closed before the kernel heard of it hid the others from a wait.
#[test]
fn what_was_closed_does_not_hide_what_is_ready() {
    let name = "what_was_closed_does_not_hide_what_is_ready";
    each_poller(name, |poller| {
        for mode in [Mode::Level, Mode::Oneshot, Mode::Edge] {
            let (subject, closed) = (Subject::new(Kind::Udp), Subject::new(Kind::UnixStream));
            let fd = subject.as_fd();
            poller.add(fd, Token(1), Interest::WRITABLE, mode).unwrap();
            poller
                .add(closed.as_fd(), Token(2), READABLE, mode)
                .unwrap();
            drop(closed);
            let events = wait(poller, Duration::ZERO);
            assert!(
                events.iter().any(|event| event.token() == Token(1)),
                "{events:?}"
            );
            poller.remove(subject.as_fd()).unwrap();
        }
    });
}

#[test]
fn a_reused_number_can_be_registered_by_its_new_owner() {
    let name = "a_reused_number_can_be_registered_by_its_new_owner";
    each_poller(name, |poller| {
        for mode in [Mode::Level, Mode::Oneshot, Mode::Edge] {
            let mut new = reuse_number(poller, Kind::UnixStream, mode);
            poller.add(new.as_fd(), Token(2), READABLE, mode).unwrap();
            Situation::DataArrives.happen(&mut new);
            assert_eq!(wait_for_one(poller).token(), Token(2));
            poller.remove(new.as_fd()).unwrap();
            drop(new);
            assert!(wait(poller, Duration::ZERO).is_empty());
        }
    });
}

#[test]
fn a_reused_number_can_be_removed() {
    let name = "a_reused_number_can_be_removed";
    each_poller(name, |poller| {
        for mode in [Mode::Level, Mode::Oneshot, Mode::Edge] {
            let new = reuse_number(poller, Kind::UnixStream, mode);
            poller.remove(new.as_fd()).unwrap();
            poller.add(new.as_fd(), Token(2), READABLE, mode).unwrap();
            poller.remove(new.as_fd()).unwrap();
        }
    });
}

#[test]
fn a_number_that_is_reused_within_a_batch_keeps_its_events_to_itself() {
    let name = "a_number_that_is_reused_within_a_batch_keeps_its_events_to_itself";
    each_poller(name, |poller| {
        for mode in [Mode::Level, Mode::Oneshot, Mode::Edge] {
            let mut first = Subject::new(Kind::Udp);
            let mut second = Subject::new(Kind::Udp);
            poller.add(first.as_fd(), Token(1), READABLE, mode).unwrap();
            poller
                .add(second.as_fd(), Token(2), READABLE, mode)
                .unwrap();
            Situation::DataArrives.happen(&mut first);
            Situation::DataArrives.happen(&mut second);
            let batch = wait(poller, support::LONG);
            assert_eq!(batch.len(), 2, "{batch:?}");

            // Whoever handles the first event closes the second and makes a third of its number.
            poller.remove(second.as_fd()).unwrap();
            let number = second.number();
            drop(second);
            let third = Subject::new(Kind::Udp);
            let third = third
                .renumbered(number)
                .unwrap_or_else(|| Subject::new(Kind::Udp));
            poller.add(third.as_fd(), Token(3), READABLE, mode).unwrap();
            first.drain();
            let later = wait(poller, Duration::ZERO);
            assert!(later.is_empty(), "{later:?}");
            poller.remove(first.as_fd()).unwrap();
            poller.remove(third.as_fd()).unwrap();
        }
    });
}

#[test]
fn a_duplicate_that_lives_on_does_not_outlast_the_removal() {
    let name = "a_duplicate_that_lives_on_does_not_outlast_the_removal";
    each_poller(name, |poller| {
        for mode in [Mode::Level, Mode::Edge] {
            let mut subject = Subject::new(Kind::UnixStream);
            let duplicate = subject.as_fd().try_clone_to_owned().unwrap();
            let registered = subject.as_fd().try_clone_to_owned().unwrap();
            poller
                .add(registered.as_fd(), Token(1), READABLE, mode)
                .unwrap();
            poller.remove(registered.as_fd()).unwrap();
            drop(registered);
            Situation::DataArrives.happen(&mut subject);
            assert!(wait(poller, Duration::ZERO).is_empty());
            drop(duplicate);
        }
    });
}
