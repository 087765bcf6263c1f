//! `EVFILT_USER`: what a change does to it.

use crate::abi;
use crate::knote::{Knote, Report, Source};
use crate::variant::Variant;

/// Gives the state of a new user event. Only macOS lets the change that makes it trigger it;
/// elsewhere the trigger is lost.
pub(crate) fn new(change: &abi::Kevent, variant: &Variant) -> Source {
    let triggered = change.fflags & abi::NOTE_TRIGGER != 0 && variant.triggers_in_add();
    Source::User { triggered }
}

/// Applies a later change: triggers, combines the client's bits, and lastly takes the trigger back
/// if the change has `EV_CLEAR`, even one of the same change (FreeBSD).
pub(crate) fn touch(knote: &mut Knote, change: &abi::Kevent, variant: &Variant) {
    let Source::User { triggered } = &mut knote.source else {
        return;
    };
    let triggers = change.fflags & abi::NOTE_TRIGGER != 0;
    *triggered |= triggers;
    if change.flags & abi::EV_CLEAR != 0 && (variant.clear_resets_trigger() || !triggers) {
        *triggered = false;
    }
    knote.fflags = combine(knote.fflags, change.fflags);
    knote.data = change.data;
}

/// Gives what a user event reports.
pub(crate) fn look(knote: &Knote, triggered: bool) -> Option<Report> {
    triggered.then_some(Report {
        data: knote.data,
        fflags: knote.fflags & abi::NOTE_FFLAGSMASK,
        eof: false,
    })
}

fn combine(old: u32, new: u32) -> u32 {
    let bits = new & abi::NOTE_FFLAGSMASK;
    match new & abi::NOTE_FFCTRLMASK {
        0 => old,
        abi::NOTE_FFAND => old & bits,
        abi::NOTE_FFOR => old | bits,
        // Both bits mean: copy.
        _ => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(flags: u16, fflags: u32) -> abi::Kevent {
        abi::Kevent {
            filter: abi::EVFILT_USER,
            flags,
            fflags,
            ..abi::Kevent::default()
        }
    }

    fn triggered(knote: &Knote) -> bool {
        matches!(knote.source, Source::User { triggered: true })
    }

    #[test]
    fn trigger_in_the_making_is_lost_except_on_macos() {
        let add = change(abi::EV_ADD | abi::EV_CLEAR, abi::NOTE_TRIGGER);
        for (words, kept) in [("freebsd", false), ("netbsd", false), ("macos", true)] {
            let variant = Variant::parse(words).unwrap();
            assert_eq!(
                triggered(&Knote::new(&add, new(&add, &variant))),
                kept,
                "{words}"
            );
        }
    }

    #[test]
    fn clear_in_the_trigger_takes_it_back_on_freebsd() {
        let add = change(abi::EV_ADD, 0);
        for (words, kept) in [("freebsd", false), ("netbsd", true), ("macos", true)] {
            let variant = Variant::parse(words).unwrap();
            let mut knote = Knote::new(&add, new(&add, &variant));
            touch(
                &mut knote,
                &change(abi::EV_CLEAR, abi::NOTE_TRIGGER),
                &variant,
            );
            assert_eq!(triggered(&knote), kept, "{words}");
            touch(&mut knote, &change(0, abi::NOTE_TRIGGER), &variant);
            assert!(triggered(&knote));
            touch(&mut knote, &change(abi::EV_CLEAR, 0), &variant);
            assert!(!triggered(&knote), "a plain EV_CLEAR resets everywhere");
        }
    }

    #[test]
    fn bits_are_combined_as_told() {
        assert_eq!(combine(0b1100, 0b1010), 0b1100);
        assert_eq!(combine(0b1100, 0b1010 | abi::NOTE_FFAND), 0b1000);
        assert_eq!(combine(0b1100, 0b1010 | abi::NOTE_FFOR), 0b1110);
        assert_eq!(combine(0b1100, 0b1010 | abi::NOTE_FFCTRLMASK), 0b1010);
        assert_eq!(combine(1, abi::NOTE_TRIGGER), 1);
    }
}
