//! A queue, and short ways to say changes.

use std::io::{Error, Result};
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;
use std::time::Duration;

use super::child::api;
use super::{ERROR, Kevent, RECEIPT, TRIGGER, USER, system};

/// A queue that is closed when dropped.
pub(crate) struct Queue(pub(crate) RawFd);

/// Says a change.
pub(crate) fn change(fd: &impl AsRawFd, filter: i16, flags: u16) -> Kevent {
    numbered(fd.as_raw_fd(), filter, flags)
}

/// Says a change of any number.
pub(crate) fn numbered(ident: i32, filter: i16, flags: u16) -> Kevent {
    Kevent {
        ident: ident as usize,
        filter,
        flags,
        ..Kevent::default()
    }
}

impl Kevent {
    /// With another udata.
    pub(crate) fn udata(self, udata: usize) -> Self {
        Self { udata, ..self }
    }
}

impl Queue {
    /// Makes one and marks it close-on-exec.
    pub(crate) fn new() -> Self {
        let queue = Self::unmarked();
        system::close_on_exec(queue.0);
        queue
    }

    /// Makes one as the call leaves it.
    pub(crate) fn unmarked() -> Self {
        let number = (api().kqueue)();
        assert!(number >= 0, "kqueue: {}", Error::last_os_error());
        Self(number)
    }

    /// Calls with lists of any lengths; `None` waits for ever.
    pub(crate) fn call(
        &self,
        changes: &[Kevent],
        events: &mut [Kevent],
        timeout: Option<Duration>,
    ) -> Result<usize> {
        let timeout = timeout.map(|timeout| (timeout.as_secs() as i64, timeout.subsec_nanos()));
        let timeout = timeout.map(|(seconds, rest)| (seconds, i64::from(rest)));
        self.call_with_timespec(changes, events, timeout)
    }

    /// Calls with whatever stands in the timespec.
    pub(crate) fn call_with_timespec(
        &self,
        changes: &[Kevent],
        events: &mut [Kevent],
        timeout: Option<(i64, i64)>,
    ) -> Result<usize> {
        let time = timeout.map(|(tv_sec, tv_nsec)| libc::timespec { tv_sec, tv_nsec });
        let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
        let (changes, change_count) = (changes.as_ptr(), changes.len() as i32);
        let (events, event_count) = (events.as_mut_ptr(), events.len() as i32);
        // SAFETY: both lists are live slices with their own lengths; the time lives above.
        let count =
            unsafe { (api().kevent)(self.0, changes, change_count, events, event_count, time) };
        usize::try_from(count).map_err(|_| Error::last_os_error())
    }

    /// Makes changes with receipts, as a back end should, in one piece of memory for both lists;
    /// gives the error of each.
    pub(crate) fn change(&self, changes: &[Kevent]) -> Vec<i32> {
        let mut list = changes.to_vec();
        list.iter_mut().for_each(|change| change.flags |= RECEIPT);
        let (place, length) = (list.as_mut_ptr(), list.len() as i32);
        let zero = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the list is live and as long as said; the two uses may overlap, by contract.
        let count =
            unsafe { (api().kevent)(self.0, place, length, place, length, &raw const zero) };
        assert_eq!(count, length, "one receipt for each change");
        let same = |(one, other): (&Kevent, &Kevent)| {
            (one.ident, one.filter, one.udata) == (other.ident, other.filter, other.udata)
        };
        assert!(list.iter().zip(changes).all(same), "{list:?}");
        assert!(
            list.iter().all(|receipt| receipt.flags & ERROR != 0),
            "{list:?}"
        );
        list.iter().map(|receipt| receipt.data as i32).collect()
    }

    /// Makes changes that succeed.
    #[track_caller]
    pub(crate) fn set(&self, changes: &[Kevent]) {
        assert_eq!(self.change(changes), vec![0; changes.len()]);
    }

    /// Takes what is pending.
    #[track_caller]
    pub(crate) fn take(&self) -> Vec<Kevent> {
        self.take_some(16)
    }

    /// Takes what is pending, at most so many.
    #[track_caller]
    pub(crate) fn take_some(&self, most: usize) -> Vec<Kevent> {
        let mut events = vec![Kevent::default(); most];
        let count = self.call(&[], &mut events, Some(Duration::ZERO)).unwrap();
        events.truncate(count);
        events
    }

    /// Waits until something is pending, and takes that.
    #[track_caller]
    pub(crate) fn wait(&self) -> Vec<Kevent> {
        let mut events = [Kevent::default(); 16];
        let count = self
            .call(&[], &mut events, Some(Duration::from_secs(10)))
            .unwrap();
        assert!(count > 0, "nothing has come");
        events[..count].to_vec()
    }

    /// Triggers a user event the right way.
    pub(crate) fn trigger(&self, ident: i32, udata: usize) -> Result<usize> {
        let trigger = numbered(ident, USER, 0).udata(udata);
        let trigger = Kevent {
            fflags: TRIGGER,
            ..trigger
        };
        self.call(&[trigger], &mut [], Some(Duration::ZERO))
    }
}

impl AsRawFd for Queue {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        system::close(self.0);
    }
}

/// Lists (ident, filter) in order, to compare with.
pub(crate) fn names(events: &[Kevent]) -> Vec<(i32, i16)> {
    events
        .iter()
        .map(|event| (event.ident as i32, event.filter))
        .collect()
}
