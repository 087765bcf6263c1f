//! When something is reported, and how often.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use crate::support::queue::{Queue, change, names};
use crate::support::{ADD, CLEAR, DELETE, DISABLE, DISPATCH, ENABLE, ONESHOT, READ, WRITE, system};

fn pair() -> (UnixStream, UnixStream) {
    let (one, other) = UnixStream::pair().unwrap();
    one.set_nonblocking(true).unwrap();
    other.set_nonblocking(true).unwrap();
    (one, other)
}

pub(crate) fn level_reports_again_until_read() {
    let ((mut one, mut other), queue) = (pair(), Queue::new());
    queue.set(&[change(&one, READ, ADD)]);
    assert_eq!(queue.take(), []);
    other.write_all(b"abc").unwrap();
    for _ in 0..3 {
        assert_eq!(queue.take().len(), 1);
    }
    system::drain(&mut one);
    assert_eq!(queue.take(), []);
    other.write_all(b"abc").unwrap();
    assert_eq!(queue.take().len(), 1);
}

pub(crate) fn clear_reports_each_change_once() {
    let ((mut one, mut other), queue) = (pair(), Queue::new());
    other.write_all(b"early").unwrap();
    queue.set(&[change(&one, READ, ADD | CLEAR)]);
    let events = queue.take();
    assert_eq!(events[0].flags & CLEAR, CLEAR);
    assert_eq!(events[0].data, 5, "the initial state counts");
    assert_eq!(queue.take(), []);
    system::drain(&mut one);
    assert_eq!(queue.take(), []);
    other.write_all(b"late").unwrap();
    assert_eq!(queue.take().len(), 1);
    assert_eq!(queue.take(), []);
}

pub(crate) fn clear_reports_new_data_beside_unread_data() {
    for kind in ["unix", "tcp", "pipe"] {
        let (one, mut other): (Box<dyn AsRawFd>, Box<dyn Write>) = match kind {
            "unix" => {
                let (one, other) = pair();
                (Box::new(one), Box::new(other))
            }
            "tcp" => {
                let (one, other) = system::tcp_pair();
                (Box::new(one), Box::new(other))
            }
            _ => {
                let (reader, writer) = system::pipe();
                (Box::new(reader), Box::new(writer))
            }
        };
        let queue = Queue::new();
        let add = |flags| crate::support::queue::numbered(one.as_raw_fd(), READ, flags);
        queue.set(&[add(ADD | CLEAR)]);
        for round in 1..=3 {
            other.write_all(b"12345").unwrap();
            let events = queue.wait();
            assert_eq!(events[0].data, round * 5, "{kind}: all of it");
            assert_eq!(queue.take(), [], "{kind}");
        }
    }
}

pub(crate) fn edges_of_reading_and_writing_are_independent() {
    let ((one, other), (two, another)) = (pair(), system::tcp_pair());
    let queue = Queue::new();
    check_independence(&queue, &one, &one, other);
    check_independence(&queue, &two, &two, another);
}

fn check_independence(
    queue: &Queue,
    one: &impl AsRawFd,
    mut own: impl Write,
    mut peer: impl Write,
) {
    queue.set(&[
        change(one, READ, ADD | CLEAR),
        change(one, WRITE, ADD | CLEAR),
    ]);
    assert_eq!(names(&queue.take()), [(one.as_raw_fd(), WRITE)]);
    for _ in 0..3 {
        peer.write_all(b"x").unwrap();
        assert_eq!(
            names(&queue.wait()),
            [(one.as_raw_fd(), READ)],
            "no second write event"
        );
        assert_eq!(queue.take(), []);
    }
    own.write_all(b"x").unwrap();
    assert_eq!(queue.take(), [], "writing with space left is no change");
    queue.set(&[change(one, READ, DELETE), change(one, WRITE, DELETE)]);
}

pub(crate) fn oneshot_goes_with_its_report() {
    let ((one, mut other), queue) = (pair(), Queue::new());
    queue.set(&[change(&one, READ, ADD | ONESHOT)]);
    other.write_all(b"x").unwrap();
    assert_eq!(queue.take().len(), 1);
    other.write_all(b"x").unwrap();
    assert_eq!(queue.take(), []);
    queue.set(&[change(&one, READ, ADD | ONESHOT)]);
    assert_eq!(queue.take().len(), 1);
}

pub(crate) fn oneshot_is_not_asked_again() {
    let ((mut one, mut other), queue) = (pair(), Queue::new());
    other.write_all(b"x").unwrap();
    queue.set(&[change(&one, READ, ADD | ONESHOT)]);
    system::drain(&mut one);
    let events = queue.take();
    assert_eq!(
        (events.len(), events[0].data),
        (1, 1),
        "what it was when it happened"
    );
}

pub(crate) fn dispatch_disables_until_enabled() {
    let ((one, mut other), queue) = (pair(), Queue::new());
    queue.set(&[change(&one, READ, ADD | DISPATCH)]);
    other.write_all(b"x").unwrap();
    assert_eq!(queue.take().len(), 1);
    other.write_all(b"x").unwrap();
    assert_eq!(queue.take(), []);
    queue.set(&[change(&one, READ, ENABLE)]);
    assert_eq!(queue.take().len(), 1);
    assert_eq!(queue.take(), []);
    queue.set(&[change(&one, READ, ADD | DISPATCH)]);
    assert_eq!(queue.take().len(), 1, "EV_ADD enables as well");
}

pub(crate) fn disabled_says_nothing_and_enabling_tells() {
    let ((one, mut other), queue) = (pair(), Queue::new());
    queue.set(&[change(&one, READ, ADD | CLEAR | DISABLE).udata(4)]);
    other.write_all(b"x").unwrap();
    assert_eq!(queue.take(), []);
    assert!(
        !system::polls_readable(queue.0),
        "what is disabled is not pending"
    );
    queue.set(&[change(&one, READ, ENABLE).udata(4)]);
    assert_eq!(queue.take().len(), 1);
    other.write_all(b"x").unwrap();
    queue.set(&[change(&one, READ, DISABLE).udata(4)]);
    assert_eq!(queue.take(), [], "disabling takes back what was pending");
    queue.set(&[change(&one, READ, ENABLE).udata(4)]);
    assert_eq!(queue.take().len(), 1);
}

pub(crate) fn small_lists_starve_nobody() {
    let pairs: Vec<_> = (0..5).map(|_| pair()).collect();
    let queue = Queue::new();
    for (one, mut other) in pairs.iter().map(|(one, other)| (one, other)) {
        queue.set(&[change(one, READ, ADD)]);
        other.write_all(b"x").unwrap();
    }
    let mut seen = vec![0; pairs.len()];
    for _ in 0..15 {
        let ident = queue.take_some(1)[0].ident as i32;
        seen[pairs
            .iter()
            .position(|(one, _)| one.as_raw_fd() == ident)
            .unwrap()] += 1;
    }
    assert_eq!(seen, [3; 5]);
}
