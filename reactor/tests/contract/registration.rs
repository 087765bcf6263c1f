//! What may be registered, and what is said of what may not: the same on every back end.

use crate::kinds::{Kind, Subject};
use crate::situations::Situation;
use crate::support::{each_poller, expect_nothing, wait_for_one};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use windlass_reactor::{Interest, Mode, Poller, Refusal, RegisterError, Token};

const READABLE: Interest = Interest::READABLE;

#[track_caller]
fn expect_refusal(poller: &Poller, result: io::Result<()>, kind: ErrorKind, refusal: Refusal) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    let text = error.to_string();
    assert!(text.contains(poller.backend().name()), "{text}");
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    let inner: &RegisterError = inner.expect("a typed error");
    assert_eq!(inner.refusal(), refusal);
    assert!(text.contains(&inner.descriptor().to_string()), "{text}");
}

#[test]
fn adding_twice_is_refused_and_changes_nothing() {
    each_poller(|poller| {
        let subject = Subject::new(Kind::UnixStream);
        let fd = subject.as_fd();
        poller
            .add(fd, Token(1), Interest::WRITABLE, Mode::Level)
            .unwrap();
        let again = poller.add(fd, Token(2), READABLE, Mode::Level);
        let refusal = Refusal::AlreadyRegistered;
        expect_refusal(poller, again, ErrorKind::AlreadyExists, refusal);
        let event = wait_for_one(poller);
        assert_eq!(event.token(), Token(1));
        assert!(event.is_writable());
        poller.remove(fd).unwrap();
    });
}

#[test]
fn what_is_not_registered_is_not_found() {
    each_poller(|poller| {
        let subject = Subject::new(Kind::Udp);
        let fd = subject.as_fd();
        let not_found = |result| {
            let refusal = Refusal::NotRegistered;
            expect_refusal(poller, result, ErrorKind::NotFound, refusal);
        };
        let unknown = || {
            not_found(poller.modify(fd, Token(1), READABLE, Mode::Level));
            not_found(poller.rearm(fd, READABLE));
            not_found(poller.remove(fd));
        };
        unknown();
        poller.add(fd, Token(1), READABLE, Mode::Level).unwrap();
        poller.remove(fd).unwrap();
        unknown();
        expect_nothing(poller);
    });
}

#[test]
fn files_and_directories_are_refused_and_leave_nothing() {
    each_poller(|poller| {
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        let directory = File::open(std::env::temp_dir()).unwrap();
        for (file, refusal) in [
            (file, Refusal::RegularFile),
            (directory, Refusal::Directory),
        ] {
            for mode in [Mode::Level, Mode::Oneshot, Mode::Edge] {
                let added = poller.add(file.as_fd(), Token(1), READABLE, mode);
                expect_refusal(poller, added, ErrorKind::Unsupported, refusal);
            }
            let modified = poller.modify(file.as_fd(), Token(1), READABLE, Mode::Level);
            assert!(modified.is_err());
            let refusal = Refusal::NotRegistered;
            expect_refusal(
                poller,
                poller.remove(file.as_fd()),
                ErrorKind::NotFound,
                refusal,
            );
        }
        expect_nothing(poller);
    });
}

#[test]
fn the_null_device_is_ready_or_refused() {
    each_poller(|poller| {
        let null = File::open("/dev/null").unwrap();
        match poller.add(null.as_fd(), Token(1), READABLE, Mode::Level) {
            Ok(()) => {
                assert!(wait_for_one(poller).is_readable());
                poller.remove(null.as_fd()).unwrap();
            }
            refused => {
                expect_refusal(poller, refused, ErrorKind::Unsupported, Refusal::Device);
            }
        }
        expect_nothing(poller);
    });
}

#[test]
fn a_number_that_is_not_open_is_refused() {
    each_poller(|poller| {
        let closed = closed_number();
        let added = poller.add(closed, Token(1), READABLE, Mode::Level);
        expect_refusal(poller, added, ErrorKind::InvalidInput, Refusal::NotOpen);
        expect_nothing(poller);
    });
}

/// A number far above those in use, which names nothing.
#[allow(
    unsafe_code,
    reason = "a descriptor that isn't open is what it is about"
)]
pub(crate) fn closed_number() -> BorrowedFd<'static> {
    // SAFETY: the number is only handed to the kernel, which says that it is not open; this is
    // the fault that the test is about.
    unsafe { BorrowedFd::borrow_raw(15_999) }
}

