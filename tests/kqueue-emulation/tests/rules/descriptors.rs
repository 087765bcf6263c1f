//! What each sort of descriptor reports.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;

use crate::support::queue::{Queue, change, names};
use crate::support::{ADD, CLEAR, Kevent, READ, WRITE, system};

pub(crate) fn data_counts_bytes_and_space() {
    let ((one, mut other), queue) = (system::tcp_pair(), Queue::new());
    queue.set(&[change(&one, WRITE, ADD)]);
    assert!(queue.take()[0].data > 1000);
    queue.set(&[change(&one, READ, ADD)]);
    other.write_all(&[0; 123]).unwrap();
    system::wait_readable(one.as_raw_fd());
    let events = queue.take();
    assert_eq!(
        events
            .iter()
            .find(|event| event.filter == READ)
            .unwrap()
            .data,
        123
    );
}

pub(crate) fn listener_counts_its_queue_and_is_never_writable() {
    let (listener, queue) = (TcpListener::bind("127.0.0.1:0").unwrap(), Queue::new());
    queue.set(&[change(&listener, READ, ADD), change(&listener, WRITE, ADD)]);
    assert_eq!(queue.take(), []);
    let address = listener.local_addr().unwrap();
    let _streams = [
        TcpStream::connect(address).unwrap(),
        TcpStream::connect(address).unwrap(),
    ];
    let events = queue.wait();
    assert_eq!(names(&events), [(listener.as_raw_fd(), READ)]);
    assert_eq!(queue.take()[0].data, 2);
    listener.accept().unwrap();
    assert_eq!(queue.take()[0].data, 1);
    listener.accept().unwrap();
    assert_eq!(queue.take(), []);
}

pub(crate) fn unconnected_socket_is_silent() {
    let (socket, queue) = (system::tcp_socket(), Queue::new());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    queue.set(&[
        change(&socket, READ, ADD | CLEAR),
        change(&socket, WRITE, ADD | CLEAR),
    ]);
    assert_eq!(queue.take(), []);
    system::begin_connect(&socket, listener.local_addr().unwrap());
    assert_eq!(names(&queue.wait()), [(socket.as_raw_fd(), WRITE)]);
}

pub(crate) fn datagrams_are_events_of_their_own() {
    let (socket, queue) = (UdpSocket::bind("127.0.0.1:0").unwrap(), Queue::new());
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    queue.set(&[change(&socket, READ, ADD | CLEAR)]);
    for _ in 0..3 {
        sender
            .send_to(b"abcd", socket.local_addr().unwrap())
            .unwrap();
        let events = queue.wait();
        assert_eq!((events.len(), events[0].data), (1, 4));
        assert_eq!(queue.take(), []);
    }
}

pub(crate) fn pipes_report_bytes_and_space() {
    let ((mut reader, mut writer), queue) = (system::pipe(), Queue::new());
    queue.set(&[
        change(&reader, READ, ADD),
        change(&writer, WRITE, ADD | CLEAR),
    ]);
    let events = queue.take();
    assert_eq!(
        (names(&events), events[0].data),
        (vec![(writer.as_raw_fd(), WRITE)], 65_536)
    );
    while writer.write(&[0; 4096]).is_ok() {}
    let events = queue.take();
    assert_eq!(
        (names(&events), events[0].data),
        (vec![(reader.as_raw_fd(), READ)], 65_536)
    );
    system::drain(&mut reader);
    assert_eq!(
        names(&queue.take()),
        [(writer.as_raw_fd(), WRITE)],
        "there is space again"
    );
}

pub(crate) fn regular_files_are_readable_before_their_end() {
    let path = std::env::temp_dir().join(format!("windlass-kqueue-file-{}", std::process::id()));
    let mut file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    let queue = Queue::new();
    assert_eq!(queue.change(&[change(&file, WRITE, ADD)]), [libc::EINVAL]);
    queue.set(&[change(&file, READ, ADD)]);
    assert_eq!(queue.take(), []);
    file.write_all(b"abc").unwrap();
    file.seek(SeekFrom::Start(1)).unwrap();
    assert_eq!(queue.wait()[0].data, 2);
    file.seek(SeekFrom::Start(9)).unwrap();
    assert_eq!(queue.take()[0].data, -6, "beyond the end it is negative");
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(queue.take(), []);
}

pub(crate) fn unpollable_devices_are_refused() {
    let (null, queue) = (File::open("/dev/null").unwrap(), Queue::new());
    assert_eq!(queue.change(&[change(&null, READ, ADD)]), [libc::EINVAL]);
    let again: Kevent = change(&null, READ, ADD);
    assert_eq!(
        queue.change(&[again]),
        [libc::EINVAL],
        "nothing has been left behind"
    );
}
