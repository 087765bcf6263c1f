//! `kevent()`: the changes, then the events.
//!
//! 1. Changes are taken one by one, in order.
//! 2. One that fails, or that has `EV_RECEIPT`, makes an entry at once.
//! 3. Without room for that entry the rest is not applied; a failed change is then the call's error.
//! 4. If any such entry was made the call returns with those only.
//! 5. With no room for events it returns at once, before it looks at the timeout.
//! 6. It may be interrupted only when it would sleep; the changes have been applied.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::abi::{self, Kevent};
use crate::audit::{self, Timeout};
use crate::counters::{self, Counter};
use crate::environment::environment;
use crate::lists::{Changes, Entries};
use crate::sys::{self, Errno, probe};
use crate::table::{self, Guard, QueueId, Table};
use crate::violations::{self, Kind};

/// How long a sleep lasts at most while a file is watched, about which no edge tells.
const FILE_INTERVAL: u64 = 10_000_000;

/// Makes a call and gives the number of entries.
pub(crate) fn kevent(
    number: RawFd,
    changes: Changes,
    entries: &mut Entries,
    timeout: Option<Timeout>,
) -> Result<usize, Errno> {
    let mut table = table::lock();
    let Some(id) = table.queue_named(number) else {
        audit::no_queue(number, table.is_forked_child);
        return Err(libc::EBADF);
    };
    counters::count(Counter::Calls);
    audit::call(changes, entries.room(), timeout);
    table.gather(id);
    let applied = table.apply_all(id, changes, entries);
    table.queue(id).publish();
    if !applied? || entries.used() > 0 || entries.room() == 0 {
        return Ok(entries.used());
    }
    check_close_on_exec(&mut table, id, number);
    counters::count(Counter::WaitCalls);
    let timeout = match timeout.map(Timeout::total) {
        Some(None) => return Err(libc::EINVAL),
        Some(Some(nanoseconds)) => Some(nanoseconds),
        None => None,
    };
    wait(&mut table, id, entries, timeout)
}

impl Table {
    /// Rules 1 to 3; false if the rest of the changes was given up for want of room.
    fn apply_all(
        &mut self,
        id: QueueId,
        changes: Changes,
        entries: &mut Entries,
    ) -> Result<bool, Errno> {
        let variant = &environment().variant;
        if changes.len() > 0 {
            counters::count(Counter::ChangeCalls);
        }
        for change in changes.iter() {
            count_change(&change);
            if change.filter == 0 && variant.skips_filter_zero() {
                violations::record(Kind::UnknownFilter, format_args!("{change:?}"));
                continue;
            }
            let result = self.apply(id, &change);
            let wants_receipt = change.flags & abi::EV_RECEIPT != 0 && !variant.ignores_receipt;
            if result.is_ok() && !wants_receipt {
                continue;
            }
            if entries.is_full() {
                return result.map(|()| false);
            }
            entries.push(receipt(&change, result.err().unwrap_or(0)));
        }
        Ok(true)
    }
}

/// Makes the entry about a change.
fn receipt(change: &Kevent, error: Errno) -> Kevent {
    counters::count(if error == 0 {
        Counter::Receipts
    } else {
        Counter::Errors
    });
    let kept = match environment().variant.keeps_flags_in_receipts() {
        true => change.flags,
        false => 0,
    };
    Kevent {
        flags: kept | abi::EV_ERROR,
        data: error as isize,
        ..*change
    }
}

fn count_change(change: &Kevent) {
    counters::count(Counter::Changes);
    let is = |flags| change.flags & flags != 0;
    if is(abi::EV_DELETE) {
        counters::count(Counter::Deletes);
    } else if is(abi::EV_ADD) {
        counters::count(Counter::Adds);
    } else if is(abi::EV_ENABLE | abi::EV_DISABLE) {
        counters::count(Counter::Switches);
    }
    if change.filter == abi::EVFILT_USER && change.fflags & abi::NOTE_TRIGGER != 0 {
        counters::count(Counter::Triggers);
    }
}

/// Hands out events, sleeping until there are some.
fn wait(
    table: &mut Guard,
    id: QueueId,
    entries: &mut Entries,
    timeout: Option<u64>,
) -> Result<usize, Errno> {
    let deadline = timeout.map(|timeout| sys::now().saturating_add(timeout));
    loop {
        table.gather(id);
        table.hand_out(id, entries);
        table.queue(id).publish();
        if entries.used() > 0 {
            return Ok(entries.used());
        }
        let left = deadline.map(|deadline| deadline.saturating_sub(sys::now()));
        if left == Some(0) {
            return Ok(0);
        }
        if let Err(error) = sleep(table, id, left) {
            counters::count(Counter::Interruptions);
            return Err(error);
        }
    }
}

/// Sleeps once. The queue is kept for as long as somebody sleeps in it, whatever happens to its
/// names: the call has its own hold on it.
fn sleep(table: &mut Guard, id: QueueId, left: Option<u64>) -> Result<(), Errno> {
    if is_to_be_interrupted(environment().variant.interrupt_every) {
        return Err(libc::EINTR);
    }
    counters::count(Counter::Sleeps);
    let queue = table.queue(id);
    let front = queue.front();
    let longest = if queue.watches_files() {
        FILE_INTERVAL
    } else {
        u64::MAX
    };
    let nanoseconds = left.map(|left| left.min(longest));
    let nanoseconds = nanoseconds.or((longest != u64::MAX).then_some(longest));
    queue.sleepers += 1;
    let result = table.sleep(front, nanoseconds);
    table.queue(id).sleepers -= 1;
    if result.is_err() {
        table.drop_if_unused(id);
    }
    result
}

/// Counts the sleeps of the whole process, and tells whether this one is the unlucky one.
fn is_to_be_interrupted(every: u64) -> bool {
    static SLEEPS: AtomicU64 = AtomicU64::new(0);
    every > 0 && (SLEEPS.fetch_add(1, Relaxed) + 1) % every == 0
}

/// A name that lives through exec is no harm on a BSD, but nobody should count on that.
fn check_close_on_exec(table: &mut Table, id: QueueId, number: RawFd) {
    let queue = table.queue(id);
    if !queue.checked_close_on_exec && !probe::is_close_on_exec(number) {
        violations::record(Kind::NoCloseOnExec, format_args!("queue {number}"));
    }
    queue.checked_close_on_exec = true;
}
