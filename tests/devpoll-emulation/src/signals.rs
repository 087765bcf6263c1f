//! Keeps signals out of the emulation's own work, and finds out what they mean for a wait.
//!
//! A handler may write to a waker or close something, which comes back into this library. If it
//! interrupted a thread that holds one of the locks here, it would wait for ever.

use std::mem::MaybeUninit;
use std::ptr;

/// Blocks all signals for this thread while it lives.
#[derive(Debug)]
pub(crate) struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    /// Blocks all signals.
    pub(crate) fn new() -> Blocked {
        let mut all = MaybeUninit::uninit();
        // SAFETY: `all` is a valid place for a set.
        unsafe { libc::sigfillset(all.as_mut_ptr()) };
        let mut before = MaybeUninit::uninit();
        // SAFETY: both are valid places, and sigfillset has filled the first.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
        // SAFETY: with a known command and valid places the call does not fail, so it was filled.
        let before = unsafe { before.assume_init() };
        Blocked { before }
    }

    /// Returns the mask that the program has set, for the time of a wait.
    pub(crate) fn before(&self) -> &libc::sigset_t {
        &self.before
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the mask is a valid one: it was this thread's.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut());
        }
    }
}

/// Says whether a wait that a signal has ended starts again.
///
/// The system does not tell which signal it was. So the answer is that of all signals that are
/// caught and not blocked; if they differ, the wait counts as interrupted.
pub(crate) fn restarts(mask: &libc::sigset_t) -> bool {
    let mut flags = (1..=libc::SIGRTMAX()).filter_map(|signal| flags_if_caught(signal, mask));
    flags.all(|flags| flags & libc::SA_RESTART != 0)
}

fn flags_if_caught(signal: libc::c_int, mask: &libc::sigset_t) -> Option<libc::c_int> {
    // Faults end no wait; Rust's standard library catches some of them to report stack overflows.
    let faults = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGTRAP,
    ];
    // SAFETY: the mask is valid; an unknown signal is answered with -1.
    let blocked = unsafe { libc::sigismember(mask, signal) } != 0;
    if blocked || faults.contains(&signal) {
        return None;
    }
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action it only fills `action`, which is a valid place.
    if unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) } < 0 {
        return None;
    }
    // SAFETY: the call has succeeded, so it has filled the structure.
    let action = unsafe { action.assume_init() };
    let caught = action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN;
    caught.then_some(action.sa_flags)
}