#[test]
fn the_reserved_token_is_refused() {
    each_poller(|poller| {
        let subject = Subject::new(Kind::Eventfd);
        let fd = subject.as_fd();
        let refused = |result| {
            let refusal = Refusal::ReservedToken;
            expect_refusal(poller, result, ErrorKind::InvalidInput, refusal);
        };
        refused(poller.add(fd, Token::RESERVED, READABLE, Mode::Level));
        poller.add(fd, Token(1), READABLE, Mode::Level).unwrap();
        refused(poller.modify(fd, Token::RESERVED, READABLE, Mode::Level));
        poller.remove(fd).unwrap();
    });
}

#[test]
fn an_event_carries_the_latest_token() {
    each_poller(|poller| {
        for mode in [Mode::Level, Mode::Oneshot, Mode::Edge] {
            let subject = Subject::new(Kind::Eventfd);
            let fd = subject.as_fd();
            let both = READABLE | Interest::WRITABLE;
            poller.add(fd, Token(1), both, mode).unwrap();
            assert_eq!(wait_for_one(poller).token(), Token(1));
            poller.modify(fd, Token(2), both, mode).unwrap();
            assert_eq!(wait_for_one(poller).token(), Token(2));
            poller.remove(fd).unwrap();
        }
    });
}

#[test]
fn narrowing_takes_effect_and_keeps_the_rest() {
    each_poller(|poller| {
        for mode in [Mode::Level, Mode::Edge] {
            let mut subject = Subject::new(Kind::UnixStream);
            let both = READABLE | Interest::WRITABLE;
            poller.add(subject.as_fd(), Token(1), both, mode).unwrap();
            assert!(wait_for_one(poller).is_writable());
            poller
                .modify(subject.as_fd(), Token(1), READABLE, mode)
                .unwrap();
            expect_nothing(poller);
            Situation::DataArrives.happen(&mut subject);
            let event = wait_for_one(poller);
            assert!(event.is_readable() && !event.is_writable(), "{event:?}");
            poller.remove(subject.as_fd()).unwrap();
        }
    });
}

#[test]
fn a_duplicate_is_a_registration_of_its_own() {
    each_poller(|poller| {
        let mut subject = Subject::new(Kind::Udp);
        let duplicate = File::from(subject.as_fd().try_clone_to_owned().unwrap());
        assert_ne!(duplicate.as_raw_fd(), subject.number());
        poller
            .add(subject.as_fd(), Token(1), READABLE, Mode::Level)
            .unwrap();
        poller
            .add(duplicate.as_fd(), Token(2), READABLE, Mode::Level)
            .unwrap();
        Situation::DataArrives.happen(&mut subject);
        let mut tokens = tokens_of(poller);
        tokens.sort();
        assert_eq!(tokens, [1, 2]);
        poller.remove(subject.as_fd()).unwrap();
        assert_eq!(tokens_of(poller), [2]);
        poller.remove(duplicate.as_fd()).unwrap();
        expect_nothing(poller);
    });
}

#[test]
fn two_pollers_report_one_descriptor_each() {
    each_poller(|poller| {
        for mode in [Mode::Level, Mode::Oneshot, Mode::Edge] {
            let other = Poller::with_notifier(poller.backend(), poller.notifier()).unwrap();
            let mut subject = Subject::new(Kind::UnixStream);
            for (poller, token) in [(poller, Token(1)), (&other, Token(2))] {
                poller.add(subject.as_fd(), token, READABLE, mode).unwrap();
            }
            Situation::DataArrives.happen(&mut subject);
            assert_eq!(wait_for_one(poller).token(), Token(1));
            assert_eq!(wait_for_one(&other).token(), Token(2));
            poller.remove(subject.as_fd()).unwrap();
            other.remove(subject.as_fd()).unwrap();
        }
    });
}

#[test]
fn removing_the_first_leaves_the_others_their_tokens() {
    each_poller(|poller| {
        let mut subjects: Vec<_> = (0..5).map(|_| Subject::new(Kind::UnixStream)).collect();
        for (number, subject) in subjects.iter().enumerate() {
            let token = Token(number as u64);
            poller
                .add(subject.as_fd(), token, READABLE, Mode::Level)
                .unwrap();
        }
        poller.remove(subjects[0].as_fd()).unwrap();
        poller.remove(subjects[2].as_fd()).unwrap();
        for number in [4, 1, 3] {
            Situation::DataArrives.happen(&mut subjects[number]);
            assert_eq!(wait_for_one(poller).token(), Token(number as u64));
            subjects[number].drain();
        }
        for number in [1, 3, 4] {
            poller.remove(subjects[number].as_fd()).unwrap();
        }
    });
}

fn tokens_of(poller: &Poller) -> Vec<u64> {
    let events = crate::support::wait(poller, crate::support::LONG);
    events.iter().map(|event| event.token().0).collect()
}
