//! What a write to a peer that is gone does to the process.
//!
//! send(2) has a flag that has it be an error and nothing else; write(2) to a pipe, sendfile(2) and
//! splice(2) have none. There the signal is held back from the thread for the length of the call,
//! and taken away if the call has raised it. Where the signal goes to the process instead of the
//! thread (Apple's systems, NetBSD), the open file is told not to raise it.

use super::check;
use std::io;
use std::os::fd::BorrowedFd;

/// Says whether SIGPIPE is ignored, as it is in a Rust program that has not changed it.
///
/// splice(2) has no flag to leave it out, as send(2) has: who splices to a socket must know.
///
/// # Errors
///
/// What the system says; none is known.
pub fn is_ignored() -> io::Result<bool> {
    // SAFETY: a sigaction is integers, a set of bits and an optional pointer to a function, for all
    // of which zeroes are a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: no action is given, so that nothing changes; the other pointer is to a sigaction that
    // lives over the call.
    check(unsafe { libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut action) })?;
    Ok(action.sa_sigaction == libc::SIG_IGN)
}

/// Runs `write`, which writes to `fd`: if nobody is there to read, that is an error (`BrokenPipe`),
/// whatever the program has SIGPIPE do.
///
/// It costs a system call where the signal is ignored, as in most programs, else some more.
///
/// # Errors
///
/// Those of `write`.
pub fn without_signal<R>(
    fd: BorrowedFd<'_>,
    write: impl FnOnce() -> io::Result<R>,
) -> io::Result<R> {
    if is_ignored()? {
        return write();
    }
    let held = held_back::HeldBack::begin(fd)?;
    let written = write();
    // Also after a success: a write that has waited may have raised it and yet taken some bytes.
    held.take_away();
    written
}

#[cfg(not(any(target_vendor = "apple", target_os = "netbsd")))]
mod held_back {
    use super::super::check;
    use std::io;
    use std::marker::PhantomData;
    use std::os::fd::BorrowedFd;

    /// Holds SIGPIPE back from this thread until it is dropped.
    pub(super) struct HeldBack {
        /// What is held back otherwise.
        before: libc::sigset_t,
        /// One was there already, which is not ours.
        pends: bool,
        /// It is of the thread.
        _here: PhantomData<*const ()>,
    }

    impl HeldBack {
        pub(super) fn begin(_: BorrowedFd<'_>) -> io::Result<Self> {
            let mut before = no_signals();
            let only = only_pipe();
            // SAFETY: both pointers are to sets that live over the call.
            let failed =
                unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const only, &raw mut before) };
            if failed != 0 {
                return Err(io::Error::from_raw_os_error(failed));
            }
            // One that wasn't held back can't be pending.
            let pends = contains_pipe(&before) && is_pending();
            Ok(Self {
                before,
                pends,
                _here: PhantomData,
            })
        }

        /// Takes away the signal that a write has raised.
        pub(super) fn take_away(&self) {
            if self.pends || !is_pending() {
                return;
            }
            let (only, mut signal) = (only_pipe(), 0);
            // SAFETY: both pointers are to variables of this function. It does not wait, as the
            // signal is there, and for this thread alone.
            unsafe { libc::sigwait(&raw const only, &raw mut signal) };
        }
    }

    impl Drop for HeldBack {
        fn drop(&mut self) {
            let before = &raw const self.before;
            // SAFETY: the pointer is to a set that lives over the call; nothing is asked for.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
        }
    }

    fn no_signals() -> libc::sigset_t {
        // SAFETY: a set of signals is integers, for which zeroes are a value.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a set that lives over the call.
        unsafe { libc::sigemptyset(&raw mut set) };
        set
    }

    fn only_pipe() -> libc::sigset_t {
        let mut set = no_signals();
        // SAFETY: as above; the number is that of a signal.
        unsafe { libc::sigaddset(&raw mut set, libc::SIGPIPE) };
        set
    }

    fn contains_pipe(set: &libc::sigset_t) -> bool {
        // SAFETY: the pointer is to a set that was initialized; the number is that of a signal.
        unsafe { libc::sigismember(std::ptr::from_ref(set), libc::SIGPIPE) == 1 }
    }

    fn is_pending() -> bool {
        let mut set = no_signals();
        // SAFETY: the pointer is to a set that lives over the call.
        check(unsafe { libc::sigpending(&raw mut set) }).is_ok() && contains_pipe(&set)
    }
}

#[cfg(any(target_vendor = "apple", target_os = "netbsd"))]
mod held_back {
    use super::super::check;
    use std::io;
    use std::os::fd::{AsRawFd, BorrowedFd};

    /// Stands for an open file that raises no signal any more, for none of those who share it.
    pub(super) struct HeldBack;

    impl HeldBack {
        pub(super) fn begin(fd: BorrowedFd<'_>) -> io::Result<Self> {
            // SAFETY: the call takes no pointer.
            check(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETNOSIGPIPE, 1) })?;
            Ok(Self)
        }

        pub(super) fn take_away(&self) {}
    }
}
