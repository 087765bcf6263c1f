//! Keeping signals out while the table's lock is held.
//!
//! A signal handler may call `close()` or trigger a user event. If it ran on a thread that holds
//! the lock it would wait for itself. A wait hands the program's own mask to `ppoll()`, which lets
//! the signals in for the time of the sleep, so that none can slip between the look at the queue
//! and the sleep: it gives `EINTR`, as in the kernel.

use std::mem::MaybeUninit;
use std::ptr;

/// The program's own mask, put back when dropped.
pub(crate) struct Blocked {
    program: libc::sigset_t,
}

impl Blocked {
    /// Blocks every signal on this thread.
    pub(crate) fn new() -> Self {
        let mut all = MaybeUninit::uninit();
        // SAFETY: the call fills the set that it is given.
        unsafe { libc::sigfillset(all.as_mut_ptr()) };
        let mut program = MaybeUninit::uninit();
        // SAFETY: `all` is filled; `program` is room for the old mask.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), program.as_mut_ptr()) };
        // SAFETY: pthread_sigmask fails only for an unknown `how`, so it has written the old mask.
        let program = unsafe { program.assume_init() };
        Self { program }
    }

    /// Gives the program's own mask.
    pub(crate) fn program(&self) -> &libc::sigset_t {
        &self.program
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        let program = &raw const self.program;
        // SAFETY: the mask came from the system; the old one is not asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, program, ptr::null_mut()) };
    }
}
