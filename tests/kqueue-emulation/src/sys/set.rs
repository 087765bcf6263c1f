//! What a queue is made of: epoll sets, a flag that they can watch, a timer, and sleeping on them.

use std::os::fd::RawFd;
use std::ptr;

use super::{Descriptor, Errno, check};

/// An epoll set that reports edges, each with a 64-bit value.
#[derive(Debug)]
pub(crate) struct Set(Descriptor);

impl Set {
    /// Makes an empty set.
    pub(crate) fn new() -> Result<Self, Errno> {
        // Without EPOLL_CLOEXEC, which the name with the high number has, so that a filter of system
        // calls can tell it from what a program under test asks for.
        // SAFETY: epoll_create1 has no conditions.
        let fd = unsafe { libc::epoll_create1(0) };
        Descriptor::adopt_high(fd).map(Self)
    }

    /// Gives the set's own number.
    pub(crate) fn number(&self) -> RawFd {
        self.0.number()
    }

    /// Makes another name of the set at the lowest free number, not closed on exec.
    pub(crate) fn name(&self) -> Result<RawFd, Errno> {
        check(super::next::dup(self.number()))
    }

    /// Watches `fd` for `events`.
    pub(crate) fn add(&self, fd: RawFd, events: i32, value: u64) -> Result<(), Errno> {
        self.control(libc::EPOLL_CTL_ADD, fd, events, value)
    }

    /// Stops watching `fd`; that it is not watched, or no longer open, is no matter.
    pub(crate) fn remove(&self, fd: RawFd) {
        let _ = self.control(libc::EPOLL_CTL_DEL, fd, 0, 0);
    }

    fn control(&self, operation: i32, fd: RawFd, events: i32, value: u64) -> Result<(), Errno> {
        // The bits of EPOLLET reach the sign, hence a cast that keeps them.
        let mut event = libc::epoll_event {
            events: events as u32,
            u64: value,
        };
        // SAFETY: `event` is live; the kernel checks both numbers.
        let result = unsafe { libc::epoll_ctl(self.number(), operation, fd, &raw mut event) };
        check(result).map(drop)
    }

    /// Takes edges without waiting and gives their values, at most as many as fit; call again
    /// while `taken` was full.
    pub(crate) fn take(&self, taken: &mut [u64; 64]) -> usize {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
        // SAFETY: the pointer and count are those of a live array.
        let count = unsafe { libc::epoll_wait(self.number(), events.as_mut_ptr(), 64, 0) };
        let count = usize::try_from(count).unwrap_or(0);
        for (value, event) in taken.iter_mut().zip(&events[..count]) {
            *value = event.u64;
        }
        count
    }
}

/// A flag that makes a set readable while it is up.
#[derive(Debug)]
pub(crate) struct Flag(Descriptor);

impl Flag {
    /// Makes a flag that is down.
    pub(crate) fn new() -> Result<Self, Errno> {
        // Without EFD_CLOEXEC, as above.
        // SAFETY: eventfd has no conditions.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK) };
        Descriptor::adopt_high(fd).map(Self)
    }

    /// Gives the number.
    pub(crate) fn number(&self) -> RawFd {
        self.0.number()
    }

    /// Raises it.
    pub(crate) fn raise(&self) {
        let one = 1_u64;
        // SAFETY: an eventfd takes the eight bytes of a live number.
        unsafe { libc::write(self.number(), (&raw const one).cast(), 8) };
    }

    /// Lowers it.
    pub(crate) fn lower(&self) {
        let mut value = 0_u64;
        // SAFETY: an eventfd gives eight bytes into a live number.
        unsafe { libc::read(self.number(), (&raw mut value).cast(), 8) };
    }
}

/// A timer that makes a set readable once it is due.
#[derive(Debug)]
pub(crate) struct Alarm(Descriptor);

impl Alarm {
    /// Makes a timer that is not set.
    pub(crate) fn new() -> Result<Self, Errno> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: timerfd_create has no conditions.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
        Descriptor::adopt_high(fd).map(Self)
    }

    /// Gives the number.
    pub(crate) fn number(&self) -> RawFd {
        self.0.number()
    }

    /// Sets it to a time of the monotonic clock, or stops it; either way it is no longer due.
    pub(crate) fn set(&self, deadline: Option<u64>) {
        // A deadline of zero would stop the timer instead of letting it fire at once.
        let time = timespec(deadline.map_or(0, |deadline| deadline.max(1)));
        let value = libc::itimerspec {
            it_interval: timespec(0),
            it_value: time,
        };
        let flags = libc::TFD_TIMER_ABSTIME;
        // SAFETY: `value` is live; the old setting is not asked for.
        unsafe {
            libc::timerfd_settime(self.number(), flags, &raw const value, ptr::null_mut());
        }
    }
}

/// Sleeps until `fd` is readable or `nanoseconds` have passed, with the given signal mask.
pub(crate) fn sleep(
    fd: RawFd,
    nanoseconds: Option<u64>,
    mask: &libc::sigset_t,
) -> Result<(), Errno> {
    let mut entry = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    let time = nanoseconds.map(timespec);
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: one live entry, a timeout that is null or lives in `time`'s source, a live mask.
    check(unsafe { libc::ppoll(&raw mut entry, 1, time, mask) }).map(drop)
}

fn timespec(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(i64::MAX),
        // Below 10^9, so it fits any type.
        tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
    }
}
