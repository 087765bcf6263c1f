//! Waiting, timeouts, signals, threads, and queues that are themselves waited for.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::queue::{Queue, change, names, numbered};
use crate::support::{ADD, CLEAR, DELETE, Kevent, READ, USER, WRITE, child::api, system};

pub(crate) fn no_room_returns_at_once() {
    let queue = Queue::new();
    let start = Instant::now();
    assert_eq!(queue.call(&[], &mut [], None).unwrap(), 0);
    assert_eq!(
        queue
            .call(&[], &mut [], Some(Duration::from_secs(60)))
            .unwrap(),
        0
    );
    assert!(start.elapsed() < Duration::from_secs(30));
}

pub(crate) fn timeouts_are_never_early() {
    let queue = Queue::new();
    for microseconds in [0, 900, 1_000, 20_000] {
        let timeout = Duration::from_micros(microseconds);
        let (start, mut events) = (Instant::now(), [Kevent::default()]);
        assert_eq!(queue.call(&[], &mut events, Some(timeout)).unwrap(), 0);
        assert!(start.elapsed() >= timeout);
    }
}

pub(crate) fn bad_timeouts_are_refused_after_the_changes() {
    let (queue, mut events) = (Queue::new(), [Kevent::default()]);
    let add = numbered(1, USER, ADD | CLEAR);
    for timeout in [(0, 1_000_000_000), (-1, 0)] {
        let error = queue
            .call_with_timespec(&[add], &mut events, Some(timeout))
            .unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        queue.set(&[numbered(1, USER, DELETE)]);
    }
}

pub(crate) fn long_timeouts_are_noticed() {
    let (queue, mut events) = (Queue::new(), [Kevent::default()]);
    queue.set(&[numbered(1, USER, ADD | CLEAR)]);
    queue.trigger(1, 0).unwrap();
    let long = Some((30 * 86_400, 0));
    assert_eq!(queue.call_with_timespec(&[], &mut events, long).unwrap(), 1);
}

extern "C" fn ignore(_signal: i32) {}

pub(crate) fn signals_interrupt_after_the_changes() {
    let (queue, mut events) = (Queue::new(), [Kevent::default()]);
    let error = system::while_signalled(ignore, || {
        let add = numbered(1, USER, ADD | CLEAR);
        queue
            .call(&[add], &mut events, Some(Duration::from_secs(20)))
            .unwrap_err()
    });
    assert_eq!(error.raw_os_error(), Some(libc::EINTR));
    queue.trigger(1, 0).expect("the change has been applied");
}

/// Runs `act` while another thread waits, and gives what that thread gets.
fn meanwhile(queue: &Queue, act: impl FnOnce()) -> Vec<Kevent> {
    thread::scope(|scope| {
        let (sender, started) = mpsc::channel();
        let waiter = scope.spawn(move || {
            sender.send(()).unwrap();
            queue.wait()
        });
        started.recv().unwrap();
        act();
        waiter.join().unwrap()
    })
}

pub(crate) fn a_change_reaches_a_waiting_thread() {
    let queue = Queue::new();
    for _ in 0..200 {
        let (one, _other) = UnixStream::pair().unwrap();
        let events = meanwhile(&queue, || queue.set(&[change(&one, WRITE, ADD | CLEAR)]));
        assert_eq!(names(&events), [(one.as_raw_fd(), WRITE)]);
        queue.set(&[change(&one, WRITE, DELETE)]);
    }
}

pub(crate) fn a_trigger_reaches_a_waiting_thread() {
    let queue = Queue::new();
    queue.set(&[numbered(1, USER, ADD | CLEAR)]);
    for _ in 0..200 {
        let events = meanwhile(&queue, || assert_eq!(queue.trigger(1, 0).unwrap(), 0));
        assert_eq!(events.len(), 1);
    }
}

