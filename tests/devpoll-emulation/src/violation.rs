//! What a client can do wrong: each kind has a name, by which it can be allowed.

use crate::abi::{Entry, POLLET, POLLONESHOT, POLLRDHUP, POLLREMOVE, PORTABLE, UNASKED};
use crate::set::Change;
use crate::variant::Kernel;

/// Makes the enumeration, its list and its names from one table.
macro_rules! violations {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// The kinds of violations.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Violation {
            $($(#[$doc])* $kind,)*
        }

        impl Violation {
            /// All kinds, in the order of their numbers.
            pub(crate) const ALL: &[Violation] = &[$(Violation::$kind,)*];

            /// Returns the name in logs and in lists of what is allowed.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Violation::$kind => $name,)*
                }
            }
        }
    };
}

violations! {
    /// An entry of a number that is not open, negative or out of range.
    BadDescriptor = "bad-descriptor",
    /// Bits that no system knows.
    UnknownBits = "unknown-bits",
    /// Bits that only illumos knows.
    UnportableBits = "unportable-bits",
    /// POLLERR, POLLHUP or POLLNVAL asked for; they come unasked.
    ErrorBits = "error-bits",
    /// POLLREMOVE together with other bits, which makes it an add.
    RemoveMixed = "remove-mixed",
    /// An add of bits that the member has.
    RedundantAdd = "redundant-add",
    /// A removal of what is not in the set.
    RedundantRemove = "redundant-remove",
    /// A removal followed by an add that takes no bit away.
    NeedlessRemove = "needless-remove",
    /// An add onto the entry of an earlier file of the same number.
    StaleAdd = "stale-add",
    /// A descriptor closed, or replaced by dup2, while its number was in a set.
    ClosedInSet = "closed-in-set",
    /// A write while a thread waits.
    WriteWhilePolled = "write-while-polled",
    /// A write whose length is not a multiple of the size of an entry.
    PartialEntry = "partial-entry",
    /// A write of nothing.
    EmptyWrite = "empty-write",
    /// More entries in one write than there may be descriptors.
    TooManyEntries = "too-many-entries",
    /// A write to a device that was opened for reading only.
    ReadOnlyWrite = "read-only-write",
    /// `DP_POLL` with room for no answer.
    NoRoom = "no-room",
    /// `DP_POLL` with room for as many answers as there may be descriptors, or more.
    RoomAboveLimit = "room-above-limit",
    /// A negative timeout other than -1.
    BadTimeout = "bad-timeout",
    /// A null pointer.
    BadPointer = "bad-pointer",
    /// POLLNVAL was reported and not answered with a removal before the next `DP_POLL`.
    InvalidKept = "invalid-kept",
    /// A write or a request by another process than the owner.
    ForeignProcess = "foreign-process",
    /// The device closed while a thread waits.
    ClosedWhilePolled = "closed-while-polled",
    /// The device put into poll, select, epoll or another device.
    DevicePolled = "device-polled",
    /// A read of the device.
    DeviceRead = "device-read",
    /// A request that not every system with the device knows.
    UnknownRequest = "unknown-request",
    /// The device opened without `O_CLOEXEC`.
    NoCloseOnExec = "no-close-on-exec",
}

impl Violation {
    /// Finds the kind of a name.
    pub(crate) fn from_name(name: &str) -> Option<Violation> {
        Violation::ALL
            .iter()
            .copied()
            .find(|kind| kind.name() == name)
    }

