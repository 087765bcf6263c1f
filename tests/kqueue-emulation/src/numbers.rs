//! What closing and duplicating numbers does to queues and knotes.
//!
//! - Closing a number removes its knotes at once, also while the file lives on under another.
//! - A new name of a file has no knotes; a new name of a queue is the same queue.

use std::os::fd::RawFd;

use libc::{c_int, c_uint};

use crate::knote::{Filter, Key};
use crate::sys::{self, next, probe};
use crate::table::{self, Table};
use crate::violations::{self, Kind};

/// Closes a number.
pub(crate) fn close(fd: RawFd) -> c_int {
    if table::is_in_use() {
        let errno = sys::errno();
        let mut table = table::lock();
        if table.owns(fd) {
            return sys::fail(libc::EBADF);
        }
        table.forget_number(fd);
        drop(table);
        sys::set_errno(errno);
    }
    // Outside the lock, as it may linger.
    next::close(fd)
}

/// Makes a new name by a call that does not close anything.
pub(crate) fn duplicate(old: RawFd, call: impl FnOnce() -> c_int) -> c_int {
    if !table::is_in_use() {
        return call();
    }
    let mut table = table::lock();
    let new = call();
    table.pass_name_on(old, new);
    new
}

/// Makes `new` another name of what `old` names, closing what it named before.
pub(crate) fn duplicate_onto(old: RawFd, new: RawFd, call: impl FnOnce() -> c_int) -> c_int {
    if !table::is_in_use() || old == new {
        return call();
    }
    let mut table = table::lock();
    if table.owns(new) {
        return sys::fail(libc::EBUSY);
    }
    if probe::is_open(old) {
        table.forget_number(new);
    }
    let result = call();
    table.pass_name_on(old, result);
    result
}

/// Closes a range of numbers, all but the emulation's own.
pub(crate) fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    if !table::is_in_use() || flags != 0 {
        return next::close_range(first, last, flags);
    }
    let last = last.min(RawFd::MAX.unsigned_abs());
    let mut table = table::lock();
    let mut from = first;
    for own in table.own_numbers_in(first, last) {
        table.forget_numbers(from, own.saturating_sub(1));
        if own > from {
            next::close_range(from, own - 1, flags);
        }
        from = own + 1;
    }
    table.forget_numbers(from, last);
    if from > last {
        0
    } else {
        next::close_range(from, last, flags)
    }
}

impl Table {
    /// Removes the knotes of a number, and its meaning as a queue's name.
    fn forget_number(&mut self, fd: RawFd) {
        let Ok(ident) = usize::try_from(fd) else {
            return;
        };
        for queue in self.queues.values_mut() {
            for filter in [Filter::Read, Filter::Write] {
                let key = Key { ident, filter };
                if queue.remove(key).is_some() {
                    queue.gone.insert(key);
                    queue.publish();
                    violations::record(Kind::ClosedWithKnotes, format_args!("{key:?}"));
                }
            }
        }
        if let Some(id) = self.names.remove(&fd) {
            let queue = self.queue(id);
            queue.names -= 1;
            if queue.names == 0 && queue.sleepers > 0 {
                let what = format_args!("queue {fd}, {} threads", queue.sleepers);
                violations::record(Kind::QueueClosedInWait, what);
            }
            self.drop_if_unused(id);
        }
    }

    /// Forgets every number of a range that a knote or a name has.
    fn forget_numbers(&mut self, first: c_uint, last: c_uint) {
        let named = self.names.keys().copied();
        let watched = self.queues.values().flat_map(|queue| queue.knotes.keys());
        let watched = watched.filter(|key| key.filter.watches_descriptor());
        let numbers: Vec<_> = named.chain(watched.map(|key| key.descriptor())).collect();
        for number in numbers {
            if (first..=last).contains(&number.unsigned_abs()) {
                self.forget_number(number);
            }
        }
    }

    /// Lists the emulation's own numbers in a range, in order.
    fn own_numbers_in(&self, first: c_uint, last: c_uint) -> Vec<c_uint> {
        let own = self
            .queues
            .values()
            .flat_map(crate::queue::Queue::own_numbers);
        let mut own: Vec<_> = own.map(RawFd::unsigned_abs).collect();
        own.retain(|number| (first..=last).contains(number));
        own.sort_unstable();
        own
    }

    fn pass_name_on(&mut self, old: RawFd, new: RawFd) {
        if let Some(id) = self.queue_named(old) {
            if new >= 0 {
                self.add_name(new, id);
            }
        }
    }
}
