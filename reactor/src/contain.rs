//! Keeps the panics of somebody else's code where they belong. For the crates of windlass; not a part
//! of what versions promise.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls code that isn't ours, whose panic goes no further; it was reported by the hook by then.
#[inline]
pub fn contain(code: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(code)) {
        discard(|| drop(payload));
    }
}

/// Drops what was panicked with, which may have a destructor that panics as well.
#[cold]
fn discard(drop_it: impl FnOnce()) {
    // After the second panic in a row, what it carries is leaked; there is nothing better to do.
    let _ = catch_unwind(AssertUnwindSafe(drop_it)).map_err(std::mem::forget);
}