/// Lets `count` threads wait for as long as each may, and gives what each got after `act`.
fn waiters(queue: &Queue, count: usize, act: impl FnOnce()) -> Vec<usize> {
    thread::scope(|scope| {
        let (sender, started) = mpsc::channel();
        let wait = |sender: mpsc::Sender<()>| {
            sender.send(()).unwrap();
            let mut events = [Kevent::default(); 4];
            queue
                .call(&[], &mut events, Some(Duration::from_millis(300)))
                .unwrap()
        };
        let threads: Vec<_> = (0..count)
            .map(|_| {
                let sender = sender.clone();
                scope.spawn(move || wait(sender))
            })
            .collect();
        for _ in 0..count {
            started.recv().unwrap();
        }
        act();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

pub(crate) fn an_edge_goes_to_one_waiter() {
    let ((one, mut other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    queue.set(&[change(&one, READ, ADD | CLEAR)]);
    let counts = waiters(&queue, 4, || other.write_all(b"x").unwrap());
    assert_eq!(counts.iter().sum::<usize>(), 1, "{counts:?}");
}

pub(crate) fn a_level_goes_to_every_waiter() {
    let ((one, mut other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    queue.set(&[change(&one, READ, ADD)]);
    let counts = waiters(&queue, 4, || other.write_all(b"x").unwrap());
    assert_eq!(counts, [1; 4]);
}

pub(crate) fn closing_does_not_wake_a_waiter() {
    let queue = Queue::new();
    queue.set(&[numbered(1, USER, ADD | CLEAR)]);
    let number = queue.0;
    let counts = waiters(&queue, 1, || {
        // The waiter is asleep soon; if not yet, it finds the number closed, and the rule fails.
        while system::is_open(number) && !is_asleep() {
            thread::yield_now();
        }
        system::close(number);
    });
    assert_eq!(counts, [0], "it waits until its time is over");
    std::mem::forget(queue);
}

/// Tells whether a thread of this process sleeps in `ppoll()`.
fn is_asleep() -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks.flatten().any(|task| {
        let call = std::fs::read_to_string(task.path().join("syscall")).unwrap_or_default();
        call.split(' ').next() == Some(&libc::SYS_ppoll.to_string())
    })
}

pub(crate) fn a_queue_can_be_polled() {
    let ((mut one, mut other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    one.set_nonblocking(true).unwrap();
    queue.set(&[change(&one, READ, ADD), numbered(1, USER, ADD | CLEAR)]);
    assert!(!system::polls_readable(queue.0));
    other.write_all(b"x").unwrap();
    assert!(system::polls_readable(queue.0));
    assert_eq!(queue.take().len(), 1);
    assert!(
        system::polls_readable(queue.0),
        "level: it is pending still"
    );
    system::drain(&mut one);
    assert_eq!(queue.take(), []);
    assert!(!system::polls_readable(queue.0));
    queue.trigger(1, 0).unwrap();
    assert!(system::polls_readable(queue.0));
    assert_eq!(queue.take().len(), 1);
    assert!(!system::polls_readable(queue.0));
}

pub(crate) fn a_queue_can_be_in_a_queue() {
    let (outer, inner) = (Queue::new(), Queue::new());
    outer.set(&[change(&inner, READ, ADD)]);
    inner.set(&[
        numbered(1, USER, ADD | CLEAR),
        numbered(2, USER, ADD | CLEAR),
    ]);
    assert_eq!(outer.take(), []);
    let events = meanwhile(&outer, || assert_eq!(inner.trigger(1, 0).unwrap(), 0));
    assert_eq!((names(&events), events[0].data), (vec![(inner.0, READ)], 1));
    inner.trigger(2, 0).unwrap();
    assert_eq!(outer.take()[0].data, 2);
    assert_eq!(inner.take().len(), 2);
    assert_eq!(outer.take(), []);
    assert_eq!(outer.change(&[change(&inner, WRITE, ADD)]), [libc::EINVAL]);
    outer.set(&[change(&inner, READ, DELETE)]);
}

pub(crate) fn a_queue_that_lives_through_exec_is_noticed() {
    let queue = Queue::unmarked();
    assert_eq!(queue.take(), []);
    assert_eq!(queue.take(), []);
}

pub(crate) fn calls_are_counted() {
    let read = || {
        let mut counters = [0; 4];
        (api().counters)(&mut counters);
        counters
    };
    assert_eq!(read(), [0; 4]);
    let queue = Queue::new();
    queue.set(&[numbered(1, USER, ADD | CLEAR)]);
    queue.trigger(1, 0).unwrap();
    assert_eq!(queue.take().len(), 1);
    assert_eq!(read(), [1, 3, 1, 0]);
}
