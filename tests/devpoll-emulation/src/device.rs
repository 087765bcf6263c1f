//! One open device: whose it is, its names, its lock and those who sleep on it.
//!
//! The descriptor that the program gets is a memory file's, so that numbers, flags and inheritance
//! are real. The file holds the id of the owner: a forked process shares the file, not the memory.

use crate::complaint::complain;
use crate::counters::{TALLY, count};
use crate::set::{Files, Generation, Set};
use crate::settings::settings;
use crate::signals::Blocked;
use crate::sys::{self, Errno};
use crate::variant::{Kernel, Variant};
use crate::violation::Violation;
use crate::{numbers, process};
use libc::c_int;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How many devices are open, for what need not be done while there is none.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// One open device. It is never freed, so that a number may be looked up without a lock.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) variant: Variant,
    /// Opened for writing.
    pub(crate) writable: bool,
    /// The process that may use it, as far as this process knows; 0 if nobody has used it yet.
    owner: AtomicI32,
    /// How many numbers stand for it in this process.
    names: AtomicUsize,
    state: Mutex<State>,
    /// Told when a `DP_POLL` or a waiting writer goes; Solaris keeps them apart.
    pub(crate) turn: Condvar,
}

/// What a device's lock protects.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) set: Set,
    /// The last name is gone.
    pub(crate) closed: bool,
    /// How many calls of `DP_POLL` are in progress.
    pub(crate) polling: usize,
    /// How many writers wait for them to end.
    pub(crate) writers: usize,
    /// How many calls of `DP_POLL` have had to wait.
    pub(crate) waits: u64,
    /// The event counters of those that sleep.
    sleepers: Vec<RawFd>,
    /// Event counters that nobody needs at the moment.
    idle: Vec<RawFd>,
}

/// The files of this process.
pub(crate) struct ProcessFiles;

impl Files for ProcessFiles {
    fn generation(&self, fd: i32) -> Generation {
        numbers::generation(fd)
    }

    fn is_open(&self, fd: i32) -> bool {
        sys::is_open(fd) && !numbers::known(fd).is_some_and(numbers::Number::is_internal)
    }
}

/// Says whether any device is open.
pub(crate) fn any_open() -> bool {
    OPEN.load(SeqCst) > 0
}

/// Opens a device, and returns its number.
pub(crate) fn open(flags: c_int) -> Result<c_int, Errno> {
    let _blocked = Blocked::new();
    process::prepare();
    let opened = try_open(flags);
    count(if opened.is_ok() {
        &TALLY.opens
    } else {
        &TALLY.open_failures
    });
    opened
}

fn try_open(flags: c_int) -> Result<c_int, Errno> {
    let variant = settings().variant;
    if let Some(errno) = variant.open_failure {
        return Err(Errno(errno));
    }
    let close_on_exec = flags & libc::O_CLOEXEC != 0;
    if !close_on_exec {
        complain(
            Violation::NoCloseOnExec,
            format_args!("open with flags {flags:#o}"),
        );
    }
    let fd = sys::memory_file(close_on_exec)?;
    let counter = sys::event_counter().inspect_err(|_| sys::close(fd))?;
    let Some(number) = numbers::note(fd).filter(|_| own_counter(counter, true)) else {
        sys::close(counter);
        sys::close(fd);
        return Err(Errno(libc::EMFILE));
    };
    let writable = flags & libc::O_ACCMODE != libc::O_RDONLY;
    let device = Box::leak(Box::new(Device::new(variant, writable, counter)));
    if variant.kernel == Kernel::Solaris {
        // There the owner is who opens, on illumos who first writes or asks.
        device.own(fd);
    }
    number.set_device(device);
    OPEN.fetch_add(1, SeqCst);
    Ok(fd)
}

/// Notes that an event counter is the emulation's own, or no more; says whether it could.
fn own_counter(counter: RawFd, own: bool) -> bool {
    numbers::note(counter)
        .inspect(|number| number.set_internal(own))
        .is_some()
}

