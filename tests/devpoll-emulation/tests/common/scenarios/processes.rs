//! Forks: the set belongs to one process.

use crate::common::client::{Device, POLLIN, POLLREMOVE, close, pipe, receive, send};
use crate::common::report::Report;

/// Runs `action` in a forked child, and returns its exit code.
fn in_child(action: impl FnOnce() -> u8) -> i32 {
    // SAFETY: the child makes system calls and leaves without returning.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = action();
        // SAFETY: takes a number.
        unsafe { libc::_exit(code.into()) };
    }
    let mut status = 0;
    // SAFETY: the place is valid.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status), "status {status}");
    libc::WEXITSTATUS(status)
}

/// Makes of each expectation that fails one bit.
fn failures(expectations: &[bool]) -> u8 {
    expectations
        .iter()
        .enumerate()
        .filter(|(_, held)| !**held)
        .fold(0, |bits, (i, _)| bits | 1 << i)
}

pub(crate) fn child_is_refused(report: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    device.put(&[(reader, POLLIN)]);
    let code = in_child(|| {
        let refused = [
            device.write(&[(reader, POLLREMOVE)]) == Err(libc::EACCES),
            device.poll(8, 0) == Err(libc::EACCES),
            device.is_polled(reader) == Err(libc::EACCES),
            report.violations("foreign-process") == 3,
        ];
        close(device.0);
        let own = Device::open();
        own.put(&[(reader, POLLIN)]);
        send(writer);
        let works = own.now() == [(reader, POLLIN)] && report.counters().opens == 1;
        receive(reader);
        failures(&[refused[0], refused[1], refused[2], refused[3], works])
    });
    assert_eq!(code, 0);
    assert_eq!(
        report.violations("foreign-process"),
        0,
        "the parent does nothing wrong"
    );
    send(writer);
    assert_eq!(device.now(), [(reader, POLLIN)]);
}

pub(crate) fn first_user_owns_on_illumos(_: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    let code = in_child(|| {
        send(writer);
        failures(&[
            device.write(&[(reader, POLLIN)]) == Ok(8),
            device.now() == [(reader, POLLIN)],
        ])
    });
    assert_eq!(code, 0);
    assert_eq!(device.poll(8, 0), Err(libc::EACCES));
    assert_eq!(device.write(&[(reader, POLLIN)]), Err(libc::EACCES));
    close(device.0);
}

pub(crate) fn opener_owns_on_solaris(_: &Report) {
    let device = Device::open();
    let code = in_child(|| failures(&[device.poll(8, 0) == Err(libc::EACCES)]));
    assert_eq!(code, 0);
    assert_eq!(device.now(), []);
}

pub(crate) fn child_may_close_members(report: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    device.put(&[(reader, POLLIN)]);
    let code = in_child(|| {
        close(reader);
        close(device.0);
        failures(&[report.violations("closed-in-set") == 0])
    });
    assert_eq!(code, 0);
    send(writer);
    assert_eq!(device.now(), [(reader, POLLIN)]);
}
