//! Which process this is: what is remembered here belongs to one, and a fork makes another.

use crate::counters::{Counters, TALLY};
use crate::settings::settings;
use crate::{complaint, numbers, sys};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};

/// The process whose descriptors are noted; 0 before the first device is opened.
static OWNER: AtomicI32 = AtomicI32::new(0);

/// Prepares for forks and for the exit; called whenever a device is opened.
pub(crate) fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        OWNER.store(sys::process(), SeqCst);
        // SAFETY: the handler uses atomics and getpid only, which a forked child may.
        unsafe { libc::pthread_atfork(None, None, Some(start_over)) };
        // SAFETY: this library stays loaded until the exit.
        unsafe { libc::atexit(write_figures) };
    });
}

/// Says whether this is a child that shares the memory of the process (as after vfork), so that
/// nothing may be noted here.
pub(crate) fn is_visitor() -> bool {
    let owner = OWNER.load(SeqCst);
    owner != 0 && owner != sys::process()
}

/// In the child of a fork: no set is its own, and nothing has been counted.
extern "C" fn start_over() {
    OWNER.store(sys::process(), SeqCst);
    numbers::forget_watchers();
    TALLY.reset();
    complaint::reset();
}

extern "C" fn write_figures() {
    let counters = TALLY.snapshot();
    if counters == Counters::default() {
        return;
    }
    if let Some(path) = settings().stats.as_deref() {
        let line = format!("pid={}{}", sys::process(), counters.line());
        if !sys::append_line(path, &line) {
            sys::complain(&format!(
                "devpoll emulation: cannot write the figures:{line}"
            ));
        }
    }
}
