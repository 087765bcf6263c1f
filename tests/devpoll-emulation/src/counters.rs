//! Counts what the program did with the device.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Makes the public structure, the atomic one and what goes over all fields from one table.
macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// What has been counted in this process since its start, the fork that made it, or the
        /// last reset.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[repr(C)]
        pub struct Counters {
            $($(#[$doc])* pub $field: u64,)*
        }

        /// The counters themselves.
        #[derive(Debug)]
        pub(crate) struct Tally {
            $(pub(crate) $field: AtomicU64,)*
        }

        impl Tally {
            /// Starts at zero.
            pub(crate) const fn new() -> Tally {
                Tally { $($field: AtomicU64::new(0),)* }
            }

            /// Returns the present figures.
            pub(crate) fn snapshot(&self) -> Counters {
                Counters { $($field: self.$field.load(Relaxed),)* }
            }

            /// Sets all to zero.
            pub(crate) fn reset(&self) {
                $(self.$field.store(0, Relaxed);)*
            }
        }

        impl Counters {
            /// Writes the figures into one line: `name=figure` and so on.
            pub(crate) fn line(&self) -> String {
                let mut line = String::new();
                $(
                    // Writing to a string does not fail.
                    let _ = write!(line, " {}={}", stringify!($field), self.$field);
                )*
                line
            }
        }
    };
}

counters! {
    /// Devices opened.
    opens,
    /// Devices that could not be opened.
    open_failures,
    /// Writes that were taken.
    writes,
    /// Entries in them.
    entries,
    /// Entries by which a number has entered a set.
    additions,
    /// Entries by which a member has got more bits.
    widenings,
    /// Entries by which a number has left a set.
    removals,
    /// Entries that have changed nothing.
    redundancies,
    /// Calls of `DP_POLL`.
    polls,
    /// Those that had to wait.
    waits,
    /// Those that failed with EINTR.
    interruptions,
    /// Entries that `DP_POLL` returned.
    events,
    /// Calls of `DP_ISPOLLED`.
    questions,
    /// Violations that are not allowed.
    violations,
    /// Violations of the kinds that are allowed.
    allowed,
}

/// The counters of this process.
pub(crate) static TALLY: Tally = Tally::new();

/// Counts one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

/// Counts several.
pub(crate) fn count_many(counter: &AtomicU64, several: usize) {
    counter.fetch_add(several as u64, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_counted_shown_and_reset() {
        let tally = Tally::new();
        count(&tally.opens);
        count_many(&tally.allowed, 7);
        let counters = tally.snapshot();
        assert_eq!((counters.opens, counters.allowed), (1, 7));
        let line = counters.line();
        assert!(line.starts_with(" opens=1 open_failures=0 ") && line.ends_with(" allowed=7"));
        tally.reset();
        assert_eq!(tally.snapshot(), Counters::default());
    }
}
