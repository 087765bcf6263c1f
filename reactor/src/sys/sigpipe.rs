//! What a write to a peer that is gone does to the process.

use super::check;
use std::io;

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
