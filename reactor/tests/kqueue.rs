//! What only kqueue shows: what is asked of the queue, and the ways in which systems differ.
//!
//! On an emulation, which ends the test at any violation: receipts mixed with waiting, a change that
//! changes nothing or is of what isn't there, a mode that would not be changed, a trigger lost.

#![cfg(all(target_os = "linux", windlass_kqueue))]

#[path = "support/kqueue.rs"]
mod emulation;
mod support;

use emulation::{Counters, counters, is_emulated};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;
use support::{LONG, expect_nothing, look_until, wait, wait_for_one};
use windlass_reactor::{
    Backend, Event, Events, Interest, Mode, NotifierKind, Poller, Refusal, RegisterError, Token,
};

const SYSTEMS: [&str; 4] = ["freebsd", "macos", "netbsd", "openbsd"];
const READABLE: Interest = Interest::READABLE;
const WRITABLE: Interest = Interest::WRITABLE;
const BOTH: Interest = READABLE.union(WRITABLE);

fn poller() -> Poller {
    Poller::with_backend(Backend::Kqueue).unwrap()
}

fn pair() -> (UnixStream, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    (ours, theirs)
}

fn pipe() -> (OwnedFd, OwnedFd) {
    let flags = rustix::pipe::PipeFlags::CLOEXEC | rustix::pipe::PipeFlags::NONBLOCK;
    rustix::pipe::pipe_with(flags).unwrap()
}

/// What `action` has asked of the queue.
fn counted(action: impl FnOnce()) -> Counters {
    let before = counters();
    action();
    let mut after = counters();
    for (now, then) in [
        (&mut after.calls, before.calls),
        (&mut after.change_calls, before.change_calls),
        (&mut after.changes, before.changes),
        (&mut after.adds, before.adds),
        (&mut after.deletes, before.deletes),
        (&mut after.triggers, before.triggers),
        (&mut after.receipts, before.receipts),
    ] {
        *now -= then;
    }
    after
}

#[track_caller]
fn expect_changes(asked: Counters, calls: u64, adds: u64, deletes: u64) {
    let changes = (asked.change_calls, asked.adds, asked.deletes);
    assert_eq!(changes, (calls, adds, deletes));
    assert_eq!(asked.changes, adds + deletes);
}

#[test]
fn one_call_makes_the_changes_of_a_descriptor() {
    if !is_emulated("one_call_makes_the_changes_of_a_descriptor", &SYSTEMS) {
        return;
    }
    let poller = poller();
    let (ours, _theirs) = pair();
    let fd = ours.as_fd();
    let add = || poller.add(fd, Token(1), BOTH, Mode::Edge).unwrap();
    let added = counted(add);
    expect_changes(added, 1, 2, 0);
    assert_eq!((added.calls, added.receipts), (1, 2));
    let to = |interest, mode| poller.modify(fd, Token(1), interest, mode).unwrap();
    expect_changes(counted(|| to(BOTH, Mode::Edge)), 1, 2, 0);
    expect_changes(counted(|| to(READABLE, Mode::Edge)), 1, 1, 1);
    // Another mode takes a new registration.
    expect_changes(counted(|| to(READABLE, Mode::Level)), 1, 1, 1);
    expect_changes(counted(|| to(BOTH, Mode::Oneshot)), 1, 2, 1);
    expect_changes(counted(|| poller.remove(fd).unwrap()), 1, 0, 2);
}

// Where there are no receipts, each change is a call, which can't take an event away.
#[test]
fn without_receipts_changes_go_one_by_one() {
    let variants = ["noreceipt", "netbsd,nouser,noreceipt"];
    if !is_emulated("without_receipts_changes_go_one_by_one", &variants) {
        return;
    }
    let poller = poller();
    let (ours, mut theirs) = pair();
    let (other, mut theirs_of_other) = pair();
    theirs.write_all(b"x").unwrap();
    let fd = ours.as_fd();
    poller.add(fd, Token(1), READABLE, Mode::Edge).unwrap();
    let add = || {
        poller
            .add(other.as_fd(), Token(2), BOTH, Mode::Edge)
            .unwrap();
    };
    expect_changes(counted(add), 2, 2, 0);
    theirs_of_other.write_all(b"x").unwrap();
    let mut tokens: Vec<_> = wait(&poller, LONG).iter().map(Event::token).collect();
    tokens.sort();
    assert_eq!(tokens, [Token(1), Token(2)]);
    poller.remove(fd).unwrap();
    poller.remove(other.as_fd()).unwrap();
}

#[test]
fn a_steady_loop_asks_for_events_only() {
    if !is_emulated("a_steady_loop_asks_for_events_only", &SYSTEMS) {
        return;
    }
    let poller = poller();
    let (mut ours, mut theirs) = pair();
    poller
        .add(ours.as_fd(), Token(1), READABLE, Mode::Edge)
        .unwrap();
    let asked = counted(|| {
        for _ in 0..100 {
            theirs.write_all(b"x").unwrap();
            assert!(wait_for_one(&poller).is_readable());
            assert_eq!(ours.read(&mut [0; 8]).unwrap(), 1);
            poller.rearm(ours.as_fd(), READABLE).unwrap();
        }
    });
    assert_eq!((asked.calls, asked.changes), (100, 0));
    poller.remove(ours.as_fd()).unwrap();
}

