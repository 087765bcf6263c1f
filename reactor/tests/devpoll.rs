//! What only /dev/poll shows: what is written to the device, and when.
//!
//! On an emulation, which ends the test at any violation: a write while a thread waits, an entry
//! that changes nothing, POLLREMOVE with other bits, a removal that comes late, room above the limit.

#![cfg(target_os = "linux")]

#[path = "support/devpoll.rs"]
mod emulation;
mod support;

use emulation::{Counters, counters, is_emulated};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::HashSet;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use support::{LONG, TimeLimit, expect_nothing, wait, wait_for_one};
use windlass_reactor::{Backend, Event, Events, Interest, Mode, NotifierKind, Poller, Token};

const ALL: [&str; 2] = ["illumos", "solaris"];
const READABLE: Interest = Interest::READABLE;
const BOTH: Interest = Interest::READABLE.union(Interest::WRITABLE);

/// To be dropped before what is in it is closed.
fn poller() -> Poller {
    Poller::with_notifier(Backend::DevPoll, NotifierKind::Pipe).unwrap()
}

fn pairs(count: u64) -> Vec<(UnixStream, UnixStream)> {
    let pair = |_| UnixStream::pair().unwrap();
    (0..count).map(pair).collect()
}

/// What `action` has written to the device.
fn counted(action: impl FnOnce()) -> Counters {
    let before = counters();
    action();
    let mut written = counters();
    written.writes -= before.writes;
    written.entries -= before.entries;
    written.additions -= before.additions;
    written.widenings -= before.widenings;
    written.removals -= before.removals;
    written
}

fn expect_written(written: Counters, writes: u64, entries: [u64; 3]) {
    let by_kind = [written.additions, written.widenings, written.removals];
    assert_eq!((written.writes, by_kind), (writes, entries));
    assert_eq!(written.entries, entries.iter().sum::<u64>());
}

#[test]
fn one_write_takes_all_changes() {
    if !is_emulated("one_write_takes_all_changes", &ALL, "") {
        return;
    }
    let poller = poller();
    expect_nothing(&poller);
    let pairs = pairs(100);
    let change = |range: std::ops::Range<usize>, interest| {
        for (index, (ours, _)) in pairs[range].iter().enumerate() {
            let token = Token(index as u64);
            poller
                .modify(ours.as_fd(), token, interest, Mode::Level)
                .unwrap();
        }
    };
    let added = counted(|| {
        for (index, (ours, _)) in pairs.iter().enumerate() {
            let token = Token(index as u64);
            poller
                .add(ours.as_fd(), token, READABLE, Mode::Level)
                .unwrap();
        }
        expect_nothing(&poller);
    });
    expect_written(added, 1, [100, 0, 0]);

    let changed = counted(|| {
        change(0..30, BOTH);
        assert_eq!(wait(&poller, LONG).len(), 30);
    });
    expect_written(changed, 1, [0, 30, 0]);

    // Ten are narrowed, ten widened, ten narrowed and widened again before anybody waits.
    let changed = counted(|| {
        change(0..10, READABLE);
        change(10..20, READABLE);
        change(10..20, BOTH);
        change(30..40, BOTH);
        assert_eq!(wait(&poller, LONG).len(), 30);
    });
    expect_written(changed, 1, [10, 10, 10]);

    let unchanged = counted(|| {
        change(0..10, READABLE);
        assert_eq!(wait(&poller, LONG).len(), 30);
        assert_eq!(wait(&poller, LONG).len(), 30);
    });
    expect_written(unchanged, 0, [0, 0, 0]);
    drop(poller);
}

// A removal is written at once, unless the kernel has never heard of the descriptor.
#[test]
fn removals_are_written_before_the_call_returns() {
    if !is_emulated("removals_are_written_before_the_call_returns", &ALL, "") {
        return;
    }
    let poller = poller();
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let add = || {
        poller
            .add(ours.as_fd(), Token(1), READABLE, Mode::Level)
            .unwrap();
    };
    add();
    expect_nothing(&poller);
    expect_written(
        counted(|| poller.remove(ours.as_fd()).unwrap()),
        1,
        [0, 0, 1],
    );
    add();
    expect_written(
        counted(|| poller.remove(ours.as_fd()).unwrap()),
        0,
        [0, 0, 0],
    );
    expect_written(counted(|| expect_nothing(&poller)), 0, [0, 0, 0]);
    drop(poller);
}

