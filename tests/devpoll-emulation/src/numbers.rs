//! What is known about each descriptor number, readable without a lock.
//!
//! Every `write` and `close` of the program asks here first, also from signal handlers, so looking
//! up is a few loads. The table is made of parts that are allocated when a number in them is first
//! noted, and never freed.

use crate::device::Device;
use crate::set::Generation;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::SeqCst};

const PART: usize = 1024;
const PARTS: usize = 1024;

/// What is known about one number.
#[derive(Debug)]
pub(crate) struct Number {
    device: AtomicPtr<Device>,
    generation: AtomicU32,
    watchers: AtomicU32,
    internal: AtomicBool,
}

static TABLE: [AtomicPtr<[Number; PART]>; PARTS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; PARTS];

/// Returns what is known about a number, if anything is.
pub(crate) fn known(fd: RawFd) -> Option<&'static Number> {
    let index = usize::try_from(fd).ok()?;
    let part = TABLE.get(index / PART)?.load(SeqCst);
    // SAFETY: a part, once in the table, is never freed or changed but through its atomics.
    let part = unsafe { part.as_ref() }?;
    part.get(index % PART)
}

/// Returns the place for what is to be known about a number; none if it is too high.
pub(crate) fn note(fd: RawFd) -> Option<&'static Number> {
    let index = usize::try_from(fd).ok()?;
    let place = TABLE.get(index / PART)?;
    if place.load(SeqCst).is_null() {
        let fresh = Box::into_raw(Box::new([const { Number::new() }; PART]));
        if place
            .compare_exchange(ptr::null_mut(), fresh, SeqCst, SeqCst)
            .is_err()
        {
            // SAFETY: another thread was faster, so nobody else has seen this part.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }
    known(fd)
}

/// Returns the device that a number is a name of.
pub(crate) fn device(fd: RawFd) -> Option<&'static Device> {
    known(fd)?.device()
}

/// Returns which of its files a number has now; see [`Generation`].
pub(crate) fn generation(fd: RawFd) -> Generation {
    known(fd).map_or(0, |number| number.generation.load(SeqCst))
}

/// Lists the numbers of a range about which something may be known.
pub(crate) fn known_within(first: usize, last: usize) -> impl Iterator<Item = RawFd> {
    let parts = TABLE
        .iter()
        .enumerate()
        .filter(|(_, part)| !part.load(SeqCst).is_null());
    parts
        .flat_map(|(index, _)| index * PART..(index + 1) * PART)
        .filter(move |number| (first..=last).contains(number))
        .filter_map(|number| RawFd::try_from(number).ok())
}

/// Forgets who watches what: a forked process has none of the sets.
pub(crate) fn forget_watchers() {
    for number in known_within(0, PART * PARTS).filter_map(known) {
        number.watchers.store(0, SeqCst);
    }
}

impl Number {
    const fn new() -> Number {
        Number {
            device: AtomicPtr::new(ptr::null_mut()),
            generation: AtomicU32::new(0),
            watchers: AtomicU32::new(0),
            internal: AtomicBool::new(false),
        }
    }

    /// Returns the device that the number is a name of.
    pub(crate) fn device(&self) -> Option<&'static Device> {
        // SAFETY: only devices that live for ever are stored here.
        unsafe { self.device.load(SeqCst).as_ref() }
    }

    /// Makes the number a name of a device.
    pub(crate) fn set_device(&self, device: &'static Device) {
        self.device.store(ptr::from_ref(device).cast_mut(), SeqCst);
    }

    /// Takes the name away from the device, which is returned.
    pub(crate) fn take_device(&self) -> Option<&'static Device> {
        // SAFETY: only devices that live for ever are stored here.
        unsafe { self.device.swap(ptr::null_mut(), SeqCst).as_ref() }
    }

    /// Notes that the file behind the number goes; says whether a set has the number.
    pub(crate) fn retire(&self) -> bool {
        self.generation.fetch_add(1, SeqCst);
        self.watchers.load(SeqCst) > 0
    }

    /// Notes that a set has the number.
    pub(crate) fn watch(&self) {
        self.watchers.fetch_add(1, SeqCst);
    }

    /// Notes that a set has the number no more.
    pub(crate) fn unwatch(&self) {
        self.watchers.fetch_sub(1, SeqCst);
    }

    /// Says whether the number is the emulation's own, not to be seen by the program.
    pub(crate) fn is_internal(&self) -> bool {
        self.internal.load(SeqCst)
    }

    /// Makes the number the emulation's own, or no longer so.
    pub(crate) fn set_internal(&self, internal: bool) {
        self.internal.store(internal, SeqCst);
    }
}
