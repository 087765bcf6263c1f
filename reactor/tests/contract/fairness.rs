//! More that is ready than a batch has room for.

use crate::kinds::{Kind, Subject};
use crate::situations::Situation;
use crate::support::each_poller;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::time::Duration;
use windlass_reactor::{Event, Events, Interest, Mode, Token};

const COUNT: usize = 40;

#[test]
fn a_small_batch_starves_nobody() {
    each_poller(|poller| {
        for (mode, capacity) in [
            (Mode::Level, 1),
            (Mode::Level, 7),
            (Mode::Oneshot, 1),
            (Mode::Oneshot, 7),
            (Mode::Edge, 1),
            (Mode::Edge, 7),
        ] {
            let mut subjects: Vec<_> = (0..COUNT).map(|_| Subject::new(Kind::Eventfd)).collect();
            for (number, subject) in subjects.iter_mut().enumerate() {
                let (token, interest) = (Token(number as u64), Interest::READABLE);
                poller.add(subject.as_fd(), token, interest, mode).unwrap();
                Situation::DataArrives.happen(subject);
            }
            let mut events = Events::with_capacity(capacity).unwrap();
            let mut seen = HashSet::new();
            // Twice the waits that are needed at least, and some for the notifier.
            for _ in 0..2 * COUNT.div_ceil(capacity) + 4 {
                poller.notify().unwrap();
                poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
                assert!(events.len() <= capacity);
                seen.extend(events.iter().map(Event::token));
            }
            assert_eq!(seen.len(), COUNT, "{mode:?}, {capacity} at a time");
            for subject in &subjects {
                poller.remove(subject.as_fd()).unwrap();
            }
        }
    });
}

#[test]
fn absurd_capacities_are_refused() {
    for capacity in [0, Events::MAX_CAPACITY + 1, usize::MAX] {
        let error = Events::with_capacity(capacity).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(&capacity.to_string()));
    }
    each_poller(|poller| {
        let subject = Subject::new(Kind::Udp);
        let fd = subject.as_fd();
        poller
            .add(fd, Token(1), Interest::WRITABLE, Mode::Level)
            .unwrap();
        for capacity in [1, 1_000_000] {
            let mut events = Events::with_capacity(capacity).unwrap();
            assert_eq!(events.capacity(), capacity);
            assert_eq!(poller.wait(&mut events, None).unwrap(), 1);
        }
        poller.remove(fd).unwrap();
    });
}

#[test]
fn each_wait_replaces_the_events_of_the_last() {
    each_poller(|poller| {
        let mut subject = Subject::new(Kind::Udp);
        let (fd, interest) = (subject.as_fd(), Interest::READABLE);
        poller.add(fd, Token(1), interest, Mode::Level).unwrap();
        Situation::DataArrives.happen(&mut subject);
        let mut events = Events::new();
        for _ in 0..2 {
            assert_eq!(poller.wait(&mut events, None).unwrap(), 1);
            assert_eq!(events.len(), 1);
        }
        poller.remove(subject.as_fd()).unwrap();
        assert_eq!(poller.wait(&mut events, Some(Duration::ZERO)).unwrap(), 0);
        assert!(events.is_empty());
    });
}