impl Device {
    fn new(variant: Variant, writable: bool, counter: RawFd) -> Device {
        let state = State {
            set: Set::new(variant.kernel, variant.stale),
            closed: false,
            polling: 0,
            writers: 0,
            waits: 0,
            sleepers: Vec::new(),
            idle: vec![counter],
        };
        Device {
            variant,
            writable,
            owner: AtomicI32::new(0),
            names: AtomicUsize::new(1),
            state: Mutex::new(state),
            turn: Condvar::new(),
        }
    }

    /// Answers `DP_ISPOLLED`: the bits of a number that is in the set.
    pub(crate) fn is_polled(&self, name: RawFd, fd: RawFd) -> Result<Option<u16>, Errno> {
        let _blocked = Blocked::new();
        self.claim(name)?;
        count(&TALLY.questions);
        Ok(self.lock().set.bits(fd))
    }

    /// Another number has become a name of the device.
    pub(crate) fn add_name(&self) {
        self.names.fetch_add(1, SeqCst);
    }

    /// A name of the device goes; with the last one the set goes.
    pub(crate) fn drop_name(&self) {
        if self.names.fetch_sub(1, SeqCst) > 1 {
            return;
        }
        OPEN.fetch_sub(1, SeqCst);
        let owner = self.owner.load(SeqCst);
        if owner != 0 && owner != sys::process() {
            // The set is the parent's, and a copy of its lock may be held for ever.
            return;
        }
        let _blocked = Blocked::new();
        let mut state = self.lock();
        if state.polling > 0 {
            complain(
                Violation::ClosedWhilePolled,
                format_args!("{} waiting", state.polling),
            );
        }
        state.close();
        self.turn.notify_all();
    }

    /// Refuses other processes than the owner; the first that uses the device becomes it.
    pub(crate) fn claim(&self, name: RawFd) -> Result<(), Errno> {
        let process = sys::process();
        if self.owner.load(SeqCst) == process {
            return Ok(());
        }
        match sys::stored_process(name) {
            0 => self.own(name),
            owner if owner == process => self.owner.store(process, SeqCst),
            owner => {
                complain(Violation::ForeignProcess, format_args!("owner is {owner}"));
                return Err(Errno(libc::EACCES));
            }
        }
        Ok(())
    }

    /// Takes the lock for a `DP_POLL`, which is in progress until [`leave`](Device::leave).
    pub(crate) fn enter(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while state.writers > 0 {
            state = self
                .turn
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.polling += 1;
        state
    }

    /// Ends a `DP_POLL`.
    pub(crate) fn leave(&self, mut state: MutexGuard<'_, State>) {
        state.polling -= 1;
        if state.polling == 0 {
            self.turn.notify_all();
        }
    }

    /// Takes the lock.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn own(&self, name: RawFd) {
        let process = sys::process();
        sys::store_process(name, process);
        self.owner.store(process, SeqCst);
    }
}

impl State {
    /// Returns an event counter for one who is going to sleep, who must give it back.
    pub(crate) fn fall_asleep(&mut self) -> Result<RawFd, Errno> {
        let counter = match self.idle.pop() {
            Some(counter) => counter,
            None => sys::event_counter().inspect(|&counter| {
                own_counter(counter, true);
            })?,
        };
        self.sleepers.push(counter);
        Ok(counter)
    }

    /// Takes back the event counter of one who slept.
    pub(crate) fn get_up(&mut self, counter: RawFd) {
        sys::lower(counter);
        self.sleepers.retain(|&sleeper| sleeper != counter);
        self.idle.push(counter);
        if self.closed {
            self.close_idle();
        }
    }

    /// Makes all who sleep look again.
    pub(crate) fn wake_sleepers(&self) {
        for &counter in &self.sleepers {
            sys::raise(counter);
        }
    }

    fn close(&mut self) {
        self.closed = true;
        self.wake_sleepers();
        for number in self.set.clear().into_iter().filter_map(numbers::known) {
            number.unwatch();
        }
        self.close_idle();
    }

    fn close_idle(&mut self) {
        for counter in self.idle.drain(..) {
            own_counter(counter, false);
            sys::close(counter);
        }
    }
}
