//! What a registration asks for, and how often it is answered.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// The kinds of readiness that a registration asks for: a set of up to three.
///
/// ```
/// use windlass_reactor::Interest;
///
/// let both = Interest::READABLE | Interest::WRITABLE;
/// assert!(both.contains(Interest::READABLE));
/// assert!(!both.contains(Interest::PRIORITY));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Interest(u8);

impl Interest {
    /// Asks for nothing; errors and hang-ups are reported all the same.
    pub const NONE: Interest = Interest(0);
    /// Asks to be told when a read would not block.
    pub const READABLE: Interest = Interest(1);
    /// Asks to be told when a write would not block.
    pub const WRITABLE: Interest = Interest(2);
    /// Asks to be told of urgent (out-of-band) data, and of the end of what the peer sends, behind
    /// which there are none; where the back end can tell.
    pub const PRIORITY: Interest = Interest(4);

    /// Says whether everything in `other` is in this set as well.
    pub const fn contains(self, other: Interest) -> bool {
        self.0 & other.0 == other.0
    }

    /// Says whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns what is in this set or in `other`.
    pub const fn union(self, other: Interest) -> Interest {
        Interest(self.0 | other.0)
    }

    /// Returns what is in this set and in `other`.
    pub const fn intersection(self, other: Interest) -> Interest {
        Interest(self.0 & other.0)
    }

    /// Returns what is in this set and not in `other`.
    pub const fn difference(self, other: Interest) -> Interest {
        Interest(self.0 & !other.0)
    }
}

impl BitOr for Interest {
    type Output = Interest;

    fn bitor(self, other: Interest) -> Interest {
        self.union(other)
    }
}

impl BitOrAssign for Interest {
    fn bitor_assign(&mut self, other: Interest) {
        *self = self.union(other);
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Interest::READABLE, "READABLE"),
            (Interest::WRITABLE, "WRITABLE"),
            (Interest::PRIORITY, "PRIORITY"),
        ];
        let mut set = names
            .iter()
            .filter(|(bit, _)| self.contains(*bit))
            .map(|(_, name)| name);
        match set.next() {
            None => f.write_str("NONE"),
            Some(first) => {
                f.write_str(first)?;
                set.try_for_each(|name| write!(f, " | {name}"))
            }
        }
    }
}

/// How often readiness that lasts is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Reported by every wait for as long as it lasts.
    Level,
    /// Reported once; then nothing, not even errors, until [`Poller::modify`] asks again.
    ///
    /// [`Poller::modify`]: crate::Poller::modify
    Oneshot,
    /// Reported when it comes about: after an operation has said `WouldBlock` and
    /// [`Poller::rearm`] was called, at least one event follows as soon as the operation would no
    /// longer block. More events than that are allowed.
    ///
    /// [`Poller::rearm`]: crate::Poller::rearm
    Edge,
}
