//! What other systems and older kernels do, and faults.

use std::fs::File;
use std::io::{Error, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::support::queue::{Queue, change, numbered};
use crate::support::{
    ADD, CLEAR, DELETE, EOF, ERROR, Kevent, ONESHOT, READ, RECEIPT, USER, WRITE, child::api, system,
};

pub(crate) fn user_events_are_refused() {
    assert_eq!(
        Queue::new().change(&[numbered(1, USER, ADD | CLEAR)]),
        [libc::EINVAL]
    );
}

pub(crate) fn receipts_are_ignored() {
    let ((one, _other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    let adds = [
        change(&one, READ, ADD | RECEIPT),
        numbered(1, -99, ADD | RECEIPT),
    ];
    let mut entries = [Kevent::default(); 1];
    let count = queue
        .call(&adds[..1], &mut entries, Some(Duration::ZERO))
        .unwrap();
    assert_eq!(count, 0, "success says nothing");
    let delete = change(&one, WRITE, ADD | RECEIPT);
    let count = queue
        .call(&[delete], &mut entries, Some(Duration::ZERO))
        .unwrap();
    assert_eq!(
        (count, entries[0].flags & ERROR),
        (1, 0),
        "an event may come in its place"
    );
}

pub(crate) fn every_third_sleep_is_interrupted() {
    let (queue, mut events) = (Queue::new(), [Kevent::default()]);
    let mut wait = || {
        let result = queue.call(&[], &mut events, Some(Duration::from_millis(1)));
        result.map_err(|error| error.raw_os_error())
    };
    let interrupted = Err(Some(libc::EINTR));
    let mut results = vec![];
    while results.len() < 30 {
        results.push(wait());
    }
    assert!(
        results
            .iter()
            .all(|result| *result == Ok(0) || *result == interrupted)
    );
    assert!(
        results
            .iter()
            .filter(|result| **result == interrupted)
            .count()
            >= 5
    );
    queue.set(&[numbered(1, USER, ADD | CLEAR)]);
    for _ in 0..9 {
        queue.trigger(1, 0).unwrap();
        assert_eq!(wait(), Ok(1), "what is pending comes without a sleep");
    }
}

pub(crate) fn opening_fails() {
    assert_eq!((api().kqueue)(), -1);
    assert_eq!(Error::last_os_error().raw_os_error(), Some(libc::ENOMEM));
}

pub(crate) fn oneshot_events_are_stale() {
    let (mut one, mut other) = UnixStream::pair().unwrap();
    let queue = Queue::new();
    one.set_nonblocking(true).unwrap();
    // Nothing shows when the thread of this variant has looked, so it is given longer each time.
    for patience in (0..10).map(|power| Duration::from_millis(1 << power)) {
        let (start, add) = (Instant::now(), change(&one, READ, ADD | ONESHOT));
        queue.set(&[add]);
        other.write_all(b"abc").unwrap();
        while start.elapsed() < patience {
            std::thread::yield_now();
        }
        assert_eq!(system::drain(&mut one), 3);
        if let [event] = queue.take()[..] {
            assert_eq!(event.data, 3, "the data has gone, the event has not");
            return;
        }
        queue.set(&[change(&one, READ, DELETE)]);
    }
    panic!("no event was stale");
}

pub(crate) fn broken_pipe_gives_an_error_and_registers() {
    let ((reader, writer), queue) = (system::pipe(), Queue::new());
    drop(reader);
    assert_eq!(queue.change(&[change(&writer, WRITE, ADD)]), [libc::EPIPE]);
    assert_eq!(queue.take()[0].flags & EOF, EOF);
    queue.set(&[change(&writer, WRITE, DELETE)]);
}

pub(crate) fn broken_pipe_is_refused() {
    let ((reader, writer), queue) = (system::pipe(), Queue::new());
    queue.set(&[change(&writer, WRITE, ADD)]);
    queue.set(&[change(&writer, WRITE, DELETE)]);
    drop(reader);
    assert_eq!(queue.change(&[change(&writer, WRITE, ADD)]), [libc::EBADF]);
    assert_eq!(queue.take(), []);
}

pub(crate) fn own_terminal_is_refused() {
    // Without a terminal it cannot be opened, and there is nothing to show.
    if let Ok(terminal) = File::open("/dev/tty") {
        let refused = Queue::new().change(&[change(&terminal, READ, ADD)]);
        assert_eq!(refused, [libc::EINVAL]);
    }
}

pub(crate) fn openbsd_keeps_flags_in_receipts() {
    let queue = Queue::new();
    let mut receipt = [Kevent::default()];
    let add = numbered(1, USER, ADD | CLEAR | RECEIPT);
    queue
        .call(&[add], &mut receipt, Some(Duration::ZERO))
        .unwrap();
    assert_eq!(receipt[0].flags, ADD | CLEAR | RECEIPT | ERROR);
}
