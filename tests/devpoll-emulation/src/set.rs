//! The set of one open device: which numbers are in it, with which bits, and what is reported.
//!
//! Plain logic; what is behind a number is an argument. An entry goes by number, so it outlives
//! the file that it was made for; [`Generation`] tells the files behind one number apart:
//!
//! 1. An entry is *attached* to the file that was behind the number when it was last taken up.
//! 2. It is *stale* when another generation, or nothing, is behind the number now.
//! 3. A stale entry is looked at if the variant says so, or if it has been *marked* by a write.
//! 4. An entry that is looked at while a file is behind its number is attached to that file.

use crate::abi::{Entry, POLLNVAL, POLLONESHOT, POLLREMOVE};
use crate::variant::{Kernel, Stale};
use std::collections::BTreeMap;

/// How many files a number has had before the one that it has.
pub(crate) type Generation = u32;

/// What is behind the numbers now.
pub(crate) trait Files {
    /// Returns which of its files the number has, or had last.
    fn generation(&self, fd: i32) -> Generation;
    /// Says whether it has one.
    fn is_open(&self, fd: i32) -> bool;
}

/// What `DP_POLL` leaves in `events` together with POLLNVAL: the source leaves garbage there.
const GARBAGE: u16 = 0x5A5A;

/// What the kernel knows about one number.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// The bits that were added and not removed; a number outside the set may have some, too.
    bits: u16,
    /// The file that the entry is attached to; nothing if the number is not in the set.
    attached: Option<Generation>,
    /// The file that the number had when its bits were last written.
    written_for: Option<Generation>,
    /// A write found no file behind the number, so that it will be looked at.
    marked: bool,
    /// POLLNVAL has been reported.
    invalid: bool,
}

/// What an entry that was written has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The number has entered the set.
    Entered,
    /// The member has more bits than before.
    Widened,
    /// The member had all of these bits, and stays attached to the file that it was attached to.
    Held,
    /// The entry was of an earlier file of this number, and is attached to the present one.
    Inherited,
    /// The entry was of an earlier file of this number, and still is: nothing is looked at.
    Orphaned,
    /// The member has no file; it will be looked at.
    Marked,
    /// The number has left the set, with these bits.
    Left(u16),
    /// The number has left the set, with bits that were written for an earlier file.
    LeftOver,
    /// A removal of what is not in the set.
    NotThere,
    /// An add of what is not open: not in the set, but the bits are remembered.
    Remembered,
    /// The number cannot be a descriptor.
    Ignored,
}

/// An entry that a scan looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) fd: i32,
    pub(crate) bits: u16,
}

/// What a scan has found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// The answers.
    pub(crate) entries: Vec<Entry>,
    /// Those that say POLLNVAL and said so before, without a removal in between.
    pub(crate) invalid_again: Vec<i32>,
    /// Those that have left the set because they were to be reported once.
    pub(crate) left: Vec<i32>,
}

/// The set.
#[derive(Debug)]
pub(crate) struct Set {
    kernel: Kernel,
    stale: Stale,
    known: BTreeMap<i32, Known>,
    /// Where the next scan starts.
    next: i32,
}

impl Set {
    /// Makes an empty set.
    pub(crate) fn new(kernel: Kernel, stale: Stale) -> Set {
        Set {
            kernel,
            stale,
            known: BTreeMap::new(),
            next: 0,
        }
    }

    /// Takes one entry as it was written; `behind` is the file that the number has now.
    ///
    /// `beyond` says that the number is outside the process's table of descriptors.
    pub(crate) fn apply(
        &mut self,
        entry: Entry,
        behind: Option<Generation>,
        beyond: bool,
    ) -> Change {
        let member = self.is_member(entry.fd);
        if entry.fd < 0 || (beyond && behind.is_none() && !member) {
            return Change::Ignored;
        }
        match (entry.events == POLLREMOVE, member) {
            (true, true) => self.remove(entry.fd, behind),
            (true, false) => self.remove_unknown(entry.fd),
            (false, true) => self.add_to_member(entry, behind),
            (false, false) => self.enter(entry, behind),
        }
    }

    /// Returns the bits of a number that is in the set.
    pub(crate) fn bits(&self, fd: i32) -> Option<u16> {
        self.known
            .get(&fd)
            .filter(|known| known.attached.is_some())
            .map(|known| known.bits)
    }

