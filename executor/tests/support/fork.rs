//! Child processes that are copies of this one.

#![allow(unsafe_code, reason = "fork is unsafe where there are threads")]
#![allow(dead_code, reason = "each test uses a part of it")]

use std::panic::{AssertUnwindSafe, catch_unwind};

/// The longest that a child may take, in seconds.
const LIMIT: libc::c_uint = 60;

/// Runs `body` in a forked child, which has no thread but this one; fails if it panics or hangs.
#[track_caller]
pub(crate) fn in_child(body: impl FnOnce()) {
    beside_child(body, || ());
}

/// Runs `body` in a forked child as [`in_child`] does, and `parent` meanwhile.
#[track_caller]
pub(crate) fn beside_child(body: impl FnOnce(), parent: impl FnOnce()) {
    // SAFETY: the child is the copy of a process in which other threads do nothing at the moment but
    // wait, so that they hold no lock, as that of the allocator, which the child needs.
    let child = unsafe { libc::fork() };
    assert_ne!(child, -1);
    if child == 0 {
        // SAFETY: the call has no conditions. Its signal ends a child that hangs.
        unsafe { libc::alarm(LIMIT) };
        let code = i32::from(catch_unwind(AssertUnwindSafe(body)).is_err());
        // SAFETY: the call has no conditions. The test itself must not go on in the child.
        unsafe { libc::_exit(code) };
    }
    parent();
    let mut status = 0;
    // SAFETY: the call writes to the space for one status.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(waited, child);
    assert_eq!(status, 0, "what has failed is printed above");
}

/// Sends a signal to this process.
pub(crate) fn kill_self(signal: libc::c_int) {
    // SAFETY: the call has no conditions.
    let process = unsafe { libc::getpid() };
    // SAFETY: the call has no conditions.
    let sent = unsafe { libc::kill(process, signal) };
    assert_eq!(sent, 0);
}

/// Sends a signal to this thread, which has handled it when this returns.
pub(crate) fn raise(signal: libc::c_int) {
    // SAFETY: the call has no conditions.
    let sent = unsafe { libc::raise(signal) };
    assert_eq!(sent, 0);
}
