//! The system calls of the tests that no safe crate of theirs has.

#![allow(unsafe_code, reason = "limits and signals are the C library's")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A thread that can be sent signals.
#[derive(Clone, Copy)]
pub(crate) struct Target(libc::pthread_t);

// SAFETY: a pthread_t is a name, an integer or a pointer that is only handed back to the system.
unsafe impl Send for Target {}
// SAFETY: as above.
unsafe impl Sync for Target {}

impl Target {
    /// Names the calling thread.
    pub(crate) fn this_thread() -> Self {
        // SAFETY: the call has no conditions.
        Self(unsafe { libc::pthread_self() })
    }

    /// Sends `signal` to the thread, which must not have ended.
    pub(crate) fn send(self, signal: libc::c_int) {
        // SAFETY: the callers see to it that the thread is alive, so that the name is valid.
        let sent = unsafe { libc::pthread_kill(self.0, signal) };
        assert_eq!(sent, 0);
    }
}

/// Has `action` run at each arrival of `signal`, for the rest of the process's life.
///
/// `action` may only do what a signal handler may: atomic operations and write(2).
pub(crate) fn on_signal(signal: libc::c_int, action: impl Fn() + Send + Sync + 'static) {
    // SAFETY: the callers pass actions that are async-signal-safe, as the comment above demands.
    unsafe { signal_hook_registry::register(signal, action) }.unwrap();
    interrupt_calls(signal);
}

/// Has `signal` interrupt calls also where a wait would start again, with its whole timeout.
fn interrupt_calls(signal: libc::c_int) {
    // SAFETY: a sigaction is numbers and pointers that may be null, for which zeroes are values.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes a sigaction to the space for one.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    assert_eq!(asked, 0);
    action.sa_flags &= !libc::SA_RESTART;
    // SAFETY: what is set is what is set already, but for one flag.
    let set = unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
    assert_eq!(set, 0);
}

/// Runs `body` while this thread is interrupted by `signal` a thousand times a second.
pub(crate) fn interrupted_by<R>(signal: libc::c_int, body: impl FnOnce() -> R) -> R {
    let target = Target::this_thread();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                // The scope keeps the target alive until this thread has ended.
                target.send(signal);
                thread::sleep(Duration::from_millis(1));
            }
        });
        let result = body();
        done.store(true, Ordering::SeqCst);
        result
    })
}

/// Sends `signal` to the calling thread, which has handled it when this returns.
pub(crate) fn raise(signal: libc::c_int) {
    Target::this_thread().send(signal);
}
