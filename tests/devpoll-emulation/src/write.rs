//! Writing to the device: entries change the set, one after the other, and are judged.

use crate::abi::{ENTRY_SIZE, Entry};
use crate::complaint::complain;
use crate::counters::{TALLY, count, count_many};
use crate::device::{Device, ProcessFiles, State};
use crate::numbers;
use crate::set::{Change, Files, Set};
use crate::signals::Blocked;
use crate::sys::{self, Errno};
use crate::variant::Kernel;
use crate::violation::{self, Narrowing, Violation};
use std::os::fd::RawFd;
use std::sync::{MutexGuard, PoisonError};

impl Device {
    /// Takes what the program has written; returns how many bytes it has taken.
    pub(crate) fn write(&self, name: RawFd, data: &[u8]) -> Result<usize, Errno> {
        let _blocked = Blocked::new();
        self.claim(name)?;
        let limit = sys::descriptor_limit();
        self.check_write(data, limit)?;
        let mut state = self.lock_to_write()?;
        count(&TALLY.writes);
        let mut narrowing = Narrowing::default();
        for bytes in data.chunks_exact(ENTRY_SIZE) {
            let mut entry = [0; ENTRY_SIZE];
            entry.copy_from_slice(bytes);
            let entry = Entry::parse(entry);
            let change = self.apply(&mut state.set, entry, limit);
            if let Some(kind) = narrowing.follow(entry, change) {
                complain(kind, format_args!("descriptor {}", entry.fd));
            }
        }
        state.wake_sleepers();
        Ok(data.len())
    }

    fn check_write(&self, data: &[u8], limit: usize) -> Result<(), Errno> {
        if !self.writable {
            complain(
                Violation::ReadOnlyWrite,
                format_args!("{} bytes", data.len()),
            );
            return Err(Errno(libc::EBADF));
        }
        if data.is_empty() {
            complain(Violation::EmptyWrite, format_args!("nothing to do"));
        }
        if data.len() % ENTRY_SIZE != 0 {
            complain(
                Violation::PartialEntry,
                format_args!("{} bytes", data.len()),
            );
        }
        let entries = data.len() / ENTRY_SIZE;
        if entries > limit {
            complain(
                Violation::TooManyEntries,
                format_args!("{entries}, the limit is {limit}"),
            );
            return Err(Errno(libc::EINVAL));
        }
        Ok(())
    }

    /// Takes the lock for a write; on Solaris once no `DP_POLL` is in progress.
    fn lock_to_write(&self) -> Result<MutexGuard<'_, State>, Errno> {
        let mut state = self.lock();
        if state.polling > 0 {
            complain(
                Violation::WriteWhilePolled,
                format_args!("{} waiting", state.polling),
            );
        }
        if self.variant.kernel == Kernel::Solaris {
            state.writers += 1;
            while state.polling > 0 && !state.closed {
                state = self
                    .turn
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            state.writers -= 1;
            self.turn.notify_all();
        }
        if state.closed {
            Err(Errno(libc::EBADF))
        } else {
            Ok(state)
        }
    }

    fn apply(&self, set: &mut Set, entry: Entry, limit: usize) -> Change {
        let fd = entry.fd;
        let number = numbers::note(fd);
        let behind = ProcessFiles.is_open(fd).then(|| numbers::generation(fd));
        let beyond = usize::try_from(fd).is_ok_and(|fd| fd >= limit);
        let change = set.apply(entry, behind, beyond);
        match (change, number) {
            (Change::Entered, Some(number)) => number.watch(),
            (Change::Left(_) | Change::LeftOver, Some(number)) => number.unwatch(),
            _ => {}
        }
        tally(change);
        if change == Change::Entered && numbers::device(fd).is_some() {
            complain(
                Violation::DevicePolled,
                format_args!("descriptor {fd} is a device"),
            );
        }
        let in_bits = violation::in_bits(entry.events, self.variant.kernel);
        for kind in in_bits.into_iter().chain(violation::in_change(change)) {
            complain(
                kind,
                format_args!("descriptor {fd}, events {:#06x}", entry.events),
            );
        }
        change
    }
}

fn tally(change: Change) {
    count_many(&TALLY.entries, 1);
    match change {
        Change::Entered => count(&TALLY.additions),
        Change::Widened | Change::Inherited => count(&TALLY.widenings),
        Change::Left(_) | Change::LeftOver => count(&TALLY.removals),
        _ => count(&TALLY.redundancies),
    }
}
