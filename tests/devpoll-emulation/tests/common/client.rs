//! A client of the device as one would be written in C, through the C library.

use libc::{c_int, c_short, c_ulong, c_void};
use std::io;
use std::ptr;

pub(crate) const POLLIN: u16 = 0x0001;
pub(crate) const POLLPRI: u16 = 0x0002;
pub(crate) const POLLOUT: u16 = 0x0004;
pub(crate) const POLLERR: u16 = 0x0008;
pub(crate) const POLLHUP: u16 = 0x0010;
pub(crate) const POLLNVAL: u16 = 0x0020;
pub(crate) const POLLREMOVE: u16 = 0x0800;
pub(crate) const POLLONESHOT: u16 = 0x1000;
/// Linux' POLLRDHUP.
pub(crate) const POLLET: u16 = 0x2000;
pub(crate) const POLLRDHUP: u16 = 0x4000;
const DP_POLL: c_ulong = 0xD001;
const DP_ISPOLLED: c_ulong = 0xD002;

/// The argument of `DP_POLL`.
#[repr(C)]
struct DvPoll {
    dp_fds: *mut libc::pollfd,
    dp_nfds: libc::nfds_t,
    dp_timeout: c_int,
}

/// What `DP_POLL` answers about one descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) fd: c_int,
    pub(crate) events: u16,
    pub(crate) revents: u16,
}

/// An open device, by number; closed only where a scenario closes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device(pub(crate) c_int);

impl Device {
    /// Opens the device as it should be opened.
    #[track_caller]
    pub(crate) fn open() -> Device {
        Device::open_with(libc::O_RDWR | libc::O_CLOEXEC).expect("the device can be opened")
    }

    pub(crate) fn open_with(flags: c_int) -> Result<Device, c_int> {
        // SAFETY: the path ends with a null byte.
        checked(unsafe { libc::open(c"/dev/poll".as_ptr(), flags) }).map(Device)
    }

    /// Writes entries; returns how many bytes were taken.
    pub(crate) fn write(self, entries: &[(c_int, u16)]) -> Result<usize, c_int> {
        self.write_bytes(&bytes(entries))
    }

    pub(crate) fn write_bytes(self, bytes: &[u8]) -> Result<usize, c_int> {
        // SAFETY: the bytes are valid for their length.
        let size = unsafe { libc::write(self.0, bytes.as_ptr().cast(), bytes.len()) };
        usize::try_from(size).map_err(|_| errno())
    }

    /// Writes entries and expects that all are taken.
    #[track_caller]
    pub(crate) fn put(self, entries: &[(c_int, u16)]) {
        assert_eq!(self.write(entries), Ok(entries.len() * 8));
    }

    /// Asks for at most `room` answers.
    pub(crate) fn poll(self, room: usize, timeout: c_int) -> Result<Vec<Answer>, c_int> {
        let mut entries = vec![
            libc::pollfd {
                fd: -7,
                events: -7,
                revents: -7
            };
            room
        ];
        let mut argument = DvPoll {
            dp_fds: entries.as_mut_ptr(),
            dp_nfds: room as libc::nfds_t,
            dp_timeout: timeout,
        };
        // SAFETY: the argument is a `dvpoll` with room for its number of entries.
        let filled = checked(unsafe { libc::ioctl(self.0, DP_POLL, &raw mut argument) });
        let filled = filled.map(|filled| usize::try_from(filled).unwrap());
        let untouched = &entries[filled.unwrap_or(0)..];
        assert!(
            untouched.iter().all(|entry| entry.fd == -7),
            "more is filled in than is said"
        );
        filled.map(|filled| entries[..filled].iter().map(Answer::from).collect())
    }

    /// Returns what is there now: numbers and revents.
    #[track_caller]
    pub(crate) fn now(self) -> Vec<(c_int, u16)> {
        let answers = self.poll(64, 0).expect("poll with timeout zero");
        answers
            .into_iter()
            .map(|answer| (answer.fd, answer.revents))
            .collect()
    }

