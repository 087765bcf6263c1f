//! Noticing fork(2), by way of `pthread_atfork`.
//!
//! getpid(2) is a system call each time; this is a look at memory. What escapes it is a child made
//! by the bare system call, which runs no handlers; and vfork(2), whose child may only exec.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// Counts the forks between this process and the one that first looked; never zero, but after four
/// thousand million of them.
static GENERATION: AtomicU32 = AtomicU32::new(1);

/// Has forks noticed from now on.
pub(crate) fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: the handler runs in the child, before fork returns there, and only adds to an
        // atomic: that is allowed also in a child of a process with several threads.
        let failed = unsafe { libc::pthread_atfork(None, None, Some(note_child)) };
        // It can only fail for want of memory, where Rust gives up, too.
        assert_eq!(failed, 0, "pthread_atfork has failed");
    });
}

extern "C" fn note_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Returns what is another number in a forked child than in its parent.
#[inline(always)]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}
