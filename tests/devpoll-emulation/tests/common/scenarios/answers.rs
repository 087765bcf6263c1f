//! What `DP_POLL` and `DP_ISPOLLED` answer.

use crate::common::client::{
    Answer, Device, POLLERR, POLLET, POLLHUP, POLLIN, POLLONESHOT, POLLOUT, POLLRDHUP, POLLREMOVE,
    checked, close, errno, limit_descriptors, pipe, receive, send, sockets,
};
use crate::common::report::Report;

pub(crate) fn levels_are_told_each_time(_: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    device.put(&[(reader, POLLIN)]);
    assert_eq!(device.now(), []);
    send(writer);
    for _ in 0..3 {
        let answer = Answer {
            fd: reader,
            events: POLLIN,
            revents: POLLIN,
        };
        assert_eq!(device.poll(8, -1), Ok(vec![answer]));
    }
    receive(reader);
    assert_eq!(device.now(), []);
}

pub(crate) fn small_buffers_starve_nobody(_: &Report) {
    let device = Device::open();
    let mut readers: Vec<_> = (0..5)
        .map(|_| {
            let (reader, writer) = pipe();
            send(writer);
            device.put(&[(reader, POLLIN)]);
            reader
        })
        .collect();
    readers.sort_unstable();
    let mut expected = readers.iter().cycle().copied();
    for _ in 0..10 {
        let told: Vec<_> = device
            .poll(2, -1)
            .unwrap()
            .iter()
            .map(|answer| answer.fd)
            .collect();
        assert_eq!(told, expected.by_ref().take(2).collect::<Vec<_>>());
    }
}

pub(crate) fn errors_come_unasked(_: &Report) {
    let device = Device::open();
    let (socket, peer) = sockets();
    device.put(&[(socket, 0)]);
    send(peer);
    assert_eq!(device.now(), [], "nothing is asked for");
    close(peer);
    assert_eq!(device.now(), [(socket, POLLHUP)]);
    device.put(&[(socket, POLLIN | POLLOUT)]);
    // Data are left; a hang-up excludes output.
    assert_eq!(device.now(), [(socket, POLLIN | POLLHUP)]);
}

pub(crate) fn pipes_answer_as_streams(_: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    device.put(&[(reader, POLLIN), (writer, POLLOUT)]);
    assert_eq!(device.now(), [(writer, POLLOUT)]);
    device.put(&[(reader, POLLOUT)]);
    assert_eq!(device.now(), [(reader, POLLOUT), (writer, POLLOUT)]);
    device.put(&[(reader, POLLREMOVE)]);
    close(reader);
    assert_eq!(device.now(), [(writer, POLLHUP)]);
}

pub(crate) fn pipes_answer_as_on_linux(_: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    device.put(&[(reader, POLLIN | POLLOUT), (writer, POLLOUT)]);
    assert_eq!(device.now(), [(writer, POLLOUT)]);
    device.put(&[(reader, POLLREMOVE)]);
    close(reader);
    assert_eq!(device.now(), [(writer, POLLOUT | POLLERR)]);
}

pub(crate) fn regular_files_are_always_ready(_: &Report) {
    let device = Device::open();
    // SAFETY: the path ends with a null byte.
    let file = unsafe { libc::open(c"/proc/self/exe".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    let file = checked(file).unwrap();
    device.put(&[(file, POLLIN)]);
    assert_eq!(device.now(), [(file, POLLIN)]);
}

pub(crate) fn questions_are_answered(_: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    device.put(&[(reader, POLLIN)]);
    assert_eq!(device.is_polled(reader), Ok(Some(POLLIN)));
    assert_eq!(device.is_polled(writer), Ok(None));
    assert_eq!(device.is_polled(-1), Ok(None));
    close(reader);
    assert_eq!(
        device.is_polled(reader),
        Ok(Some(POLLIN)),
        "a closed member is one"
    );
    device.put(&[(reader, POLLREMOVE)]);
    assert_eq!(device.is_polled(reader), Ok(None));
}

pub(crate) fn illumos_bits_have_their_own_numbers(_: &Report) {
    let device = Device::open();
    let (socket, peer) = sockets();
    device.put(&[(socket, POLLRDHUP)]);
    // SAFETY: takes numbers.
    checked(unsafe { libc::shutdown(peer, libc::SHUT_WR) }).unwrap();
    assert_eq!(device.now(), [(socket, POLLRDHUP)]);
    // Linux' number of it is another bit here.
    device.put(&[(socket, POLLREMOVE), (socket, POLLET)]);
    assert_eq!(device.now(), []);
    device.put(&[(socket, POLLREMOVE), (socket, POLLIN | POLLONESHOT)]);
    assert_eq!(device.now(), [(socket, POLLIN)]);
    assert_eq!(device.now(), [], "it has been reported once");
    assert_eq!(device.is_polled(socket), Ok(None));
    close(socket);
}

pub(crate) fn device_does_not_belong_into_a_poll(report: &Report) {
    let (device, other) = (Device::open(), Device::open());
    let (reader, writer) = pipe();
    send(writer);
    let entry = |fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    let mut entries = [entry(device.0), entry(writer), entry(reader)];
    // SAFETY: the entries are valid.
    assert_eq!(unsafe { libc::poll(entries.as_mut_ptr(), 3, -1) }, 2);
    assert_eq!(
        entries.map(|entry| entry.revents),
        [libc::POLLERR, 0, libc::POLLIN]
    );
    // SAFETY: takes a number.
    let epoll = checked(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).unwrap();
    let mut event = libc::epoll_event { events: 1, u64: 0 };
    // SAFETY: the event is valid.
    let answer = unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, device.0, &raw mut event) };
    assert_eq!((answer, errno()), (-1, libc::EPERM));
    device.put(&[(other.0, POLLIN)]);
    assert_eq!(device.poll(8, -1).unwrap()[0].revents, POLLERR);
    assert_eq!(report.violations("device-polled"), 3);
}

pub(crate) fn set_larger_than_the_limit_is_looked_at(_: &Report) {
    let device = Device::open();
    let pipes: Vec<_> = (0..40).map(|_| pipe()).collect();
    for (reader, _) in &pipes {
        device.put(&[(*reader, POLLIN)]);
    }
    limit_descriptors(10);
    let (reader, writer) = pipes[39];
    let answers = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| device.poll(5, -1));
        send(writer);
        waiting.join().unwrap()
    });
    assert_eq!(answers.unwrap()[0].fd, reader);
    assert_eq!(device.poll(5, 1).map(|answers| answers.len()), Ok(1));
    receive(reader);
    assert_eq!(device.poll(5, 12), Ok(vec![]));
}
