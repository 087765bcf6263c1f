//! Which of the device's behaviours is played: the words of `DEVPOLL_EMULATION`.

use libc::c_int;

/// The kernel whose driver is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// The current driver of illumos.
    Illumos,
    /// The driver of Solaris 10 and 11.
    Solaris,
}

/// What becomes of an entry whose descriptor has been closed without a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stale {
    /// It is looked at: POLLNVAL for ever, or the events of the number's next owner.
    Reported,
    /// It is not looked at, not even when the same bits are added for the next owner.
    Silent,
}

/// What a wait does after a signal whose handler was installed with `SA_RESTART`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restart {
    /// It starts again with the whole timeout, as ioctl(2) does there.
    Restarts,
    /// It fails with EINTR all the same.
    Interrupts,
}

/// How pipes answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pipes {
    /// As streams, as they do there.
    Streams,
    /// As on Linux.
    Linux,
}

/// The whole choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) kernel: Kernel,
    pub(crate) stale: Stale,
    pub(crate) restart: Restart,
    pub(crate) pipes: Pipes,
    /// Every so many waits one fails with EINTR.
    pub(crate) interrupt_every: Option<u64>,
    /// Opening the device fails with this.
    pub(crate) open_failure: Option<c_int>,
}

impl Default for Variant {
    fn default() -> Variant {
        Variant {
            kernel: Kernel::Illumos,
            stale: Stale::Reported,
            restart: Restart::Restarts,
            pipes: Pipes::Streams,
            interrupt_every: None,
            open_failure: None,
        }
    }
}

impl Variant {
    /// Reads words that are separated by commas; what is not said stays as in the default.
    ///
    /// # Errors
    ///
    /// Names the word that is not known, so that no test runs on another variant than it thinks.
    pub(crate) fn parse(words: &str) -> Result<Variant, String> {
        let mut variant = Variant::default();
        for word in words
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
        {
            variant.apply(word)?;
        }
        Ok(variant)
    }

    fn apply(&mut self, word: &str) -> Result<(), String> {
        match word.split_once('=') {
            None if word == "illumos" => self.kernel = Kernel::Illumos,
            None if word == "solaris" => self.kernel = Kernel::Solaris,
            Some(("stale", "reported")) => self.stale = Stale::Reported,
            Some(("stale", "silent")) => self.stale = Stale::Silent,
            Some(("restart", "yes")) => self.restart = Restart::Restarts,
            Some(("restart", "no")) => self.restart = Restart::Interrupts,
            Some(("pipes", "streams")) => self.pipes = Pipes::Streams,
            Some(("pipes", "linux")) => self.pipes = Pipes::Linux,
            Some(("eintr", count)) => self.interrupt_every = Some(parse_count(count)?),
            Some(("open", outcome)) => self.open_failure = parse_open(outcome)?,
            _ => {
                return Err(format!(
                    "unknown word \"{word}\"; known are illumos, solaris, stale=reported|silent, \
                     restart=yes|no, pipes=streams|linux, eintr=N, open=works|fail:ERRNO"
                ));
            }
        }
        Ok(())
    }
}

fn parse_count(count: &str) -> Result<u64, String> {
    match count.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(format!("eintr={count}: not a number above zero")),
    }
}

fn parse_open(outcome: &str) -> Result<Option<c_int>, String> {
    let errno = match outcome {
        "works" => return Ok(None),
        "fail:ENOENT" => libc::ENOENT,
        "fail:ENXIO" => libc::ENXIO,
        "fail:EACCES" => libc::EACCES,
        "fail:EMFILE" => libc::EMFILE,
        "fail:ENFILE" => libc::ENFILE,
        _ => {
            return Err(format!(
                "open={outcome}: known are works and fail: with ENOENT, ENXIO, EACCES, EMFILE, ENFILE"
            ));
        }
    };
    Ok(Some(errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_is_illumos_with_stale_entries_reported() {
        assert_eq!(Variant::parse(""), Ok(Variant::default()));
        assert_eq!(Variant::parse(" , "), Ok(Variant::default()));
    }

    #[test]
    fn words_are_combined() {
        let words = "solaris,stale=silent,restart=no,pipes=linux,eintr=3,open=fail:ENXIO";
        let expected = Variant {
            kernel: Kernel::Solaris,
            stale: Stale::Silent,
            restart: Restart::Interrupts,
            pipes: Pipes::Linux,
            interrupt_every: Some(3),
            open_failure: Some(libc::ENXIO),
        };
        assert_eq!(Variant::parse(words), Ok(expected));
    }

    #[test]
    fn unknown_words_are_named() {
        for word in [
            "linux",
            "stale=maybe",
            "eintr=0",
            "eintr=x",
            "open=fail:EPERM",
            "stale",
        ] {
            let refusal = Variant::parse(word).unwrap_err();
            let value = word.rsplit('=').next().unwrap();
            assert!(refusal.contains(value), "{word}: {refusal}");
        }
    }
}
