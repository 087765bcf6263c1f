//! The device's numbers and structures, and how its bits map to Linux' poll(2).
//!
//! They are the device's own and not those of this machine's headers: Linux has another
//! POLLREMOVE, another POLLWRBAND, and has POLLRDHUP where illumos has POLLET.

use crate::variant::{Kernel, Pipes};
use libc::{c_int, c_short, c_ulong};

pub(crate) const POLLIN: u16 = 0x0001;
pub(crate) const POLLPRI: u16 = 0x0002;
pub(crate) const POLLOUT: u16 = 0x0004;
pub(crate) const POLLERR: u16 = 0x0008;
pub(crate) const POLLHUP: u16 = 0x0010;
pub(crate) const POLLNVAL: u16 = 0x0020;
pub(crate) const POLLRDNORM: u16 = 0x0040;
pub(crate) const POLLRDBAND: u16 = 0x0080;
/// Linux says 0x0200.
pub(crate) const POLLWRBAND: u16 = 0x0100;
/// Linux' headers say 0x1000, which is POLLONESHOT here.
pub(crate) const POLLREMOVE: u16 = 0x0800;
/// illumos only: the entry leaves the set when it has been reported.
pub(crate) const POLLONESHOT: u16 = 0x1000;
/// illumos only; Linux' POLLRDHUP has this number.
pub(crate) const POLLET: u16 = 0x2000;
/// illumos only; Linux says 0x2000.
pub(crate) const POLLRDHUP: u16 = 0x4000;

/// The bits that come unasked.
pub(crate) const UNASKED: u16 = POLLERR | POLLHUP | POLLNVAL;
/// The bits that every system with the device knows.
pub(crate) const PORTABLE: u16 =
    POLLIN | POLLPRI | POLLOUT | POLLRDNORM | POLLRDBAND | POLLWRBAND | UNASKED;

/// The request that waits for entries.
pub(crate) const DP_POLL: c_ulong = 0xD001;
/// The request that asks whether a number is in the set.
pub(crate) const DP_ISPOLLED: c_ulong = 0xD002;

/// How many bytes an entry has.
pub(crate) const ENTRY_SIZE: usize = 8;

/// One `struct pollfd`, as written to the device and as it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Entry {
    /// The number of the descriptor.
    pub(crate) fd: c_int,
    /// What is asked for.
    pub(crate) events: u16,
    /// What is there.
    pub(crate) revents: u16,
}

impl Entry {
    /// Reads an entry as a program wrote it; `revents` is ignored by the device.
    pub(crate) fn parse(bytes: [u8; ENTRY_SIZE]) -> Entry {
        let [a, b, c, d, e, f, _, _] = bytes;
        let fd = c_int::from_ne_bytes([a, b, c, d]);
        let events = u16::from_ne_bytes([e, f]);
        Entry {
            fd,
            events,
            revents: 0,
        }
    }
}

/// The argument of [`DP_POLL`]: the three members that it reads on every system.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct DvPoll {
    /// Where the answers go.
    pub(crate) dp_fds: *mut Entry,
    /// How many fit there.
    pub(crate) dp_nfds: c_ulong,
    /// How long to wait, in milliseconds; -1 is for ever.
    pub(crate) dp_timeout: c_int,
}

/// What Linux has to be asked for so that `bits` can be answered.
///
/// Bits that the kernel played does not know are dropped, and so are those that steer the device
/// and not the poll: none may reach Linux as another bit of the same number.
pub(crate) fn to_linux(bits: u16, kernel: Kernel) -> c_short {
    let mut events = 0;
    for (ours, linux) in same_meaning(kernel) {
        if bits & ours != 0 {
            events |= linux;
        }
    }
    events
}

/// What the device's revents are for those of Linux, before anything is masked out.
fn from_linux(revents: c_short, kernel: Kernel) -> u16 {
    let unasked = [
        (POLLERR, libc::POLLERR),
        (POLLHUP, libc::POLLHUP),
        (POLLNVAL, libc::POLLNVAL),
    ];
    same_meaning(kernel)
        .chain(unasked)
        .filter(|(_, linux)| revents & linux != 0)
        .fold(0, |bits, (ours, _)| bits | ours)
}

/// The bits that can be asked for: the device's number, Linux' number.
fn same_meaning(kernel: Kernel) -> impl Iterator<Item = (u16, c_short)> {
    let everywhere = [
        (POLLIN, libc::POLLIN),
        (POLLPRI, libc::POLLPRI),
        (POLLOUT, libc::POLLOUT),
        (POLLRDNORM, libc::POLLRDNORM),
        (POLLRDBAND, libc::POLLRDBAND),
        (POLLWRBAND, libc::POLLWRBAND),
    ];
    let illumos = (kernel == Kernel::Illumos).then_some((POLLRDHUP, libc::POLLRDHUP));
    everywhere.into_iter().chain(illumos)
}

/// What is behind a number, as far as the answer depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// The end of a pipe that is opened for reading only.
    PipeReader,
    /// Any other end of a pipe.
    PipeWriter,
    /// Anything else.
    Other,
}