// One shot is for the descriptor: what the other filter says later is not reported.
#[test]
fn one_shot_of_either_filter_silences_both() {
    let variants = ["freebsd", "macos", "netbsd", "openbsd", "stale"];
    if !is_emulated("one_shot_of_either_filter_silences_both", &variants) {
        return;
    }
    let poller = poller();
    let (mut ours, mut theirs) = pair();
    let fd = ours.try_clone().unwrap();
    poller
        .add(fd.as_fd(), Token(1), BOTH, Mode::Oneshot)
        .unwrap();
    for token in 2..20 {
        let asked = counted(|| {
            let event = wait_for_one(&poller);
            assert!(event.is_writable() && !event.is_readable(), "{event:?}");
            // The filter for reading still is on.
            theirs.write_all(b"x").unwrap();
            expect_nothing(&poller);
            theirs.write_all(b"x").unwrap();
            expect_nothing(&poller);
        });
        assert_eq!(asked.changes, 0);
        let (fd, token) = (fd.as_fd(), Token(token));
        poller.modify(fd, token, BOTH, Mode::Oneshot).unwrap();
        let event = wait_for_one(&poller);
        assert_eq!(event.token(), token);
        assert!(event.is_writable() && event.is_readable(), "{event:?}");
        expect_nothing(&poller);
        assert_eq!(ours.read(&mut [0; 8]).unwrap(), 2);
        poller.modify(fd, token, BOTH, Mode::Oneshot).unwrap();
    }
    poller.remove(fd.as_fd()).unwrap();
}

// Two entries of one descriptor may come in different batches.
#[test]
fn small_batches_keep_one_shot() {
    if !is_emulated("small_batches_keep_one_shot", &SYSTEMS) {
        return;
    }
    let poller = poller();
    let (ours, mut theirs) = pair();
    theirs.write_all(b"x").unwrap();
    poller
        .add(ours.as_fd(), Token(1), BOTH, Mode::Oneshot)
        .unwrap();
    let mut events = Events::with_capacity(1).unwrap();
    let mut count = 0;
    for _ in 0..5 {
        count += poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
    }
    assert_eq!(count, 1);
    poller.remove(ours.as_fd()).unwrap();
}

// Our own end shows in the filter for writing, and is none of reading.
#[test]
fn our_own_shutdown_closes_the_write_half_only() {
    if !is_emulated("our_own_shutdown_closes_the_write_half_only", &SYSTEMS) {
        return;
    }
    for mode in [Mode::Level, Mode::Oneshot, Mode::Edge] {
        let poller = poller();
        let (ours, mut theirs) = pair();
        ours.shutdown(Shutdown::Write).unwrap();
        poller.add(ours.as_fd(), Token(1), BOTH, mode).unwrap();
        let event = wait_for_one(&poller);
        assert!(event.is_writable() && event.is_write_closed(), "{event:?}");
        assert!(!event.is_readable() && !event.is_read_closed(), "{event:?}");
        theirs.write_all(b"x").unwrap();
        poller.modify(ours.as_fd(), Token(1), BOTH, mode).unwrap();
        let event = wait_for_one(&poller);
        assert!(event.is_readable() && !event.is_read_closed(), "{event:?}");
        poller.remove(ours.as_fd()).unwrap();
    }
}

// A hang-up is told though only one of the filters is registered.
#[test]
fn the_end_of_both_halves_is_told_by_either_filter() {
    if !is_emulated("the_end_of_both_halves_is_told_by_either_filter", &SYSTEMS) {
        return;
    }
    for interest in [Interest::NONE, READABLE, WRITABLE, BOTH] {
        for mode in [Mode::Level, Mode::Oneshot, Mode::Edge] {
            let poller = poller();
            let (ours, theirs) = pair();
            poller.add(ours.as_fd(), Token(1), interest, mode).unwrap();
            wait(&poller, Duration::ZERO);
            drop(theirs);
            poller
                .modify(ours.as_fd(), Token(1), interest, mode)
                .unwrap();
            let event = wait_for_one(&poller);
            let (is_over, interest) = (event.is_read_closed() && event.is_write_closed(), interest);
            assert!(is_over, "{interest:?}, {mode:?}: {event:?}");
            assert!(event.is_readable() && event.is_writable());
            poller.remove(ours.as_fd()).unwrap();
        }
    }
}

