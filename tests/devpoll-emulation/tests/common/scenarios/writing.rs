//! The write table: what each entry does.

use crate::common::client::{
    Device, POLLERR, POLLIN, POLLONESHOT, POLLOUT, POLLPRI, POLLREMOVE, bytes, close, is_solaris,
    limit_descriptors, pipe, send, sockets,
};
use crate::common::report::Report;

pub(crate) fn adds_or_and_removals_narrow(report: &Report) {
    let device = Device::open();
    let (socket, peer) = sockets();
    send(peer);
    device.put(&[(socket, POLLIN)]);
    assert_eq!(device.now(), [(socket, POLLIN)]);
    device.put(&[(socket, POLLOUT)]);
    assert_eq!(device.now(), [(socket, POLLIN | POLLOUT)]);
    // Fewer bits change nothing, and neither do none.
    device.put(&[(socket, POLLIN), (socket, 0)]);
    assert_eq!(device.now(), [(socket, POLLIN | POLLOUT)]);
    assert_eq!(report.violations("redundant-add"), 2);
    device.put(&[(socket, POLLREMOVE), (socket, POLLOUT)]);
    assert_eq!(device.now(), [(socket, POLLOUT)]);
    assert_eq!(device.is_polled(socket), Ok(Some(POLLOUT)));
    device.put(&[(socket, POLLREMOVE)]);
    assert_eq!(device.now(), []);
}

pub(crate) fn removal_mixed_is_an_add(report: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    send(writer);
    device.put(&[(reader, POLLIN)]);
    device.put(&[(reader, POLLREMOVE | POLLPRI)]);
    assert_eq!(
        device.is_polled(reader),
        Ok(Some(POLLIN | POLLPRI | POLLREMOVE))
    );
    assert_eq!(device.now(), [(reader, POLLIN)]);
    assert_eq!(report.violations("remove-mixed"), 1);
}

pub(crate) fn impossible_entries_are_no_error(report: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    close(writer);
    device.put(&[(-1, POLLIN), (writer, POLLIN), (1_000_000_000, POLLIN)]);
    assert_eq!(report.violations("bad-descriptor"), 3);
    device.put(&[(writer, POLLREMOVE), (reader, POLLREMOVE)]);
    assert_eq!(report.violations("redundant-remove"), 2);
    assert_eq!(device.now(), []);
    assert_eq!(device.is_polled(-1), Ok(None));
}

pub(crate) fn whole_length_is_taken(report: &Report) {
    let device = Device::open();
    let (reader, _) = pipe();
    let mut data = bytes(&[(reader, POLLIN)]);
    data.extend([1, 2, 3]);
    assert_eq!(device.write_bytes(&data), Ok(11));
    assert_eq!(device.is_polled(reader), Ok(Some(POLLIN)));
    assert_eq!(device.write_bytes(&[]), Ok(0));
    assert_eq!(report.violations("partial-entry"), 1);
    assert_eq!(report.violations("empty-write"), 1);
}

pub(crate) fn more_entries_than_descriptors_are_refused(report: &Report) {
    let device = Device::open();
    let (reader, _) = pipe();
    limit_descriptors(20);
    assert_eq!(device.write(&[(reader, POLLIN); 21]), Err(libc::EINVAL));
    assert_eq!(device.is_polled(reader), Ok(None), "nothing is done");
    assert_eq!(report.violations("too-many-entries"), 1);
}

pub(crate) fn every_way_to_write_is_taken(report: &Report) {
    let device = Device::open();
    let (one, two) = pipe();
    let (three, four) = pipe();
    let data = bytes(&[(one, POLLIN)]);
    // SAFETY: the data are valid for their length.
    let size = unsafe { libc::pwrite(device.0, data.as_ptr().cast(), data.len(), 0) };
    assert_eq!(size, 8);
    let data = bytes(&[(two, POLLOUT)]);
    // SAFETY: the data are valid for their length.
    let size = unsafe { libc::pwrite64(device.0, data.as_ptr().cast(), data.len(), 800) };
    assert_eq!(size, 8);
    // The parts need not end where entries do.
    let data = bytes(&[(three, POLLIN), (four, POLLOUT)]);
    let part = |range: std::ops::Range<usize>| libc::iovec {
        iov_base: data[range.clone()].as_ptr().cast_mut().cast(),
        iov_len: range.len(),
    };
    let parts = [part(0..5), part(5..16)];
    // SAFETY: the parts are valid.
    assert_eq!(unsafe { libc::writev(device.0, parts.as_ptr(), 2) }, 16);
    for (fd, bits) in [
        (one, POLLIN),
        (two, POLLOUT),
        (three, POLLIN),
        (four, POLLOUT),
    ] {
        assert_eq!(device.is_polled(fd), Ok(Some(bits)));
    }
    assert_eq!(report.counters().writes, 3);
}

pub(crate) fn remembered_bits_come_back(_: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    close(writer);
    device.put(&[(writer, POLLOUT)]);
    assert_eq!(device.is_polled(writer), Ok(None));
    assert_eq!(device.now(), []);
    device.put(&[(writer, POLLREMOVE)]);
    close(reader);
    let (socket, peer) = sockets();
    assert!([socket, peer].contains(&writer), "the number is used again");
    device.put(&[(writer, POLLIN)]);
    // On illumos not even the removal has cleared them.
    let expected = if is_solaris() {
        POLLIN
    } else {
        POLLIN | POLLOUT
    };
    assert_eq!(device.is_polled(writer), Ok(Some(expected)));
}

pub(crate) fn dubious_bits_are_seen(report: &Report) {
    let device = Device::open();
    let (one, two) = sockets();
    device.put(&[(one, POLLIN | 0x0200), (two, POLLIN | POLLERR)]);
    device.put(&[(one, POLLONESHOT)]);
    device.put(&[(two, POLLREMOVE), (two, POLLIN | POLLERR | POLLOUT)]);
    assert_eq!(report.violations("unknown-bits"), 1);
    assert_eq!(report.violations("unportable-bits"), 1);
    assert_eq!(report.violations("error-bits"), 2);
    assert_eq!(report.violations("needless-remove"), 1);
}

pub(crate) fn counters_count(report: &Report) {
    let device = Device::open();
    let (socket, peer) = sockets();
    device.put(&[(socket, POLLIN), (peer, POLLOUT)]);
    device.put(&[(socket, POLLOUT)]);
    device.put(&[(socket, POLLREMOVE)]);
    assert_eq!(device.now(), [(peer, POLLOUT)]);
    assert_eq!(device.is_polled(peer), Ok(Some(POLLOUT)));
    device.put(&[(peer, POLLREMOVE)]);
    assert_eq!(device.poll(8, 1), Ok(vec![]));
    let counters = report.counters();
    assert_eq!(
        (counters.opens, counters.writes, counters.entries),
        (1, 4, 5)
    );
    assert_eq!(
        (counters.additions, counters.widenings, counters.removals),
        (2, 1, 2)
    );
    assert_eq!((counters.polls, counters.waits, counters.events), (2, 1, 1));
    assert_eq!(
        (
            counters.questions,
            counters.violations,
            counters.redundancies
        ),
        (1, 0, 0)
    );
}
