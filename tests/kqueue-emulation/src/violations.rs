//! What a client must not do, by name, and what happens when it does.
//!
//! Each breach is counted and appended as one line (process, name, what happened) to the file that
//! `KQUEUE_EMULATION_LOG` names. `KQUEUE_EMULATION_ALLOW` silences kinds by name, and
//! `KQUEUE_EMULATION_FATAL=1` prints the line and aborts, so that a debugger stops at the culprit.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::counters::{self, Counter};
use crate::environment::environment;
use crate::sys;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal,)+) => {
        /// A kind of breach.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind { $($(#[doc = $doc])+ $kind,)+ }

        impl Kind {
            /// Every kind, in the order of the declaration.
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            /// Gives the name that the log and `KQUEUE_EMULATION_ALLOW` use.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name),+ }
            }
        }
    };
}

kinds! {
    /// A call with `EV_RECEIPT` changes has more room than changes, so that it could also wait.
    ReceiptMixed = "receipt-mixed",
    /// A call with `EV_RECEIPT` changes has less room than changes.
    ReceiptRoom = "receipt-room",
    /// A call with `EV_RECEIPT` changes has a timeout other than zero: an old kernel would wait.
    ReceiptTimeout = "receipt-timeout",
    /// Only some of a call's changes have `EV_RECEIPT`, so that entries cannot be matched to them.
    ReceiptPartial = "receipt-partial",
    /// `NOTE_TRIGGER` stands in the `EV_ADD` that makes the knote; most systems lose it.
    TriggerInAdd = "trigger-in-add",
    /// `EV_CLEAR` stands in a triggering change; FreeBSD takes the trigger back.
    ClearInTrigger = "clear-in-trigger",
    /// A trigger went to a user event that does not exist.
    TriggerLost = "trigger-lost",
    /// A knote was deleted that was not there, and that had not gone by close or one-shot before.
    DeleteMissing = "delete-missing",
    /// A knote was enabled, disabled or otherwise changed that was not there.
    ChangeMissing = "change-missing",
    /// `EV_ADD` of a knote that is there already and would not be changed.
    AddUnchanged = "add-unchanged",
    /// `EV_ADD` asks for another mode than the knote was made with; most systems keep the old one.
    ModeUnchanged = "mode-unchanged",
    /// A descriptor was closed while it had knotes.
    ClosedWithKnotes = "closed-with-knotes",
    /// A change names a descriptor that is not open.
    ClosedDescriptor = "closed-descriptor",
    /// A number was closed behind the library's back, by a direct system call.
    UnseenClose = "unseen-close",
    /// `kevent()` was called on a number that is no queue.
    NoQueue = "no-queue",
    /// The last name of a queue was closed while a thread waited in it.
    QueueClosedInWait = "queue-closed-in-wait",
    /// The process ended with a queue that had knotes.
    QueueLeaked = "queue-leaked",
    /// A queue is waited in that has not been marked close-on-exec.
    NoCloseOnExec = "no-close-on-exec",
    /// The timeout is negative or its nanoseconds are not below a second.
    BadTimespec = "bad-timespec",
    /// The timeout is longer than a day, which not every system takes.
    LongTimespec = "long-timespec",
    /// A count is negative or a list that is not empty is null.
    BadList = "bad-list",
    /// A change has flags that the system does not know.
    UnknownFlags = "unknown-flags",
    /// A change has fflags that its filter does not know.
    UnknownNotes = "unknown-notes",
    /// A change has a filter that the system does not know.
    UnknownFilter = "unknown-filter",
    /// Flags contradict each other: add and delete, or enable and disable.
    Contradiction = "contradiction",
}

/// Bit `kind` is set for each kind that is silenced at present.
static ALLOWED: AtomicU64 = AtomicU64::new(0);

/// Turns a list of names with commas into bits; the error is the name that is not known.
pub fn parse_allowed(names: &str) -> Result<u64, String> {
    let mut bits = 0;
    for name in names
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        let kind = Kind::ALL.iter().find(|kind| kind.name() == name);
        bits |= 1 << *kind.ok_or_else(|| name.to_owned())? as u64;
    }
    Ok(bits)
}

/// Replaces the set of silenced kinds.
pub(crate) fn allow(bits: u64) {
    ALLOWED.store(bits, Relaxed);
}

/// Records a breach, unless its kind is silenced.
///
/// The table's lock may be held: nothing here calls a function that this library interposes.
pub(crate) fn record(kind: Kind, what: std::fmt::Arguments<'_>) {
    if ALLOWED.load(Relaxed) & (1 << kind as u64) != 0 {
        return;
    }
    counters::count(Counter::Violations);
    let line = format!("{} {} {what}\n", sys::process(), kind.name());
    if let Some(path) = &environment().log {
        sys::append(path, line.as_bytes());
    }
    if environment().fatal {
        eprint!("kqueue emulation: {line}");
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_fit_the_word() {
        let mut names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Kind::ALL.len());
        assert!(names.len() <= 64);
    }

    #[test]
    fn allowed_names_become_bits() {
        assert_eq!(parse_allowed(""), Ok(0));
        let bits = parse_allowed("receipt-room, bad-list").unwrap();
        assert_eq!(
            bits,
            1 << Kind::ReceiptRoom as u64 | 1 << Kind::BadList as u64
        );
        assert_eq!(
            parse_allowed("bad-list,nonsense"),
            Err("nonsense".to_owned())
        );
    }
}
