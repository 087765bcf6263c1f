//! Which system's kqueue is played, and with which faults: the variable `KQUEUE_EMULATION`.
//!
//! The value is a list of words with commas. At most one names the system; the others add faults.
//!
//! | word | meaning |
//! | --- | --- |
//! | `freebsd` (default), `macos`, `netbsd`, `openbsd` | the system |
//! | `nouser` | `EVFILT_USER` is refused with `EINVAL` |
//! | `noreceipt` | `EV_RECEIPT` is ignored, as by old kernels |
//! | `epipe` | adding the write filter of a pipe without a reader gives `EPIPE`, yet registers |
//! | `stale` | one-shot events are fixed when they happen, by a thread that watches for them |
//! | `eintr=N` | every N-th wait that would block gives `EINTR` instead |
//! | `open=fail:ERRNO` | `kqueue()` fails with that error, a name or a number |

use crate::abi;

/// The system whose peculiarities are played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum System {
    /// FreeBSD, the most exacting of the four.
    #[default]
    FreeBsd,
    /// macOS and iOS.
    MacOs,
    /// NetBSD.
    NetBsd,
    /// OpenBSD.
    OpenBsd,
}

/// What is played in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// The system.
    pub system: System,
    /// Whether `EVFILT_USER` is refused.
    pub refuses_user: bool,
    /// Whether `EV_RECEIPT` is ignored.
    pub ignores_receipt: bool,
    /// Whether adding the write filter of a pipe without a reader gives `EPIPE` and registers.
    pub pipe_error: bool,
    /// Whether one-shot events are fixed when they happen instead of when somebody next calls.
    pub stale: bool,
    /// Every how many blocking waits one is interrupted; zero for never.
    pub interrupt_every: u64,
    /// The error that `kqueue()` fails with.
    pub open_error: Option<i32>,
}

impl Variant {
    /// Reads the words of `KQUEUE_EMULATION`; the error is the word that is not known.
    pub fn parse(words: &str) -> Result<Self, String> {
        let mut variant = Self::default();
        for word in words
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
        {
            variant.take(word).ok_or_else(|| word.to_owned())?;
        }
        Ok(variant)
    }

    fn take(&mut self, word: &str) -> Option<()> {
        match word {
            "freebsd" => self.system = System::FreeBsd,
            "macos" => self.system = System::MacOs,
            "netbsd" => self.system = System::NetBsd,
            "openbsd" => self.system = System::OpenBsd,
            "nouser" => self.refuses_user = true,
            "noreceipt" => self.ignores_receipt = true,
            "epipe" => self.pipe_error = true,
            "stale" => self.stale = true,
            _ => return self.take_with_value(word),
        }
        Some(())
    }

    fn take_with_value(&mut self, word: &str) -> Option<()> {
        if let Some(count) = word.strip_prefix("eintr=") {
            self.interrupt_every = count.parse().ok().filter(|&count| count > 0)?;
        } else {
            self.open_error = Some(error_number(word.strip_prefix("open=fail:")?)?);
        }
        Some(())
    }

    /// Tells whether receipts and errors keep the flags of the change beside `EV_ERROR`.
    pub fn keeps_flags_in_receipts(&self) -> bool {
        self.system != System::FreeBsd
    }

    /// Tells whether `NOTE_TRIGGER` in the `EV_ADD` that makes the knote triggers it.
    pub fn triggers_in_add(&self) -> bool {
        self.system == System::MacOs
    }

    /// Tells whether `EV_CLEAR` in a triggering change takes the trigger back.
    pub fn clear_resets_trigger(&self) -> bool {
        self.system == System::FreeBsd
    }

    /// Tells whether a change whose filter is 0 is skipped in silence.
    pub fn skips_filter_zero(&self) -> bool {
        self.system == System::FreeBsd
    }

    /// Tells whether a refused connect shows in the read filter beside the write filter.
    pub fn refusal_in_both_filters(&self) -> bool {
        self.system == System::MacOs
    }