    /// Returns the kind's number, for tables by kind.
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// Lists what is wrong with the bits of an entry.
pub(crate) fn in_bits(events: u16, kernel: Kernel) -> Vec<Violation> {
    if events == POLLREMOVE {
        return Vec::new();
    }
    let illumos = POLLONESHOT | POLLET | POLLRDHUP;
    // There, asking for POLLRDHUP is a thing that a back end may do where it finds it.
    let unportable = if kernel == Kernel::Illumos {
        POLLONESHOT | POLLET
    } else {
        illumos
    };
    let checks = [
        (events & POLLREMOVE, Violation::RemoveMixed),
        (
            events & !(PORTABLE | illumos | POLLREMOVE),
            Violation::UnknownBits,
        ),
        (events & unportable, Violation::UnportableBits),
        (events & UNASKED, Violation::ErrorBits),
    ];
    checks
        .into_iter()
        .filter(|(bits, _)| *bits != 0)
        .map(|(_, kind)| kind)
        .collect()
}

/// Says what is wrong with an entry that has done `change`.
pub(crate) fn in_change(change: Change) -> Option<Violation> {
    match change {
        Change::Entered | Change::Widened | Change::Left(_) | Change::LeftOver => None,
        Change::Held => Some(Violation::RedundantAdd),
        Change::Inherited | Change::Orphaned => Some(Violation::StaleAdd),
        Change::NotThere => Some(Violation::RedundantRemove),
        Change::Marked | Change::Remembered | Change::Ignored => Some(Violation::BadDescriptor),
    }
}

/// Sees removals that take nothing away, entry by entry of one write.
#[derive(Debug, Default)]
pub(crate) struct Narrowing {
    removed: Option<(i32, u16)>,
}

impl Narrowing {
    /// Takes the next entry of the write and what it has done.
    pub(crate) fn follow(&mut self, entry: Entry, change: Change) -> Option<Violation> {
        let before = self.removed.take();
        if let Change::Left(bits) = change {
            self.removed = Some((entry.fd, bits));
            return None;
        }
        let (fd, bits) = before?;
        let nothing_lost = fd == entry.fd && entry.events & bits == bits;
        (nothing_lost && change == Change::Entered).then_some(Violation::NeedlessRemove)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{POLLERR, POLLIN, POLLOUT};

    #[test]
    fn names_are_distinct_and_found() {
        for &kind in Violation::ALL {
            assert_eq!(Violation::from_name(kind.name()), Some(kind));
            assert_eq!(Violation::ALL[kind.index()], kind);
        }
        assert_eq!(Violation::from_name("nonsense"), None);
    }

    #[test]
    fn bits_are_judged() {
        let cases = [
            (POLLREMOVE, vec![]),
            (POLLIN | POLLOUT, vec![]),
            (0, vec![]),
            (POLLREMOVE | POLLIN, vec![Violation::RemoveMixed]),
            (POLLIN | 0x0200, vec![Violation::UnknownBits]),
            (POLLIN | 0x1000, vec![Violation::UnportableBits]),
            (POLLIN | 0x2000, vec![Violation::UnportableBits]),
            (POLLIN | POLLERR, vec![Violation::ErrorBits]),
        ];
        for (events, expected) in cases {
            assert_eq!(in_bits(events, Kernel::Illumos), expected, "{events:#x}");
            assert_eq!(in_bits(events, Kernel::Solaris), expected, "{events:#x}");
        }
        assert_eq!(in_bits(POLLRDHUP, Kernel::Illumos), []);
        assert_eq!(
            in_bits(POLLRDHUP, Kernel::Solaris),
            [Violation::UnportableBits]
        );
    }

    #[test]
    fn removal_of_what_an_earlier_file_left_is_not_needless() {
        let entry = |events| Entry {
            fd: 5,
            events,
            revents: 0,
        };
        let mut narrowing = Narrowing::default();
        let removed = narrowing.follow(entry(POLLREMOVE), Change::LeftOver);
        let added = narrowing.follow(entry(POLLIN), Change::Entered);
        assert_eq!((removed, added), (None, None));
    }

    #[test]
    fn removal_is_needless_only_if_no_bit_goes() {
        let add = |fd, events| Entry {
            fd,
            events,
            revents: 0,
        };
        for (fd, events, expected) in [
            (5, POLLIN, None),
            (6, POLLIN | POLLOUT, None),
            (5, POLLIN | POLLOUT, Some(Violation::NeedlessRemove)),
        ] {
            let mut narrowing = Narrowing::default();
            assert_eq!(
                narrowing.follow(add(5, POLLREMOVE), Change::Left(POLLIN | POLLOUT)),
                None
            );
            assert_eq!(narrowing.follow(add(fd, events), Change::Entered), expected);
        }
    }
}