    /// Asks whether a number is in the set, and with which bits.
    pub(crate) fn is_polled(self, fd: c_int) -> Result<Option<u16>, c_int> {
        let mut entry = libc::pollfd {
            fd,
            events: 77,
            revents: 78,
        };
        // SAFETY: the argument is a `pollfd`.
        let answer = checked(unsafe { libc::ioctl(self.0, DP_ISPOLLED, &raw mut entry) })?;
        assert_eq!((entry.fd, entry.events), (fd, 77), "these stay as they are");
        if answer == 0 {
            assert_eq!(entry.revents, 78, "the entry is touched");
        }
        Ok((answer == 1).then_some(entry.revents.cast_unsigned_bits()))
    }

    /// Makes a request without an argument.
    pub(crate) fn request(self, request: c_ulong) -> Result<c_int, c_int> {
        // SAFETY: a null pointer is an argument that the device has to refuse.
        checked(unsafe { libc::ioctl(self.0, request, ptr::null_mut::<c_void>()) })
    }
}

impl From<&libc::pollfd> for Answer {
    fn from(entry: &libc::pollfd) -> Answer {
        Answer {
            fd: entry.fd,
            events: entry.events.cast_unsigned_bits(),
            revents: entry.revents.cast_unsigned_bits(),
        }
    }
}

/// Bits as they are, whatever the sign.
trait Bits {
    fn cast_unsigned_bits(self) -> u16;
}

impl Bits for c_short {
    fn cast_unsigned_bits(self) -> u16 {
        u16::from_ne_bytes(self.to_ne_bytes())
    }
}

/// Makes the bytes of entries, with `revents` that have to be ignored.
pub(crate) fn bytes(entries: &[(c_int, u16)]) -> Vec<u8> {
    let entry = |(fd, events): &(c_int, u16)| {
        let mut bytes = fd.to_ne_bytes().to_vec();
        bytes.extend(events.to_ne_bytes());
        bytes.extend([0xFF, 0xFF]);
        bytes
    };
    entries.iter().flat_map(entry).collect()
}

/// Returns the error of the last call.
pub(crate) fn errno() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap()
}

/// Returns the answer of a call, or its error.
pub(crate) fn checked(answer: c_int) -> Result<c_int, c_int> {
    if answer < 0 { Err(errno()) } else { Ok(answer) }
}

/// Makes a pipe: its reading and its writing end.
pub(crate) fn pipe() -> (c_int, c_int) {
    let mut ends = [0; 2];
    // SAFETY: the place is valid for two numbers.
    checked(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) }).unwrap();
    (ends[0], ends[1])
}

/// Makes a pair of connected stream sockets.
pub(crate) fn sockets() -> (c_int, c_int) {
    let mut ends = [0; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the place is valid for two numbers.
    let answer = unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) };
    checked(answer).unwrap();
    (ends[0], ends[1])
}

/// Writes one byte.
#[track_caller]
pub(crate) fn send(fd: c_int) {
    // SAFETY: the byte is valid.
    assert_eq!(unsafe { libc::write(fd, b"x".as_ptr().cast(), 1) }, 1);
}

/// Reads one byte.
#[track_caller]
pub(crate) fn receive(fd: c_int) {
    let mut byte = 0_u8;
    // SAFETY: the place is valid for one byte.
    assert_eq!(unsafe { libc::read(fd, (&raw mut byte).cast(), 1) }, 1);
}

/// Closes a descriptor.
#[track_caller]
pub(crate) fn close(fd: c_int) {
    // SAFETY: the scenario owns the descriptor.
    assert_eq!(unsafe { libc::close(fd) }, 0);
}

/// Duplicates a descriptor.
pub(crate) fn dup(fd: c_int) -> c_int {
    // SAFETY: takes a number.
    checked(unsafe { libc::dup(fd) }).unwrap()
}

/// Duplicates a descriptor onto a number.
#[track_caller]
pub(crate) fn dup2(from: c_int, to: c_int) {
    // SAFETY: the scenario owns what is behind the number.
    assert_eq!(unsafe { libc::dup2(from, to) }, to);
}

/// Sets how many descriptors this process may have.
pub(crate) fn limit_descriptors(limit: usize) {
    let mut limits = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the place is valid.
    checked(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limits) }).unwrap();
    limits.rlim_cur = limit as libc::rlim_t;
    // SAFETY: the place is valid.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limits) }).unwrap();
}

/// Says which kernel is played.
pub(crate) fn is_solaris() -> bool {
    std::env::var("DEVPOLL_EMULATION")
        .unwrap()
        .starts_with("solaris")
}