    /// Lists the flags that a client may pass in.
    pub fn known_flags(&self) -> u16 {
        let common = abi::EV_ADD
            | abi::EV_DELETE
            | abi::EV_ENABLE
            | abi::EV_DISABLE
            | abi::EV_ONESHOT
            | abi::EV_CLEAR
            | abi::EV_RECEIPT
            | abi::EV_DISPATCH;
        match self.system {
            System::FreeBsd => common | abi::EV_KEEPUDATA,
            _ => common,
        }
    }

    /// Gives the length of a timer's unit in nanoseconds, or `None` for fflags that are not known.
    pub fn timer_unit(&self, fflags: u32) -> Option<u64> {
        const NANOSECOND: u64 = 1;
        const MICROSECOND: u64 = 1_000;
        const MILLISECOND: u64 = 1_000_000;
        const SECOND: u64 = 1_000_000_000;
        match (self.system, fflags) {
            (_, 0) => Some(MILLISECOND),
            (System::FreeBsd | System::MacOs, 1) => Some(SECOND),
            (System::FreeBsd, 2) => Some(MILLISECOND),
            (System::FreeBsd, 4) | (System::MacOs, 2) => Some(MICROSECOND),
            (System::FreeBsd, 8) | (System::MacOs, 4) => Some(NANOSECOND),
            (System::NetBsd | System::OpenBsd, 1) => Some(SECOND),
            (System::NetBsd | System::OpenBsd, 2) => Some(MICROSECOND),
            (System::NetBsd | System::OpenBsd, 3) => Some(NANOSECOND),
            _ => None,
        }
    }
}

/// Reads an error's number or the name of one that `kqueue()` or a sandbox may give.
fn error_number(text: &str) -> Option<i32> {
    let named = match text {
        "ENOMEM" => libc::ENOMEM,
        "EMFILE" => libc::EMFILE,
        "ENFILE" => libc::ENFILE,
        "ENOSYS" => libc::ENOSYS,
        "EPERM" => libc::EPERM,
        "EACCES" => libc::EACCES,
        "EINVAL" => libc::EINVAL,
        "EAGAIN" => libc::EAGAIN,
        _ => return text.parse().ok().filter(|&number| number > 0),
    };
    Some(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_means_freebsd_without_faults() {
        assert_eq!(Variant::parse(""), Ok(Variant::default()));
        assert_eq!(Variant::parse("freebsd"), Ok(Variant::default()));
    }

    #[test]
    fn system_and_faults_are_read_together() {
        let variant = Variant::parse("netbsd, nouser,noreceipt,epipe,stale,eintr=3").unwrap();
        assert_eq!(variant.system, System::NetBsd);
        assert!(variant.refuses_user && variant.ignores_receipt);
        assert!(variant.pipe_error && variant.stale);
        assert_eq!(variant.interrupt_every, 3);
    }

    #[test]
    fn opening_fails_with_a_name_or_a_number() {
        assert_eq!(
            Variant::parse("open=fail:ENOMEM").unwrap().open_error,
            Some(libc::ENOMEM)
        );
        assert_eq!(Variant::parse("open=fail:12").unwrap().open_error, Some(12));
    }

    #[test]
    fn unknown_words_are_named() {
        for word in [
            "solaris",
            "eintr=0",
            "eintr=x",
            "open=fail:EWHAT",
            "open=",
            "FreeBSD",
        ] {
            assert_eq!(
                Variant::parse(&format!("macos,{word}")),
                Err(word.to_owned())
            );
        }
    }

    #[test]
    fn timer_units_differ_per_system() {
        let unit = |words, fflags| Variant::parse(words).unwrap().timer_unit(fflags);
        assert_eq!(unit("freebsd", 0), Some(1_000_000));
        assert_eq!(unit("freebsd", 4), Some(1_000));
        assert_eq!(unit("macos", 4), Some(1));
        assert_eq!(unit("macos", 8), None);
    }
}
