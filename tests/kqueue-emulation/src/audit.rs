//! Checks a call and its changes for what a client should not do. Nothing here has an effect.

use crate::abi::{self, Kevent};
use crate::environment::environment;
use crate::knote::{Filter, Key, Knote, MODE};
use crate::lists::Changes;
use crate::variant::Variant;
use crate::violations::{self, Kind};

/// The timeout of a call, as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeout {
    /// Whole seconds.
    pub(crate) seconds: i64,
    /// The rest.
    pub(crate) nanoseconds: i64,
}

impl Timeout {
    /// Gives the whole in nanoseconds, or `None` if it is not valid.
    pub(crate) fn total(self) -> Option<u64> {
        let nanoseconds = u64::try_from(self.nanoseconds)
            .ok()
            .filter(|&part| part < 1_000_000_000);
        let seconds = u64::try_from(self.seconds).ok()?;
        Some(
            seconds
                .saturating_mul(1_000_000_000)
                .saturating_add(nanoseconds?),
        )
    }
}

/// Checks the lists and the timeout of a call.
pub(crate) fn call(changes: Changes, room: usize, timeout: Option<Timeout>) {
    let (length, receipts) = (changes.len(), receipts(changes));
    let found = receipt_breaches(length, receipts, room, timeout);
    for kind in found.into_iter().flatten() {
        let what = format_args!("{length} changes, {receipts} receipts, room {room}, {timeout:?}");
        violations::record(kind, what);
    }
    let Some(timeout) = timeout else { return };
    if timeout.total().is_none() {
        violations::record(Kind::BadTimespec, format_args!("{timeout:?}"));
    } else if timeout.seconds > 86_400 {
        violations::record(Kind::LongTimespec, format_args!("{timeout:?}"));
    }
}

fn receipts(changes: Changes) -> usize {
    changes
        .iter()
        .filter(|change| change.flags & abi::EV_RECEIPT != 0)
        .count()
}

/// Receipts need a call of their own, with room for exactly them and a timeout of zero.
fn receipt_breaches(
    changes: usize,
    receipts: usize,
    room: usize,
    timeout: Option<Timeout>,
) -> [Option<Kind>; 3] {
    if receipts == 0 {
        return [None; 3];
    }
    let zero = timeout.and_then(Timeout::total) == Some(0);
    [
        (receipts < changes).then_some(Kind::ReceiptPartial),
        match room.cmp(&changes) {
            std::cmp::Ordering::Less => Some(Kind::ReceiptRoom),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(Kind::ReceiptMixed),
        },
        (!zero).then_some(Kind::ReceiptTimeout),
    ]
}

/// Checks the flags of a change.
pub(crate) fn flags(change: &Kevent, variant: &Variant) {
    if change.flags & !variant.known_flags() != 0 {
        violations::record(Kind::UnknownFlags, format_args!("{change:?}"));
    }
    let both = |one, other| change.flags & (one | other) == one | other;
    if both(abi::EV_ADD, abi::EV_DELETE) || both(abi::EV_ENABLE, abi::EV_DISABLE) {
        violations::record(Kind::Contradiction, format_args!("{change:?}"));
    }
}

/// Checks the fflags of a change.
pub(crate) fn notes(filter: Filter, change: &Kevent, variant: &Variant) {
    let known = match filter {
        // The low-water mark (1) is all that a socket takes.
        Filter::Read | Filter::Write => change.fflags <= 1,
        Filter::Timer => variant.timer_unit(change.fflags).is_some(),
        Filter::User => {
            let bits = abi::NOTE_TRIGGER | abi::NOTE_FFCTRLMASK | abi::NOTE_FFLAGSMASK;
            change.fflags & !bits == 0
        }
    };
    if !known {
        violations::record(Kind::UnknownNotes, format_args!("{change:?}"));
    }
    if filter == Filter::User && change.fflags & abi::NOTE_TRIGGER != 0 {
        if change.flags & abi::EV_ADD != 0 {
            violations::record(Kind::TriggerInAdd, format_args!("{change:?}"));
        } else if change.flags & abi::EV_CLEAR != 0 {
            violations::record(Kind::ClearInTrigger, format_args!("{change:?}"));
        }
    }
}

/// Records a change of a knote that is not there.
pub(crate) fn missing(key: Key, change: &Kevent) {
    let triggers = key.filter == Filter::User && change.fflags & abi::NOTE_TRIGGER != 0;
    let kind = if triggers {
        Kind::TriggerLost
    } else {
        Kind::ChangeMissing
    };
    violations::record(kind, format_args!("{change:?}"));
}

/// Checks `EV_ADD` of a knote that is there.
pub(crate) fn repeated(key: Key, knote: &Knote, change: &Kevent) {
    if change.flags & abi::EV_ADD == 0 {
        return;
    }
    if (change.flags ^ knote.mode) & MODE & !abi::EV_RECEIPT != 0 {
        violations::record(Kind::ModeUnchanged, format_args!("{change:?}"));
    }
    let triggers = key.filter == Filter::User && change.fflags & abi::NOTE_TRIGGER != 0;
    let same = (knote.udata, knote.fflags, knote.data)
        == (change.udata, change.fflags, change.data)
        && knote.enabled == (change.flags & abi::EV_DISABLE == 0);
    if same && !triggers {
        violations::record(Kind::AddUnchanged, format_args!("{change:?}"));
    }
}

/// Records a call on a number that is no queue, unless a fork explains it.
pub(crate) fn no_queue(number: i32, is_forked_child: bool) {
    if !is_forked_child && environment().variant.open_error.is_none() {
        violations::record(Kind::NoQueue, format_args!("descriptor {number}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZERO: Option<Timeout> = Some(Timeout {
        seconds: 0,
        nanoseconds: 0,
    });

    #[test]
    fn receipts_want_a_call_of_their_own() {
        let breaches = |changes, receipts, room, timeout| {
            receipt_breaches(changes, receipts, room, timeout)
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
        };
        assert_eq!(breaches(2, 2, 2, ZERO), []);
        assert_eq!(breaches(2, 0, 9, None), []);
        assert_eq!(breaches(2, 2, 1, ZERO), [Kind::ReceiptRoom]);
        assert_eq!(breaches(2, 2, 8, ZERO), [Kind::ReceiptMixed]);
        assert_eq!(breaches(2, 1, 2, ZERO), [Kind::ReceiptPartial]);
        assert_eq!(breaches(2, 2, 2, None), [Kind::ReceiptTimeout]);
    }

    #[test]
    fn timeouts_are_valid_below_a_second_of_nanoseconds() {
        let total = |seconds, nanoseconds| {
            Timeout {
                seconds,
                nanoseconds,
            }
            .total()
        };
        assert_eq!(total(1, 999_999_999), Some(1_999_999_999));
        assert_eq!(total(0, 1_000_000_000), None);
        assert_eq!(total(0, -1), None);
        assert_eq!(total(-1, 0), None);
        assert_eq!(total(i64::MAX, 0), Some(u64::MAX));
    }
}
