//! What changes do, and what is told about them.

use std::io::Write;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::support::queue::{Queue, change, names, numbered};
use crate::support::{
    ADD, CLEAR, DELETE, DISABLE, ENABLE, ERROR, Kevent, ONESHOT, READ, RECEIPT, USER, WRITE,
    child::api, system,
};

pub(crate) fn read_and_write_are_two_knotes() {
    let ((one, mut other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    queue.set(&[
        change(&one, READ, ADD).udata(7),
        change(&one, WRITE, ADD).udata(7),
    ]);
    other.write_all(b"x").unwrap();
    let events = queue.take();
    let mut found = names(&events);
    found.sort_unstable();
    assert_eq!(found, [(one.as_raw_fd(), WRITE), (one.as_raw_fd(), READ)]);
    assert!(events.iter().all(|event| event.udata == 7));
    queue.set(&[change(&one, WRITE, DELETE)]);
    assert_eq!(names(&queue.take()), [(one.as_raw_fd(), READ)]);
}

pub(crate) fn add_again_replaces_udata_at_once() {
    let ((one, mut other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    queue.set(&[change(&one, READ, ADD).udata(1)]);
    other.write_all(b"x").unwrap();
    assert_eq!(queue.take()[0].udata, 1);
    queue.set(&[change(&one, READ, ADD).udata(2)]);
    let events = queue.take();
    assert_eq!((events.len(), events[0].udata), (1, 2));
}

pub(crate) fn add_again_keeps_the_mode() {
    let ((one, mut other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    queue.set(&[change(&one, READ, ADD | CLEAR)]);
    queue.set(&[change(&one, READ, ADD).udata(2)]);
    other.write_all(b"x").unwrap();
    assert_eq!(queue.take().len(), 1);
    assert_eq!(queue.take(), [], "it is still EV_CLEAR");
}

pub(crate) fn delete_then_add_changes_the_mode() {
    let ((one, mut other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    queue.set(&[change(&one, READ, ADD | CLEAR)]);
    queue.set(&[change(&one, READ, DELETE), change(&one, READ, ADD)]);
    other.write_all(b"x").unwrap();
    assert_eq!(queue.take().len(), 1);
    assert_eq!(queue.take().len(), 1, "it is level-triggered now");
}

pub(crate) fn receipts_come_in_order_with_the_error_bit_only() {
    let ((one, _other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    let changes = [
        change(&one, READ, ADD | CLEAR | RECEIPT).udata(1),
        numbered(5, USER, ADD | CLEAR | RECEIPT).udata(2),
        change(&one, WRITE, ADD | RECEIPT).udata(3),
    ];
    let mut receipts = [Kevent::default(); 3];
    let count = queue
        .call(&changes, &mut receipts, Some(Duration::ZERO))
        .unwrap();
    assert_eq!(count, 3);
    for (receipt, change) in receipts.iter().zip(changes) {
        assert_eq!(
            *receipt,
            Kevent {
                flags: ERROR,
                data: 0,
                ..change
            }
        );
    }
}

pub(crate) fn receipts_keep_other_flags_elsewhere() {
    let ((one, _other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    let add = change(&one, READ, ADD | CLEAR | RECEIPT);
    let mut receipt = [Kevent::default()];
    queue
        .call(&[add], &mut receipt, Some(Duration::ZERO))
        .unwrap();
    assert_eq!(receipt[0].flags, ADD | CLEAR | RECEIPT | ERROR);
}

pub(crate) fn failure_without_room_stops_the_rest() {
    let ((one, _other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    let changes = [
        numbered(1, USER, ADD),
        change(&one, READ, DELETE),
        change(&one, WRITE, ADD),
    ];
    let error = queue
        .call(&changes, &mut [], Some(Duration::ZERO))
        .unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    assert_eq!(queue.take(), [], "the third change has not been applied");
    queue
        .trigger(1, 0)
        .expect("the first change has been applied");
}

pub(crate) fn receipt_without_room_stops_the_rest() {
    let ((one, _other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    let changes = [
        numbered(1, USER, ADD | RECEIPT),
        numbered(2, USER, ADD | RECEIPT),
        change(&one, WRITE, ADD | RECEIPT),
    ];
    let mut receipts = [Kevent::default()];
    queue
        .call(&changes, &mut receipts, Some(Duration::ZERO))
        .unwrap();
    assert_eq!(receipts[0].ident, 1);
    assert_eq!(queue.take(), [], "the third change has not been applied");
    queue
        .trigger(2, 0)
        .expect("the second change has been applied, only not told about");
}

pub(crate) fn failure_in_a_waiting_call_returns_without_events() {
    let ((one, _other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    queue.set(&[change(&one, WRITE, ADD)]);
    let mut events = [Kevent::default(); 8];
    let count = queue
        .call(&[change(&one, READ, DELETE)], &mut events, None)
        .unwrap();
    assert_eq!(count, 1, "no event beside the error, and no waiting");
    assert_eq!(
        (events[0].flags, events[0].data),
        (ERROR, libc::ENOENT as isize)
    );
    assert_eq!(queue.take().len(), 1, "the event is still there");
}

pub(crate) fn receipts_with_room_for_events_get_none() {
    let ((one, _other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    queue.set(&[change(&one, WRITE, ADD)]);
    let mut events = [Kevent::default(); 8];
    let add = change(&one, READ, ADD | RECEIPT);
    assert_eq!(
        queue.call(&[add], &mut events, None).unwrap(),
        1,
        "it never blocks"
    );
    assert_eq!(
        (events[0].filter, events[0].flags, events[0].data),
        (READ, ERROR, 0)
    );
}

pub(crate) fn errors_of_deleting_what_is_not_there() {
    let ((one, other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    assert_eq!(queue.change(&[change(&one, READ, DELETE)]), [libc::ENOENT]);
    let closed = other.into_raw_fd();
    system::close(closed);
    assert_eq!(
        queue.change(&[numbered(closed, READ, DELETE)]),
        [libc::EBADF]
    );
}

pub(crate) fn delete_after_oneshot_or_close_is_forgiven() {
    let ((one, other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    queue.set(&[change(&one, WRITE, ADD | ONESHOT)]);
    assert_eq!(queue.take().len(), 1);
    assert_eq!(queue.change(&[change(&one, WRITE, DELETE)]), [libc::ENOENT]);
    queue.set(&[change(&other, READ, ADD)]);
    let closed = other.into_raw_fd();
    system::close(closed);
    assert_eq!(
        queue.change(&[numbered(closed, READ, DELETE)]),
        [libc::EBADF]
    );
}

pub(crate) fn unknown_things_are_refused() {
    let ((one, _other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    assert_eq!(queue.change(&[change(&one, -99, ADD)]), [libc::EINVAL]);
    queue.set(&[change(&one, READ, ADD | 0x100)]);
    let noted = Kevent {
        fflags: 0x10,
        ..change(&one, WRITE, ADD)
    };
    queue.set(&[noted]);
    // FreeBSD skips a change of filter 0: neither error nor receipt.
    let nothing = change(&one, 0, ADD | RECEIPT);
    let mut events = [Kevent::default()];
    queue.set(&[change(&one, WRITE, DELETE)]);
    assert_eq!(
        queue
            .call(&[nothing], &mut events, Some(Duration::ZERO))
            .unwrap(),
        0
    );
    queue.set(&[numbered(1, USER, ADD | ENABLE | DISABLE)]);
}

pub(crate) fn bad_lists_are_refused() {
    let queue = Queue::new();
    let null = std::ptr::null_mut();
    let zero = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a null list with a count is refused before anything is read.
    let count = unsafe { (api().kevent)(queue.0, null, 1, null, 0, &raw const zero) };
    let error = std::io::Error::last_os_error().raw_os_error();
    assert_eq!((count, error), (-1, Some(libc::EFAULT)));
    // SAFETY: a negative count is refused before anything is written.
    let count = unsafe { (api().kevent)(queue.0, null, 0, null, -1, &raw const zero) };
    let error = std::io::Error::last_os_error().raw_os_error();
    assert_eq!((count, error), (-1, Some(libc::EINVAL)));
}

pub(crate) fn adding_without_a_change_is_noticed() {
    let ((one, _other), queue) = (UnixStream::pair().unwrap(), Queue::new());
    queue.set(&[change(&one, READ, ADD | CLEAR).udata(1)]);
    queue.set(&[change(&one, READ, ADD | CLEAR).udata(2)]);
    queue.set(&[change(&one, READ, ADD | CLEAR).udata(2)]);
    assert_eq!(queue.change(&[change(&one, WRITE, ENABLE)]), [libc::ENOENT]);
}
