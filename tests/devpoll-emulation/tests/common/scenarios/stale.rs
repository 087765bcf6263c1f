//! Entries whose descriptor was closed, and numbers that are used again.

use crate::common::client::{
    Device, POLLIN, POLLNVAL, POLLOUT, POLLREMOVE, close, dup, dup2, pipe, receive, send, sockets,
};
use crate::common::report::Report;
use libc::c_int;

/// Adds a socket, closes it in the set and makes another with its number, with data to read.
fn reuse(device: Device) -> c_int {
    let (first, first_peer) = sockets();
    device.put(&[(first, POLLIN)]);
    close(first);
    let (second, second_peer) = sockets();
    assert_eq!(second, first);
    send(second_peer);
    close(first_peer);
    second
}

pub(crate) fn closed_member_is_invalid_until_removed(report: &Report) {
    let device = Device::open();
    let (reader, _) = pipe();
    device.put(&[(reader, POLLIN)]);
    close(reader);
    assert_eq!(report.violations("closed-in-set"), 1);
    for _ in 0..3 {
        let answers = device.poll(8, -1).unwrap();
        assert_eq!(
            (answers.len(), answers[0].fd, answers[0].revents),
            (1, reader, POLLNVAL)
        );
        assert_ne!(answers[0].events, POLLIN, "events are garbage");
    }
    assert_eq!(report.violations("invalid-kept"), 2);
    device.put(&[(reader, POLLREMOVE)]);
    assert_eq!(device.now(), []);
}

pub(crate) fn closed_member_is_silent_until_marked(_: &Report) {
    let device = Device::open();
    let (reader, _) = pipe();
    device.put(&[(reader, POLLIN)]);
    close(reader);
    assert_eq!(device.now(), []);
    assert_eq!(device.is_polled(reader), Ok(Some(POLLIN)));
    device.put(&[(reader, POLLIN)]);
    assert_eq!(device.now(), [(reader, POLLNVAL)]);
    device.put(&[(reader, POLLREMOVE)]);
    assert_eq!(device.now(), []);
}

pub(crate) fn reused_number_inherits_old_bits(_: &Report) {
    let device = Device::open();
    let reused = reuse(device);
    assert_eq!(device.now(), [(reused, POLLIN)], "nobody has added it");
    device.put(&[(reused, POLLIN)]);
    assert_eq!(device.now(), [(reused, POLLIN)]);
    device.put(&[(reused, POLLOUT)]);
    assert_eq!(device.now(), [(reused, POLLIN | POLLOUT)]);
}

pub(crate) fn reused_number_never_reports(report: &Report) {
    let device = Device::open();
    let reused = reuse(device);
    assert_eq!(device.now(), []);
    device.put(&[(reused, POLLIN)]);
    assert_eq!(device.now(), [], "the same bits again are nothing to do");
    device.put(&[(reused, POLLOUT)]);
    assert_eq!(device.now(), [(reused, POLLIN | POLLOUT)], "other bits are");
    assert_eq!(report.violations("stale-add"), 2);
}

pub(crate) fn removal_before_close_leaves_nothing(_: &Report) {
    let device = Device::open();
    let (first, peer) = sockets();
    device.put(&[(first, POLLIN | POLLOUT)]);
    device.put(&[(first, POLLREMOVE)]);
    close(first);
    close(peer);
    assert_eq!(device.now(), []);
    let (second, peer) = sockets();
    assert_eq!(second, first);
    device.put(&[(second, POLLIN)]);
    assert_eq!(device.now(), []);
    send(peer);
    assert_eq!(device.now(), [(second, POLLIN)]);
}

pub(crate) fn duplicates_are_other_numbers(report: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    send(writer);
    device.put(&[(reader, POLLIN)]);
    let duplicate = dup(reader);
    assert_eq!(
        device.now(),
        [(reader, POLLIN)],
        "the duplicate is not polled"
    );
    close(duplicate);
    assert_eq!(report.violations("closed-in-set"), 0);
    assert_eq!(device.now(), [(reader, POLLIN)]);
    let duplicate = dup(reader);
    close(reader);
    assert_eq!(report.violations("closed-in-set"), 1);
    assert_eq!(
        device.now(),
        [(reader, POLLNVAL)],
        "though the file lives on"
    );
    receive(duplicate);
}

pub(crate) fn dup2_onto_a_member_keeps_its_bits(report: &Report) {
    let device = Device::open();
    let (member, _) = pipe();
    let (reader, writer) = pipe();
    send(writer);
    device.put(&[(member, POLLIN)]);
    assert_eq!(device.now(), []);
    dup2(reader, member);
    assert_eq!(report.violations("closed-in-set"), 1);
    assert_eq!(device.now(), [(member, POLLIN)]);
    // To itself is nothing.
    dup2(member, member);
    assert_eq!(report.violations("closed-in-set"), 1);
}
