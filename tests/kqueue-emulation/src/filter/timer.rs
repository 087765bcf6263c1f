//! `EVFILT_TIMER`, as far as it is cheap: periodic, or once with `EV_ONESHOT`.

use crate::abi;
use crate::knote::{Report, Source};
use crate::sys::Errno;
use crate::variant::Variant;

/// Gives the state of a timer that starts now.
pub(crate) fn new(change: &abi::Kevent, variant: &Variant, now: u64) -> Result<Source, Errno> {
    let unit = variant.timer_unit(change.fflags).ok_or(libc::EINVAL)?;
    let amount = u64::try_from(change.data).map_err(|_| libc::EINVAL)?;
    // A period of nothing would fire without end within one look.
    let period = amount.checked_mul(unit).ok_or(libc::EINVAL)?.max(1);
    let deadline = now.checked_add(period);
    Ok(Source::Timer {
        deadline,
        period,
        expirations: 0,
    })
}

/// Lets the time that has passed take effect.
pub(crate) fn advance(source: &mut Source, once: bool, now: u64) {
    let Source::Timer {
        deadline,
        period,
        expirations,
    } = source
    else {
        return;
    };
    let Some(due) = deadline.filter(|&due| due <= now) else {
        return;
    };
    if once {
        *expirations = 1;
        *deadline = None;
    } else {
        let fired = (now - due) / *period + 1;
        *expirations = expirations.saturating_add(isize::try_from(fired).unwrap_or(isize::MAX));
        *deadline = due.checked_add(fired.saturating_mul(*period));
    }
}

/// Gives what a timer reports.
pub(crate) fn look(expirations: isize) -> Option<Report> {
    (expirations > 0).then_some(Report {
        data: expirations,
        ..Report::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(data: isize) -> Source {
        let change = abi::Kevent {
            data,
            ..abi::Kevent::default()
        };
        new(&change, &Variant::default(), 1_000).unwrap()
    }

    fn expirations(source: &Source) -> isize {
        match source {
            Source::Timer { expirations, .. } => *expirations,
            _ => panic!("not a timer"),
        }
    }

    #[test]
    fn a_periodic_timer_counts_what_was_missed() {
        let mut source = start(2);
        advance(&mut source, false, 2_000_999);
        assert_eq!(expirations(&source), 0);
        advance(&mut source, false, 2_001_000);
        assert_eq!(expirations(&source), 1);
        advance(&mut source, false, 8_001_000);
        assert_eq!(expirations(&source), 4);
    }

    #[test]
    fn a_timer_for_once_fires_once() {
        let mut source = start(1);
        advance(&mut source, true, 50_000_000);
        advance(&mut source, true, 99_000_000);
        assert_eq!(expirations(&source), 1);
    }

    #[test]
    fn negative_and_unknown_are_refused() {
        let variant = Variant::default();
        let change = |data, fflags| abi::Kevent {
            data,
            fflags,
            ..abi::Kevent::default()
        };
        assert_eq!(new(&change(-1, 0), &variant, 0).err(), Some(libc::EINVAL));
        assert_eq!(new(&change(1, 3), &variant, 0).err(), Some(libc::EINVAL));
    }
}
