//! `DP_POLL`: looking at the set, and sleeping until there is something to tell.
//!
//! The lock is held while the set is looked at and given up while the thread sleeps. What woke it
//! is not trusted: it looks again, at the set as it is by then.

use crate::abi::Entry;
use crate::abi::{self, POLLERR};
use crate::complaint::complain;
use crate::counters::{TALLY, count, count_many};
use crate::device::{Device, ProcessFiles, State};
use crate::numbers;
use crate::set::Look;
use crate::signals::{self, Blocked};
use crate::sys::{self, Errno, Woken};
use crate::variant::{Kernel, Restart};
use crate::violation::Violation;
use libc::c_int;
use std::os::fd::RawFd;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

/// The kernel's clock ticks this often; no wait is shorter.
const TICK: Duration = Duration::from_millis(10);

impl Device {
    /// Answers `DP_POLL` with at most `room` entries.
    pub(crate) fn poll(
        &self,
        name: RawFd,
        room: usize,
        timeout: c_int,
    ) -> Result<Vec<Entry>, Errno> {
        let blocked = Blocked::new();
        self.claim(name)?;
        count(&TALLY.polls);
        let room = self.check_room(room)?;
        let patience = Patience::new(timeout, self.variant.kernel);
        let outcome = if room == 0 {
            self.sleep_only(patience, &blocked)
        } else {
            self.wait(room, patience, &blocked)
        };
        match &outcome {
            Ok(entries) => count_many(&TALLY.events, entries.len()),
            Err(Errno(libc::EINTR)) => count(&TALLY.interruptions),
            Err(_) => {}
        }
        outcome
    }

    /// Says how many entries may be returned; systems differ in what is too much.
    fn check_room(&self, room: usize) -> Result<usize, Errno> {
        let limit = sys::descriptor_limit();
        if room == 0 {
            complain(Violation::NoRoom, format_args!("dp_nfds is 0"));
        }
        if room >= limit {
            complain(
                Violation::RoomAboveLimit,
                format_args!("{room}, the limit is {limit}"),
            );
        }
        match self.variant.kernel {
            Kernel::Solaris if room > limit => Err(Errno(libc::EINVAL)),
            Kernel::Illumos if room > limit.saturating_mul(2) => Ok(limit),
            _ => Ok(room),
        }
    }

    fn wait(
        &self,
        room: usize,
        mut patience: Patience,
        blocked: &Blocked,
    ) -> Result<Vec<Entry>, Errno> {
        let mut state = self.enter();
        let mut slept = false;
        let outcome = loop {
            if state.closed {
                break Err(Errno(libc::EBADF));
            }
            let looks = state.set.order(&ProcessFiles);
            let entries = self.look(&mut state, &looks, room);
            if !entries.is_empty() || patience.is_over() {
                break Ok(entries);
            }
            if !slept && self.is_due_for_interruption(&mut state) {
                break Err(Errno(libc::EINTR));
            }
            slept = true;
            let woken;
            (state, woken) = self.sleep(state, &looks, &patience, blocked);
            match woken {
                Ok(Woken::Signal) if state.closed => {}
                Ok(Woken::Signal) if !self.restarts(blocked) => break Err(Errno(libc::EINTR)),
                Ok(Woken::Signal) => patience.start_again(),
                Ok(Woken::Look) => {}
                Err(errno) => break Err(errno),
            }
        };
        self.leave(state);
        outcome
    }

    /// Looks at everything, and returns what there is to tell.
    fn look(&self, state: &mut State, looks: &[Look], room: usize) -> Vec<Entry> {
        let mut entries = self.linux_entries(looks);
        sys::poll_now(&mut entries);
        let answers: Vec<u16> = looks
            .iter()
            .zip(&entries)
            .map(|(look, entry)| match entry.fd {
                // Polling a device by a device is an error at once and for ever.
                -1 => POLLERR,
                fd => {
                    let variant = (self.variant.kernel, self.variant.pipes);
                    abi::answer(look.bits, entry.revents, variant, || sys::file_kind(fd))
                }
            })
            .collect();
        let report = state.set.report(looks, &answers, room);
        for fd in report.invalid_again {
            complain(Violation::InvalidKept, format_args!("descriptor {fd}"));
        }
        for number in report.left.into_iter().filter_map(numbers::known) {
            number.unwatch();
        }
        report.entries
    }