#[test]
fn a_steady_read_loop_writes_nothing() {
    if !is_emulated("a_steady_read_loop_writes_nothing", &ALL, "") {
        return;
    }
    let poller = poller();
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    poller
        .add(ours.as_fd(), Token(1), READABLE, Mode::Edge)
        .unwrap();
    expect_nothing(&poller);
    let changes = poller.interest_changes();
    let written = counted(|| {
        for _ in 0..1000 {
            theirs.write_all(b"request").unwrap();
            assert!(wait_for_one(&poller).is_readable());
            assert_eq!(ours.read(&mut [0; 64]).unwrap(), 7);
            assert!(ours.read(&mut [0; 64]).is_err());
            poller.rearm(ours.as_fd(), READABLE).unwrap();
        }
    });
    expect_written(written, 0, [0, 0, 0]);
    assert_eq!(poller.interest_changes(), changes);

    // Nobody reads any more: the interest is taken away once, when it fires.
    theirs.write_all(b"ignored").unwrap();
    wait_for_one(&poller);
    let written = counted(|| {
        for _ in 0..5 {
            expect_nothing(&poller);
        }
    });
    expect_written(written, 1, [1, 0, 1]);
    drop(poller);
}

// Tokens count up; the driver is busy with eight other descriptors.
#[test]
fn ten_thousand_removals_by_another_thread_under_load() {
    let name = "ten_thousand_removals_by_another_thread_under_load";
    if !is_emulated(name, &["illumos", "solaris", "solaris,eintr=5"], "") {
        return;
    }
    const REMOVALS: u64 = 10_000;
    const BUSY: u64 = u64::MAX - 1;
    let _limit = TimeLimit::of(Duration::from_secs(120));
    let poller = poller();
    let busy = pairs(8);
    for (ours, _) in &busy {
        ours.set_nonblocking(true).unwrap();
        poller
            .add(ours.as_fd(), Token(BUSY), READABLE, Mode::Level)
            .unwrap();
    }
    let removed_below = AtomicU64::new(0);
    let last_seen = AtomicU64::new(u64::MAX);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                for (_, theirs) in &busy {
                    let _ = { theirs }.write(b"x");
                }
                // Now and then the driver has nothing to do.
                thread::sleep(Duration::from_micros(50));
            }
        });
        let remover = scope.spawn(|| {
            for token in 0..REMOVALS {
                let (mut ours, mut theirs) = UnixStream::pair().unwrap();
                theirs.write_all(b"x").unwrap();
                poller
                    .add(ours.as_fd(), Token(token), READABLE, Mode::Level)
                    .unwrap();
                // Every other one is removed when the kernel knows it and the driver waits again.
                while token % 2 == 0 && last_seen.load(Ordering::SeqCst) != token {
                    thread::park();
                }
                let _ = ours.read(&mut [0; 1]).unwrap();
                poller.remove(ours.as_fd()).unwrap();
                removed_below.store(token + 1, Ordering::SeqCst);
            }
            is_over.store(true, Ordering::SeqCst);
            poller.notify().unwrap();
        });
        let mut events = Events::new();
        while !is_over.load(Ordering::SeqCst) {
            let gone = removed_below.load(Ordering::SeqCst);
            poller.wait(&mut events, Some(LONG)).unwrap();
            for event in &events {
                let token = event.token().0;
                assert!(token >= gone, "{event:?} is gone, as all to {gone}");
                if token != BUSY {
                    last_seen.store(token, Ordering::SeqCst);
                    remover.thread().unpark();
                }
            }
            for (ours, _) in &busy {
                let _ = { ours }.read(&mut [0; 4096]);
            }
        }
    });
    let removals = counters().removals;
    assert!(removals >= REMOVALS / 2, "only {removals} were known");
    drop(poller);
}

// A removal also ends a wait in which nothing else happens.
#[test]
fn a_removal_ends_a_wait_for_ever() {
    if !is_emulated("a_removal_ends_a_wait_for_ever", &ALL, "") {
        return;
    }
    let poller = poller();
    let streams = pairs(200);
    for (ours, _) in &streams {
        poller
            .add(ours.as_fd(), Token(1), READABLE, Mode::Level)
            .unwrap();
    }
    expect_nothing(&poller);
    let removed = AtomicBool::new(false);
    thread::scope(|scope| {
        let waits = scope.spawn(|| poller.wait(&mut Events::new(), None).unwrap());
        // Four removers at once, each with descriptors of its own.
        thread::scope(|scope| {
            for part in streams.chunks(50) {
                let poller = &poller;
                scope.spawn(move || {
                    for (ours, _) in part {
                        poller.remove(ours.as_fd()).unwrap();
                    }
                });
            }
        });
        removed.store(true, Ordering::SeqCst);
        poller.notify().unwrap();
        assert_eq!(waits.join().unwrap(), 0);
    });
    assert_eq!(counters().removals, 200);
    drop(poller);
}