    /// Forgets everything, and returns the numbers that were in the set.
    pub(crate) fn clear(&mut self) -> Vec<i32> {
        let known = std::mem::take(&mut self.known);
        known
            .into_iter()
            .filter(|(_, known)| known.attached.is_some())
            .map(|(fd, _)| fd)
            .collect()
    }

    /// Lists what a scan looks at, in its order: from where the last one stopped, wrapping round.
    pub(crate) fn order(&mut self, files: &impl Files) -> Vec<Look> {
        let mut looks = Vec::with_capacity(self.known.len());
        for (&fd, known) in self.known.range_mut(self.next..) {
            looks.extend(look(fd, known, self.stale, files));
        }
        for (&fd, known) in self.known.range_mut(..self.next) {
            looks.extend(look(fd, known, self.stale, files));
        }
        looks
    }

    /// Makes the answers of a scan, as many as there is `room` for.
    ///
    /// `revents` are the answers to `looks`, as they came from [`order`](Set::order).
    pub(crate) fn report(&mut self, looks: &[Look], revents: &[u16], room: usize) -> Report {
        let mut report = Report::default();
        for (look, &revents) in looks.iter().zip(revents) {
            if report.entries.len() == room {
                break;
            }
            if revents != 0 {
                self.report_one(*look, revents, &mut report);
            }
        }
        if let Some(last) = report
            .entries
            .last()
            .filter(|_| report.entries.len() == room)
        {
            self.next = last.fd.saturating_add(1);
        }
        report
    }

    fn report_one(&mut self, look: Look, revents: u16, report: &mut Report) {
        let Some(known) = self.known.get_mut(&look.fd) else {
            return;
        };
        let invalid = revents & POLLNVAL != 0;
        if invalid && known.invalid {
            report.invalid_again.push(look.fd);
        }
        known.invalid = invalid;
        let events = if invalid {
            look.bits ^ GARBAGE
        } else {
            look.bits
        };
        report.entries.push(Entry {
            fd: look.fd,
            events,
            revents,
        });
        if self.kernel == Kernel::Illumos && known.bits & POLLONESHOT != 0 {
            self.known.remove(&look.fd);
            report.left.push(look.fd);
        }
    }

    fn is_member(&self, fd: i32) -> bool {
        self.bits(fd).is_some()
    }

    fn remove(&mut self, fd: i32, behind: Option<Generation>) -> Change {
        let known = self.known.remove(&fd).unwrap_or_default();
        if behind.is_some() && known.written_for != behind {
            Change::LeftOver
        } else {
            Change::Left(known.bits)
        }
    }

    /// Solaris forgets the remembered bits, illumos ignores a removal of what is not in the set.
    fn remove_unknown(&mut self, fd: i32) -> Change {
        if self.kernel == Kernel::Solaris {
            self.known.remove(&fd);
        }
        Change::NotThere
    }

    fn enter(&mut self, entry: Entry, behind: Option<Generation>) -> Change {
        let known = self.known.entry(entry.fd).or_default();
        known.bits |= entry.events;
        known.attached = behind;
        known.written_for = behind;
        if behind.is_some() {
            Change::Entered
        } else {
            Change::Remembered
        }
    }

    fn add_to_member(&mut self, entry: Entry, behind: Option<Generation>) -> Change {
        let known = self.known.entry(entry.fd).or_default();
        let before = known.bits;
        known.bits |= entry.events;
        known.written_for = behind;
        let Some(present) = behind else {
            known.marked = true;
            return Change::Marked;
        };
        if known.attached == Some(present) {
            return if known.bits == before {
                Change::Held
            } else {
                Change::Widened
            };
        }
        // The same bits again are "nothing to do" where the kernel does not see another file.
        if entry.events == before && self.stale == Stale::Silent {
            return Change::Orphaned;
        }
        known.attach(present);
        Change::Inherited
    }
}

impl Known {
    fn attach(&mut self, file: Generation) {
        self.attached = Some(file);
        self.marked = false;
    }
}

/// Says whether a scan looks at an entry, and attaches it to the file that it finds (rules 3, 4).
fn look(fd: i32, known: &mut Known, stale: Stale, files: &impl Files) -> Option<Look> {
    let attached = known.attached?;
    let present = files.generation(fd);
    if present != attached {
        if stale == Stale::Silent && !known.marked {
            return None;
        }
        if files.is_open(fd) {
            known.attach(present);
        }
    }
    Some(Look {
        fd,
        bits: known.bits,
    })
}

#[cfg(test)]
mod tests;
