//! Opening, names, and what the device is not.

use crate::common::client::{Device, POLLIN, POLLREMOVE, checked, close, dup, errno, pipe, send};
use crate::common::report::Report;
use libc::c_int;

fn flags(fd: c_int) -> c_int {
    // SAFETY: the command takes no argument.
    checked(unsafe { libc::fcntl(fd, libc::F_GETFD) }).unwrap()
}

pub(crate) fn each_open_makes_an_empty_set(report: &Report) {
    let (first, second) = (Device::open(), Device::open());
    assert_eq!(
        (flags(first.0), flags(second.0)),
        (libc::FD_CLOEXEC, libc::FD_CLOEXEC)
    );
    let (reader, writer) = pipe();
    send(writer);
    first.put(&[(reader, POLLIN)]);
    assert_eq!(first.now(), [(reader, POLLIN)]);
    assert_eq!(second.now(), []);
    assert_eq!(second.is_polled(reader), Ok(None));
    let inherited = Device::open_with(libc::O_RDWR).unwrap();
    assert_eq!(flags(inherited.0), 0);
    assert_eq!(report.violations("no-close-on-exec"), 1);
    assert_eq!(report.counters().opens, 3);
    // Files are opened as ever, by std too.
    assert!(std::fs::read("/dev/null").unwrap().is_empty());
    let by_std = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/poll")
        .unwrap();
    drop(by_std);
    assert_eq!(report.counters().opens, 4);
}

pub(crate) fn read_only_cannot_be_written(report: &Report) {
    let device = Device::open_with(libc::O_RDONLY | libc::O_CLOEXEC).unwrap();
    assert_eq!(device.write(&[(0, POLLIN)]), Err(libc::EBADF));
    assert_eq!(device.now(), []);
    assert_eq!(report.violations("read-only-write"), 1);
}

pub(crate) fn failure_is_as_ordered(report: &Report) {
    let ordered = std::env::var("DEVPOLL_EMULATION").unwrap();
    let expected = match ordered.rsplit(':').next().unwrap() {
        "ENOENT" => libc::ENOENT,
        "ENXIO" => libc::ENXIO,
        "EACCES" => libc::EACCES,
        "EMFILE" => libc::EMFILE,
        other => panic!("{other}"),
    };
    let failure = Device::open_with(libc::O_RDWR | libc::O_CLOEXEC).unwrap_err();
    assert_eq!(failure, expected);
    assert_eq!(
        (report.counters().opens, report.counters().open_failures),
        (0, 1)
    );
}

pub(crate) fn set_goes_with_the_last_name(_: &Report) {
    let device = Device::open();
    let (reader, writer) = pipe();
    send(writer);
    device.put(&[(reader, POLLIN)]);
    let other = Device(dup(device.0));
    // SAFETY: the command takes a number.
    let third = unsafe { libc::fcntl(other.0, libc::F_DUPFD_CLOEXEC, 300) };
    assert!(third >= 300);
    close(device.0);
    assert_eq!(device.poll(8, 0), Err(libc::EBADF));
    assert_eq!(other.now(), [(reader, POLLIN)]);
    close(other.0);
    assert_eq!(Device(third).now(), [(reader, POLLIN)]);
    close(third);
    assert_eq!(
        Device(third).write(&[(reader, POLLREMOVE)]),
        Err(libc::EBADF)
    );
    // No set has the number any more.
    close(reader);
    // The number is free, and the next device's set is empty.
    let next = Device::open();
    assert_eq!(next.0, device.0.min(reader));
    assert_eq!(next.now(), []);
}

/// Lists what is open.
fn open_numbers() -> Vec<c_int> {
    let numbers = std::fs::read_dir("/proc/self/fd").unwrap();
    let numbers = numbers.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut numbers: Vec<_> = numbers.map(|number| number.parse().unwrap()).collect();
    // The listing had one, too.
    numbers.retain(|&number| is_open(number));
    numbers
}

fn is_open(fd: c_int) -> bool {
    // SAFETY: the command takes no argument.
    unsafe { libc::fcntl(fd, libc::F_GETFD) >= 0 }
}

pub(crate) fn numbers_of_the_emulation_are_hidden(_: &Report) {
    let before = open_numbers();
    let device = Device::open();
    let (reader, writer) = pipe();
    device.put(&[(reader, POLLIN)]);
    let mut hidden = open_numbers();
    hidden.retain(|fd| !before.contains(fd) && ![device.0, reader, writer].contains(fd));
    assert!(!hidden.is_empty(), "the scenario is about nothing");
    let lowest = *hidden.iter().min().unwrap();
    for &fd in &hidden {
        // SAFETY: the number is not this program's, and must be refused.
        assert_eq!((unsafe { libc::close(fd) }, errno()), (-1, libc::EBADF));
    }
    // SAFETY: this program has nothing open from there on.
    checked(unsafe { libc::close_range(lowest.unsigned_abs(), u32::MAX, 0) }).unwrap();
    assert!(hidden.iter().all(|&fd| is_open(fd)));
    assert_eq!(device.poll(8, 1), Ok(vec![]));
    send(writer);
    assert_eq!(device.now(), [(reader, POLLIN)]);
    device.put(&[(reader, POLLREMOVE)]);
    close(device.0);
    assert!(
        !hidden.iter().any(|&fd| is_open(fd)),
        "they go with the device"
    );
}

pub(crate) fn reading_and_unknown_requests_fail(report: &Report) {
    let device = Device::open();
    let mut byte = 0_u8;
    // SAFETY: the place is valid for one byte.
    let size = unsafe { libc::read(device.0, (&raw mut byte).cast(), 1) };
    assert_eq!((size, errno()), (-1, libc::ENXIO));
    assert_eq!(device.request(0xD003), Err(libc::EINVAL));
    assert_eq!(device.request(0xD001), Err(libc::EFAULT));
    assert_eq!(report.violations("device-read"), 1);
    assert_eq!(report.violations("unknown-request"), 1);
    assert_eq!(report.violations("bad-pointer"), 1);
}

/// What the tests of logs provoke.
pub(crate) fn violate() {
    Device::open().put(&[(0, POLLREMOVE)]);
}
