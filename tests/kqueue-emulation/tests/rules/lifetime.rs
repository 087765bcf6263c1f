//! Close, dup and fork.

use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::support::queue::{Queue, change, names, numbered};
use crate::support::{ADD, CLEAR, DELETE, Kevent, READ, USER, WRITE, child::api, system};

pub(crate) fn close_removes_the_knotes_of_that_number() {
    let ((one, mut other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    let _alive = system::dup(one.as_raw_fd());
    other.write_all(b"x").unwrap();
    queue.set(&[change(&one, READ, ADD), change(&one, WRITE, ADD)]);
    drop(one);
    assert_eq!(queue.take(), [], "at once, though the file lives on");
    other.write_all(b"x").unwrap();
    assert_eq!(queue.take(), []);
    assert!(!system::polls_readable(queue.0));
}

pub(crate) fn a_reused_number_starts_without_knotes() {
    let ((one, mut other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    queue.set(&[change(&one, READ, ADD).udata(1)]);
    let number = one.into_raw_fd();
    let alive = system::dup(number);
    system::close(number);
    assert_eq!(system::dup2(alive.as_raw_fd(), number), number);
    other.write_all(b"x").unwrap();
    assert_eq!(
        queue.take(),
        [],
        "the same file under the same number is new all the same"
    );
    queue.set(&[numbered(number, READ, ADD | CLEAR).udata(2)]);
    let events = queue.take();
    assert_eq!(
        (events.len(), events[0].udata, events[0].flags & CLEAR),
        (1, 2, CLEAR)
    );
    assert_eq!(queue.take(), [], "nothing of the old mode is left");
    queue.set(&[numbered(number, READ, DELETE)]);
    system::close(number);
}

pub(crate) fn a_duplicate_has_no_knotes() {
    let ((one, mut other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    queue.set(&[change(&one, READ, ADD | CLEAR)]);
    let copy = system::dup(one.as_raw_fd());
    other.write_all(b"x").unwrap();
    assert_eq!(names(&queue.take()), [(one.as_raw_fd(), READ)]);
    queue.set(&[change(&copy, READ, ADD | CLEAR)]);
    assert_eq!(names(&queue.take()), [(copy.as_raw_fd(), READ)]);
    other.write_all(b"x").unwrap();
    assert_eq!(queue.take().len(), 2, "both numbers are watched");
    queue.set(&[change(&copy, READ, DELETE)]);
    drop(copy);
    other.write_all(b"x").unwrap();
    assert_eq!(names(&queue.take()), [(one.as_raw_fd(), READ)]);
}

pub(crate) fn dup2_removes_what_it_replaces() {
    let queue = Queue::new();
    let (one, mut other) = UnixStream::pair().unwrap();
    let (two, mut another) = UnixStream::pair().unwrap();
    let _alive = system::dup(one.as_raw_fd());
    queue.set(&[change(&one, READ, ADD)]);
    assert_eq!(system::dup2(-1, one.as_raw_fd()), -1, "this closes nothing");
    other.write_all(b"x").unwrap();
    assert_eq!(queue.take().len(), 1);
    assert_eq!(
        system::dup2(two.as_raw_fd(), one.as_raw_fd()),
        one.as_raw_fd()
    );
    another.write_all(b"x").unwrap();
    assert_eq!(queue.take(), []);
}

pub(crate) fn close_range_spares_the_emulation() {
    let ((one, mut other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    let _alive = system::dup(one.as_raw_fd());
    assert_eq!(system::dup2(one.as_raw_fd(), 200), 200);
    queue.set(&[numbered(200, READ, ADD), change(&one, READ, ADD)]);
    assert_eq!(system::close_range(200, u32::MAX), 0);
    assert!(!system::is_open(200));
    other.write_all(b"x").unwrap();
    assert_eq!(
        names(&queue.take()),
        [(one.as_raw_fd(), READ)],
        "the queue still works"
    );
    for number in 200..4096 {
        system::close(number);
    }
    assert_eq!(
        queue.take().len(),
        1,
        "neither does closing its numbers one by one hurt"
    );
    queue.set(&[change(&one, READ, DELETE)]);
}

pub(crate) fn an_unseen_close_is_noticed() {
    let ((one, _other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    queue.set(&[change(&one, READ, ADD)]);
    let number = one.into_raw_fd();
    // SAFETY: the number is this rule's own; it is closed past the C library.
    unsafe { libc::syscall(libc::SYS_close, number) };
    assert_eq!(queue.take(), []);
    let (two, mut another) = UnixStream::pair().unwrap();
    assert_eq!(two.as_raw_fd(), number, "the lowest number is taken again");
    queue.set(&[change(&two, READ, ADD | CLEAR)]);
    another.write_all(b"x").unwrap();
    assert_eq!(queue.take()[0].flags & CLEAR, CLEAR);
    queue.set(&[change(&two, READ, DELETE)]);
}

pub(crate) fn a_duplicated_queue_is_the_same_queue() {
    let queue = Queue::new();
    let copy = Queue(system::dup(queue.0).into_raw_fd());
    queue.set(&[numbered(1, USER, ADD | CLEAR)]);
    copy.trigger(1, 5).unwrap();
    assert_eq!(queue.take().len(), 1);
    queue.trigger(1, 5).unwrap();
    system::close_on_exec(copy.0);
    drop(queue);
    assert_eq!(
        copy.take()[0].udata,
        5,
        "it lives as long as one of its names"
    );
}

pub(crate) fn a_closed_queue_is_no_queue() {
    let queue = Queue::new();
    let number = queue.0;
    drop(queue);
    let file = std::fs::File::open("/dev/null").unwrap();
    assert_eq!(file.as_raw_fd(), number, "the number is free");
    let queue = std::mem::ManuallyDrop::new(Queue(number));
    let error = queue.call(&[], &mut [], Some(Duration::ZERO)).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EBADF));
}

pub(crate) fn a_forked_child_has_no_queue() {
    let queue = Queue::new();
    queue.set(&[numbered(1, USER, ADD | CLEAR)]);
    let status = system::in_child(|| {
        let mut events = [Kevent::default()];
        match queue.call(&[], &mut events, Some(Duration::ZERO)) {
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => {}
            _ => return 1,
        }
        if queue.trigger(1, 0).is_ok() {
            return 2;
        }
        i32::from(system::is_open(queue.0)) * 3
    });
    assert_eq!(status, 0);
    queue.trigger(1, 0).unwrap();
    assert_eq!(queue.take().len(), 1, "the parent's is as it was");
}

pub(crate) fn a_child_leaves_the_parents_knotes_alone() {
    let ((one, mut other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    queue.set(&[change(&one, READ, ADD)]);
    let status = system::in_child(|| {
        let Ok(own) = std::panic::catch_unwind(Queue::new) else {
            return 1;
        };
        own.set(&[change(&one, WRITE, ADD)]);
        let works = own.take().len() == 1;
        own.set(&[change(&one, WRITE, DELETE)]);
        drop(own);
        system::close(one.as_raw_fd());
        system::close(queue.0);
        i32::from(!works)
    });
    assert_eq!(status, 0);
    other.write_all(b"x").unwrap();
    assert_eq!(queue.take().len(), 1);
}

pub(crate) fn a_leaked_queue_is_noticed() {
    let queue = std::mem::ManuallyDrop::new(Queue::new());
    queue.set(&[numbered(1, USER, ADD | CLEAR)]);
    let _empty_one_is_not = std::mem::ManuallyDrop::new(Queue::new());
}

pub(crate) fn descriptors_are_given_back() {
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let (one, _other) = UnixStream::pair().unwrap();
    let before = open();
    for _ in 0..3 {
        let queue = Queue::new();
        queue.set(&[
            change(&one, READ, ADD),
            numbered(1, crate::support::TIMER, ADD),
        ]);
        assert!(open() > before);
        queue.set(&[change(&one, READ, DELETE)]);
    }
    assert_eq!(open(), before);
    let lowest = system::dup(one.as_raw_fd()).into_raw_fd();
    let queue = Queue::new();
    assert_eq!(queue.0, lowest + 1, "a queue takes one low number");
    let next = system::dup(one.as_raw_fd());
    assert_eq!(next.as_raw_fd(), lowest + 2, "and no other");
    // SAFETY: the number is this rule's own.
    drop(unsafe { OwnedFd::from_raw_fd(lowest) });
}

pub(crate) fn opening_half_way_leaves_nothing() {
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let (before, mut failures) = (open(), 0);
    for limit in 3.. {
        let number = system::with_descriptor_limit(limit, || (api().kqueue)());
        if number >= 0 {
            system::close(number);
            break;
        }
        failures += 1;
        assert_eq!(open(), before, "with {limit} descriptors");
    }
    assert!(
        failures >= 4,
        "it needs several descriptors, each of which can be the one too many"
    );
    assert_eq!(open(), before);
}