    fn linux_entries(&self, looks: &[Look]) -> Vec<libc::pollfd> {
        let entry = |look: &Look| {
            let fd = if numbers::device(look.fd).is_some() {
                -1
            } else {
                look.fd
            };
            sys::poll_entry(fd, abi::to_linux(look.bits, self.variant.kernel))
        };
        looks.iter().map(entry).collect()
    }

    /// Every so many waits fail by order of the variant; says whether this one does.
    fn is_due_for_interruption(&self, state: &mut State) -> bool {
        count(&TALLY.waits);
        state.waits += 1;
        self.variant
            .interrupt_every
            .is_some_and(|every| state.waits % every == 0)
    }

    /// Gives the lock up, sleeps until there is a reason to look, and takes it again.
    fn sleep<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        looks: &[Look],
        patience: &Patience,
        blocked: &Blocked,
    ) -> (MutexGuard<'a, State>, Result<Woken, Errno>) {
        let counter = match state.fall_asleep() {
            Ok(counter) => counter,
            Err(errno) => return (state, Err(errno)),
        };
        drop(state);
        let mut entries = vec![sys::poll_entry(counter, libc::POLLIN)];
        entries.extend(self.linux_entries(looks));
        let woken = sys::poll_wait(&mut entries, patience.left(), blocked.before());
        let mut state = self.lock();
        state.get_up(counter);
        (state, Ok(woken))
    }

    /// Sleeps without looking at the set: what the device does if there is room for no answer.
    fn sleep_only(&self, mut patience: Patience, blocked: &Blocked) -> Result<Vec<Entry>, Errno> {
        while !patience.is_over() {
            if sys::poll_wait(&mut [], patience.left(), blocked.before()) == Woken::Signal {
                if !self.restarts(blocked) {
                    return Err(Errno(libc::EINTR));
                }
                patience.start_again();
            }
        }
        Ok(Vec::new())
    }

    fn restarts(&self, blocked: &Blocked) -> bool {
        self.variant.restart == Restart::Restarts && signals::restarts(blocked.before())
    }
}

/// How long a `DP_POLL` waits.
#[derive(Debug)]
struct Patience {
    /// The whole time; none is for ever.
    whole: Option<Duration>,
    started: Instant,
}

impl Patience {
    fn new(timeout: c_int, kernel: Kernel) -> Patience {
        if timeout < -1 {
            complain(Violation::BadTimeout, format_args!("{timeout} ms"));
        }
        Patience {
            whole: whole_time(timeout, kernel),
            started: Instant::now(),
        }
    }

    fn is_over(&self) -> bool {
        self.left() == Some(Duration::ZERO)
    }

    fn left(&self) -> Option<Duration> {
        self.whole
            .map(|whole| whole.saturating_sub(self.started.elapsed()))
    }

    fn start_again(&mut self) {
        self.started = Instant::now();
    }
}

fn whole_time(timeout: c_int, kernel: Kernel) -> Option<Duration> {
    match u64::try_from(timeout) {
        Ok(0) => Some(Duration::ZERO),
        Ok(milliseconds) => Some(Duration::from_millis(milliseconds).max(TICK)),
        Err(_) if timeout != -1 && kernel == Kernel::Illumos => Some(Duration::ZERO),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_at_least_a_tick() {
        for kernel in [Kernel::Illumos, Kernel::Solaris] {
            assert_eq!(whole_time(0, kernel), Some(Duration::ZERO));
            assert_eq!(whole_time(1, kernel), Some(TICK));
            assert_eq!(whole_time(11, kernel), Some(Duration::from_millis(11)));
            assert_eq!(whole_time(-1, kernel), None);
        }
        assert_eq!(whole_time(-2, Kernel::Solaris), None);
        assert_eq!(whole_time(-2, Kernel::Illumos), Some(Duration::ZERO));
    }
}