/// Turns what Linux answered for an entry that asks for `asked` into what the device says.
///
/// `kind` is asked only where it matters, for it costs system calls.
pub(crate) fn answer(
    asked: u16,
    linux: c_short,
    (kernel, pipes): (Kernel, Pipes),
    kind: impl Fn() -> FileKind,
) -> u16 {
    let mut bits = from_linux(linux, kernel) & (asked | UNASKED);
    if bits & POLLNVAL != 0 {
        return POLLNVAL;
    }
    if pipes == Pipes::Streams {
        // A pipe is a stream there: its writer is told POLLHUP when the reader has gone ...
        if bits & POLLERR != 0 && kind() != FileKind::Other {
            bits = (bits & !POLLERR) | POLLHUP;
        }
        // ... and its reading end can be written.
        if asked & POLLOUT & !bits != 0 && kind() == FileKind::PipeReader {
            bits |= POLLOUT;
        }
    }
    if bits & POLLHUP != 0 {
        bits & !POLLOUT
    } else {
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ILLUMOS: (Kernel, Pipes) = (Kernel::Illumos, Pipes::Streams);
    const SOLARIS: (Kernel, Pipes) = (Kernel::Solaris, Pipes::Streams);

    fn other() -> FileKind {
        FileKind::Other
    }

    #[test]
    fn structures_have_the_sizes_of_the_manual() {
        assert_eq!(size_of::<Entry>(), ENTRY_SIZE);
        let expected = if size_of::<usize>() == 8 { 24 } else { 12 };
        assert_eq!(size_of::<DvPoll>(), expected);
    }

    #[test]
    fn entry_is_read_without_its_revents() {
        let mut bytes = [0xFF; ENTRY_SIZE];
        bytes[..4].copy_from_slice(&7_i32.to_ne_bytes());
        bytes[4..6].copy_from_slice(&POLLREMOVE.to_ne_bytes());
        assert_eq!(
            Entry::parse(bytes),
            Entry {
                fd: 7,
                events: POLLREMOVE,
                revents: 0
            }
        );
    }

    #[test]
    fn bits_that_steer_the_device_do_not_reach_linux() {
        for kernel in [Kernel::Illumos, Kernel::Solaris] {
            assert_eq!(
                to_linux(POLLREMOVE | POLLONESHOT | POLLET | 0x8600, kernel),
                0
            );
        }
    }

    #[test]
    fn bits_with_other_numbers_are_translated() {
        assert_eq!(to_linux(POLLWRBAND, Kernel::Solaris), libc::POLLWRBAND);
        assert_eq!(to_linux(POLLRDHUP, Kernel::Illumos), libc::POLLRDHUP);
        assert_eq!(to_linux(POLLRDHUP, Kernel::Solaris), 0);
        assert_eq!(
            answer(POLLWRBAND, libc::POLLWRBAND, SOLARIS, other),
            POLLWRBAND
        );
        assert_eq!(
            answer(POLLRDHUP, libc::POLLRDHUP, ILLUMOS, other),
            POLLRDHUP
        );
        assert_eq!(
            answer(POLLRDHUP | POLLET, libc::POLLRDHUP, SOLARIS, other),
            0
        );
    }

    #[test]
    fn only_what_is_asked_is_answered_and_errors_unasked() {
        let linux = libc::POLLIN | libc::POLLPRI | libc::POLLERR;
        assert_eq!(answer(POLLIN, linux, ILLUMOS, other), POLLIN | POLLERR);
        assert_eq!(
            answer(0, linux | libc::POLLHUP, ILLUMOS, other),
            POLLERR | POLLHUP
        );
        assert_eq!(answer(POLLIN, libc::POLLNVAL, ILLUMOS, other), POLLNVAL);
    }

    #[test]
    fn hangup_and_output_exclude_each_other() {
        let linux = libc::POLLIN | libc::POLLOUT | libc::POLLHUP;
        assert_eq!(
            answer(POLLIN | POLLOUT, linux, SOLARIS, other),
            POLLIN | POLLHUP
        );
    }

    #[test]
    fn pipes_are_streams_unless_told_otherwise() {
        let linux = libc::POLLERR | libc::POLLOUT;
        let writer = || FileKind::PipeWriter;
        assert_eq!(answer(POLLOUT, linux, ILLUMOS, writer), POLLHUP);
        assert_eq!(
            answer(POLLOUT, linux, (Kernel::Illumos, Pipes::Linux), writer),
            POLLERR | POLLOUT
        );
        let reader = || FileKind::PipeReader;
        assert_eq!(answer(POLLIN | POLLOUT, 0, ILLUMOS, reader), POLLOUT);
        assert_eq!(answer(POLLOUT, libc::POLLHUP, ILLUMOS, reader), POLLHUP);
        assert_eq!(
            answer(POLLOUT, 0, (Kernel::Illumos, Pipes::Linux), reader),
            0
        );
    }
}
