//! What an event says, as a set that can be compared and printed.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};
use windlass_reactor::{Event, Features, Interest};

/// A set of the facts that an event can report.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Facts(u8);

pub(crate) const NONE: Facts = Facts(0);
pub(crate) const READABLE: Facts = Facts(1);
pub(crate) const WRITABLE: Facts = Facts(2);
pub(crate) const PRIORITY: Facts = Facts(4);
pub(crate) const READ_CLOSED: Facts = Facts(8);
pub(crate) const WRITE_CLOSED: Facts = Facts(16);
pub(crate) const ERROR: Facts = Facts(32);

const NAMES: [(Facts, &str); 6] = [
    (READABLE, "readable"),
    (WRITABLE, "writable"),
    (PRIORITY, "priority"),
    (READ_CLOSED, "read closed"),
    (WRITE_CLOSED, "write closed"),
    (ERROR, "error"),
];

impl Facts {
    pub(crate) fn of(event: &Event) -> Self {
        [
            (READABLE, event.is_readable()),
            (WRITABLE, event.is_writable()),
            (PRIORITY, event.is_priority()),
            (READ_CLOSED, event.is_read_closed()),
            (WRITE_CLOSED, event.is_write_closed()),
            (ERROR, event.is_error()),
        ]
        .into_iter()
        .filter(|(_, holds)| *holds)
        .fold(NONE, |set, (fact, _)| set | fact)
    }

    pub(crate) const fn union(self, other: Facts) -> Facts {
        Facts(self.0 | other.0)
    }

    pub(crate) fn contains(self, other: Facts) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn without(self, other: Facts) -> Facts {
        Facts(self.0 & !other.0)
    }

    /// Leaves out what a back end with `features` can't tell by itself of a registration of
    /// `interest`: a hang-up says by itself that the read half is closed, and an error that ends
    /// nothing may look like readiness.
    pub(crate) fn where_told(self, features: Features, interest: Interest) -> Facts {
        let mut told = self;
        if !features.read_closed && !self.contains(WRITE_CLOSED) {
            told = told.without(READ_CLOSED);
        }
        if !features.priority {
            told = told.without(PRIORITY);
        }
        if !features.passing_errors && self.contains(ERROR) && !self.contains(WRITE_CLOSED) {
            told = told.without(ERROR);
            for (fact, direction) in [
                (READABLE, Interest::READABLE),
                (WRITABLE, Interest::WRITABLE),
            ] {
                if !interest.contains(direction) {
                    told = told.without(fact);
                }
            }
        }
        told
    }
}

impl BitOr for Facts {
    type Output = Facts;

    fn bitor(self, other: Facts) -> Facts {
        Facts(self.0 | other.0)
    }
}

impl BitOrAssign for Facts {
    fn bitor_assign(&mut self, other: Facts) {
        *self = *self | other;
    }
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = NAMES.iter().filter(|(fact, _)| self.contains(*fact));
        f.debug_set().entries(names.map(|(_, name)| name)).finish()
    }
}
