//! Ends, errors and half-closed connections.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;

use crate::support::queue::{Queue, change, names};
use crate::support::{ADD, CLEAR, DELETE, EOF, Kevent, READ, WRITE, system};

fn of(events: &[Kevent], filter: i16) -> Option<&Kevent> {
    events.iter().find(|event| event.filter == filter)
}

pub(crate) fn end_comes_with_data_pending() {
    let (mut one, mut other) = system::tcp_pair();
    let queue = Queue::new();
    queue.set(&[change(&one, READ, ADD)]);
    other.write_all(b"last words").unwrap();
    drop(other);
    let mut events = queue.wait();
    // The bytes may be seen before the end.
    while events[0].flags & EOF == 0 {
        events = queue.wait();
    }
    assert_eq!((events[0].data, events[0].fflags), (10, 0));
    one.read_exact(&mut [0; 10]).unwrap();
    let events = queue.take();
    assert_eq!(
        (events[0].data, events[0].flags & EOF),
        (0, EOF),
        "it stays"
    );

    let (one, mut other) = UnixStream::pair().unwrap();
    let queue = Queue::new();
    queue.set(&[change(&one, READ, ADD)]);
    other.write_all(b"bye").unwrap();
    drop(other);
    let event = queue.take()[0];
    assert_eq!((event.flags & EOF, event.data, event.fflags), (EOF, 3, 0));
}

pub(crate) fn half_close_of_the_peer_leaves_writing_alone() {
    let ((one, other), queue) = (system::tcp_pair(), Queue::new());
    queue.set(&[change(&one, READ, ADD), change(&one, WRITE, ADD)]);
    other.shutdown(Shutdown::Write).unwrap();
    system::wait_readable(one.as_raw_fd());
    let events = queue.take();
    assert_eq!(of(&events, READ).unwrap().flags & EOF, EOF);
    assert_eq!(of(&events, WRITE).unwrap().flags & EOF, 0);
}

pub(crate) fn shutting_one_side_is_no_edge_of_the_other() {
    let ((mut one, mut other), queue) = (system::tcp_pair(), Queue::new());
    one.set_nonblocking(true).unwrap();
    queue.set(&[
        change(&one, READ, ADD | CLEAR),
        change(&one, WRITE, ADD | CLEAR),
    ]);
    assert_eq!(names(&queue.take()), [(one.as_raw_fd(), WRITE)]);
    other.write_all(b"x").unwrap();
    assert_eq!(names(&queue.wait()), [(one.as_raw_fd(), READ)]);
    other.shutdown(Shutdown::Write).unwrap();
    assert_eq!(
        names(&queue.wait()),
        [(one.as_raw_fd(), READ)],
        "the peer's end is for reading"
    );
    // What has been written and drained is an edge, whatever else happens.
    while one.write(&[0; 65_536]).is_ok() {}
    assert_eq!(queue.take(), []);
    other.set_nonblocking(true).unwrap();
    loop {
        system::drain(&mut other);
        let events = queue.take();
        if !events.is_empty() {
            assert_eq!(names(&events), [(one.as_raw_fd(), WRITE)]);
            break;
        }
    }
    one.shutdown(Shutdown::Write).unwrap();
    let events = queue.take();
    assert_eq!(
        names(&events),
        [(one.as_raw_fd(), WRITE)],
        "the own end is for writing"
    );
    assert_eq!(events[0].flags & EOF, EOF);
}

pub(crate) fn own_shutdown_ends_the_write_filter() {
    let (one, _other) = system::tcp_pair();
    let (two, _another) = UnixStream::pair().unwrap();
    let queue = Queue::new();
    queue.set(&[
        change(&one, WRITE, ADD | CLEAR),
        change(&two, WRITE, ADD | CLEAR),
    ]);
    assert_eq!(queue.take().len(), 2);
    one.shutdown(Shutdown::Write).unwrap();
    two.shutdown(Shutdown::Write).unwrap();
    let events = queue.take();
    assert_eq!(events.len(), 2);
    assert!(events.iter().all(|event| event.flags & EOF == EOF));
    // Data can still arrive: the read filter knows nothing of an end.
    queue.set(&[change(&one, READ, ADD), change(&two, READ, ADD)]);
    assert_eq!(queue.take(), []);
}