// A pipe that nobody reads is refused by one system, and accepted with an error by another.
#[test]
fn a_pipe_without_a_reader_is_reported_as_at_its_end() {
    let variants = ["freebsd", "netbsd", "epipe", "netbsd,noreceipt"];
    if !is_emulated(
        "a_pipe_without_a_reader_is_reported_as_at_its_end",
        &variants,
    ) {
        return;
    }
    for mode in [Mode::Level, Mode::Oneshot, Mode::Edge] {
        let poller = poller();
        let (read_end, write_end) = pipe();
        drop(read_end);
        let (fd, interest) = (write_end.as_fd(), WRITABLE);
        poller.add(fd, Token(1), interest, mode).unwrap();
        let event = wait_for_one(&poller);
        assert!(event.is_writable() && event.is_write_closed(), "{event:?}");
        let more = (0..10).filter(|_| !wait(&poller, Duration::ZERO).is_empty());
        match mode {
            Mode::Level => assert_eq!(more.count(), 10),
            Mode::Oneshot => assert_eq!(more.count(), 0),
            Mode::Edge => assert!(more.count() <= 1),
        }
        poller.modify(fd, Token(2), interest, mode).unwrap();
        assert_eq!(wait_for_one(&poller).token(), Token(2));
        poller.remove(fd).unwrap();
        expect_nothing(&poller);
    }
}

// It keeps no other descriptor from being reported.
#[test]
fn pipes_without_a_reader_take_their_turns() {
    if !is_emulated(
        "pipes_without_a_reader_take_their_turns",
        &["netbsd", "epipe"],
    ) {
        return;
    }
    let poller = poller();
    let ends: Vec<_> = (0..6).map(|_| pipe().1).collect();
    let streams: Vec<_> = (0..6).map(|_| pair()).collect();
    let ends = ends.iter().map(AsFd::as_fd);
    let descriptors: Vec<_> = ends
        .chain(streams.iter().map(|(ours, _)| ours.as_fd()))
        .collect();
    for (number, fd) in descriptors.iter().enumerate() {
        let token = Token(number as u64);
        poller.add(*fd, token, WRITABLE, Mode::Level).unwrap();
    }
    for capacity in [1, 2, 5, 100] {
        let mut events = Events::with_capacity(capacity).unwrap();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..40 {
            poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
            assert!(events.len() <= capacity);
            seen.extend(events.iter().map(Event::token));
        }
        assert_eq!(seen.len(), descriptors.len(), "{capacity} at a time");
    }
    for fd in descriptors {
        poller.remove(fd).unwrap();
    }
}

#[test]
fn a_notification_is_one_trigger_a_wait() {
    if !is_emulated("a_notification_is_one_trigger_a_wait", &SYSTEMS) {
        return;
    }
    let poller = poller();
    assert_eq!(poller.notifier(), NotifierKind::User);
    let asked = counted(|| {
        for _ in 0..10 {
            poller.notify().unwrap();
        }
        wait(&poller, LONG);
    });
    assert_eq!(asked.triggers, 0, "nobody was waiting");
    let asked = counted(|| {
        let sleeps = counters().sleeps;
        thread::scope(|scope| {
            scope.spawn(|| poller.wait(&mut Events::new(), None).unwrap());
            look_until(|| counters().sleeps > sleeps);
            for _ in 0..10 {
                poller.notify().unwrap();
            }
        });
    });
    assert_eq!(asked.triggers, 1);
}

// What can't be watched is a typed error, and leaves nothing.
#[test]
fn a_device_that_is_refused_is_a_typed_error() {
    if !is_emulated("a_device_that_is_refused_is_a_typed_error", &SYSTEMS) {
        return;
    }
    let poller = poller();
    let null = std::fs::File::open("/dev/null").unwrap();
    for interest in [READABLE, BOTH, Interest::NONE] {
        let added = poller.add(null.as_fd(), Token(1), interest, Mode::Edge);
        let error = added.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let inner: &RegisterError = error.get_ref().unwrap().downcast_ref().unwrap();
        assert_eq!(inner.refusal(), Refusal::Device);
    }
    expect_nothing(&poller);
}

#[test]
fn a_queue_that_cannot_be_made_leaves_the_other_back_ends() {
    let variants = ["open=fail:ENOMEM", "open=fail:EMFILE", "open=fail:ENOSYS"];
    if !is_emulated(
        "a_queue_that_cannot_be_made_leaves_the_other_back_ends",
        &variants,
    ) {
        return;
    }
    assert!(!Backend::available().contains(&Backend::Kqueue));
    assert_eq!(Poller::new().unwrap().backend(), Backend::available()[0]);
    let text = Poller::with_backend(Backend::Kqueue)
        .unwrap_err()
        .to_string();
    assert!(text.contains("kqueue") && text.contains("poll"), "{text}");
}

// Without a library there is no kqueue here.
#[test]
fn without_the_emulation_there_is_none() {
    if std::env::var_os("LD_PRELOAD").is_some() {
        return println!("skipped: something is preloaded");
    }
    let error = Poller::with_backend(Backend::Kqueue).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(!Backend::available().contains(&Backend::Kqueue));
}