#[test]
fn a_limit_that_is_lowered_is_kept() {
    if !is_emulated("a_limit_that_is_lowered_is_kept", &ALL, "") {
        return;
    }
    let poller = poller();
    let streams = pairs(60);
    for (index, (ours, _)) in streams.iter().enumerate() {
        poller
            .add(ours.as_fd(), Token(index as u64), BOTH, Mode::Oneshot)
            .unwrap();
    }
    assert_eq!(wait(&poller, LONG).len(), 60);
    for limit in [64, 7, 2] {
        let maximum = getrlimit(Resource::Nofile).maximum;
        let limit = Rlimit {
            current: Some(limit),
            maximum,
        };
        setrlimit(Resource::Nofile, limit).unwrap();
        // What was reported is taken out, and added with other bits: more than fits one write.
        expect_nothing(&poller);
        for (index, (ours, _)) in streams.iter().enumerate() {
            let token = Token(index as u64);
            poller
                .modify(ours.as_fd(), token, Interest::WRITABLE, Mode::Oneshot)
                .unwrap();
        }
        let mut seen = HashSet::new();
        while seen.len() < 60 {
            let batch = wait(&poller, LONG);
            assert!(!batch.is_empty());
            seen.extend(batch.iter().map(Event::token));
        }
    }
    drop(poller);
}

#[test]
fn what_was_closed_without_removal_is_said_once_and_taken_out() {
    let name = "what_was_closed_without_removal_is_said_once_and_taken_out";
    if !is_emulated(name, &ALL, "closed-in-set") {
        return;
    }
    let poller = poller();
    for mode in [Mode::Level, Mode::Edge, Mode::Oneshot] {
        let (ours, theirs) = UnixStream::pair().unwrap();
        poller.add(ours.as_fd(), Token(1), READABLE, mode).unwrap();
        expect_nothing(&poller);
        drop((ours, theirs));
        let written = counted(|| {
            let event = wait_for_one(&poller);
            assert!(event.is_error() && event.token() == Token(1));
            expect_nothing(&poller);
            expect_nothing(&poller);
        });
        expect_written(written, 1, [0, 0, 1]);
    }
    drop(poller);
}

// The entry of the file before is replaced, though the bits are the same.
#[test]
fn a_number_that_is_used_again_reports_its_new_file() {
    let name = "a_number_that_is_used_again_reports_its_new_file";
    let variants = ["illumos", "solaris", "stale=silent", "solaris,stale=silent"];
    if !is_emulated(name, &variants, "closed-in-set") {
        return;
    }
    let poller = poller();
    let (old, old_peer) = UnixStream::pair().unwrap();
    let number = old.as_raw_fd();
    poller
        .add(old.as_fd(), Token(1), READABLE, Mode::Level)
        .unwrap();
    expect_nothing(&poller);
    drop(old);
    let (new, mut new_peer) = UnixStream::pair().unwrap();
    assert_eq!(new.as_raw_fd(), number, "the lowest number is taken first");
    poller
        .add(new.as_fd(), Token(2), READABLE, Mode::Level)
        .unwrap();
    expect_nothing(&poller);
    new_peer.write_all(b"x").unwrap();
    assert_eq!(wait_for_one(&poller).token(), Token(2));
    poller.remove(new.as_fd()).unwrap();
    drop(old_peer);
    expect_nothing(&poller);
    drop(poller);
}

// The driver would keep the bits of a number that is not open for the next file.
#[test]
fn what_is_closed_before_it_is_written_is_never_written() {
    let name = "what_is_closed_before_it_is_written_is_never_written";
    if !is_emulated(name, &ALL, "") {
        return;
    }
    let poller = poller();
    expect_nothing(&poller);
    let (ours, theirs) = UnixStream::pair().unwrap();
    poller
        .add(ours.as_fd(), Token(1), BOTH, Mode::Level)
        .unwrap();
    drop((ours, theirs));
    let written = counted(|| {
        let event = wait_for_one(&poller);
        assert!(event.is_error() && event.token() == Token(1));
        expect_nothing(&poller);
    });
    expect_written(written, 0, [0, 0, 0]);
    drop(poller);
}

#[test]
fn a_device_that_cannot_be_opened_is_passed_over() {
    let name = "a_device_that_cannot_be_opened_is_passed_over";
    let variants = ["open=fail:ENOENT", "open=fail:ENXIO", "open=fail:EACCES"];
    if !is_emulated(name, &variants, "") {
        return;
    }
    assert!(!Backend::available().contains(&Backend::DevPoll));
    Poller::new().unwrap();
    let error = Poller::with_backend(Backend::DevPoll).unwrap_err();
    assert!(error.to_string().contains("devpoll"), "{error}");
}