pub(crate) fn reset_shows_the_error_and_leaves_it() {
    let ((one, other), queue) = (system::tcp_pair(), Queue::new());
    queue.set(&[change(&one, READ, ADD), change(&one, WRITE, ADD | CLEAR)]);
    assert_eq!(queue.take().len(), 1);
    system::reset_on_close(other.as_raw_fd());
    drop(other);
    system::wait_readable(one.as_raw_fd());
    let events = queue.take();
    for filter in [READ, WRITE] {
        let event = of(&events, filter).unwrap();
        assert_eq!(
            (event.flags & EOF, event.fflags),
            (EOF, libc::ECONNRESET as u32)
        );
    }
    assert_eq!(
        system::take_error(one.as_raw_fd()),
        libc::ECONNRESET,
        "it was not taken"
    );
    assert_eq!(queue.take()[0].fflags, 0, "now it has been");
}

/// A socket that connects where nobody listens, with the given filters watched, and what comes.
struct Refused {
    // Dropped in this order: a descriptor must not be closed while it has knotes.
    _queue: Queue,
    socket: OwnedFd,
    events: Vec<Kevent>,
}

fn refused(filters: &[i16]) -> Refused {
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let (socket, queue) = (system::tcp_socket(), Queue::new());
    for filter in filters {
        queue.set(&[change(&socket, *filter, ADD)]);
    }
    system::begin_connect(&socket, address);
    let events = queue.wait();
    Refused {
        _queue: queue,
        socket,
        events,
    }
}

pub(crate) fn refused_connect_shows_in_the_write_filter() {
    let Refused {
        _queue,
        socket,
        events,
    } = &refused(&[READ, WRITE]);
    assert_eq!(names(events), [(socket.as_raw_fd(), WRITE)]);
    let expected = (EOF, libc::ECONNREFUSED as u32);
    assert_eq!((events[0].flags & EOF, events[0].fflags), expected);
    assert_eq!(system::take_error(socket.as_raw_fd()), libc::ECONNREFUSED);
}

pub(crate) fn refused_connect_shows_in_a_lone_read_filter() {
    let Refused {
        _queue,
        socket,
        events,
    } = &refused(&[READ]);
    assert_eq!(names(events), [(socket.as_raw_fd(), READ)]);
    assert_eq!(events[0].fflags, libc::ECONNREFUSED as u32);
}

pub(crate) fn refused_connect_shows_in_both_on_macos() {
    let events = &refused(&[READ, WRITE]).events;
    assert_eq!(events.len(), 2);
    assert!(events.iter().all(|event| event.flags & EOF == EOF));
}

pub(crate) fn pipe_without_writer_ends() {
    let ((mut reader, mut writer), queue) = (system::pipe(), Queue::new());
    queue.set(&[change(&reader, READ, ADD | CLEAR)]);
    writer.write_all(b"abc").unwrap();
    drop(writer);
    let events = queue.take();
    assert_eq!((events[0].flags & EOF, events[0].data), (EOF, 3));
    assert_eq!(system::drain(&mut reader), 3);
    assert_eq!(queue.take(), []);
}

pub(crate) fn pipe_without_reader_ends_the_write_filter() {
    let ((reader, mut writer), queue) = (system::pipe(), Queue::new());
    while writer.write(&[0; 4096]).is_ok() {}
    queue.set(&[change(&writer, WRITE, ADD | CLEAR)]);
    assert_eq!(queue.take(), []);
    drop(reader);
    let events = queue.take();
    assert_eq!((events.len(), events[0].flags & EOF), (1, EOF));
    queue.set(&[change(&writer, WRITE, DELETE)]);
    let (reader, writer) = system::pipe();
    let queue = Queue::new();
    drop(reader);
    queue.set(&[change(&writer, WRITE, ADD)]);
    assert_eq!(
        queue.take()[0].flags & EOF,
        EOF,
        "a pipe that is broken already ends at once"
    );
}

pub(crate) fn fifo_gets_a_new_writer() {
    let path = std::env::temp_dir().join(format!("windlass-kqueue-fifo-{}", std::process::id()));
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the name is a C string.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let open = |write: bool| {
        let mut options = File::options();
        options
            .read(!write)
            .write(write)
            .custom_flags(libc::O_NONBLOCK)
            .open(&path)
            .unwrap()
    };
    let (reader, queue) = (open(false), Queue::new());
    queue.set(&[change(&reader, READ, ADD)]);
    drop(open(true));
    assert_eq!(queue.take()[0].flags & EOF, EOF);
    let mut writer = open(true);
    assert_eq!(queue.take(), [], "with a new writer it is over");
    writer.write_all(b"x").unwrap();
    let events = queue.take();
    assert_eq!((events[0].data, events[0].flags & EOF), (1, 0));
    std::fs::remove_file(&path).unwrap();
}
