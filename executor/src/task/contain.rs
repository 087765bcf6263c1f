//! Keeps the panics of foreign code where they belong.
//!
//! Futures, outputs and wakers are the user's, and any call into them may panic: polls, wakes and
//! also destructors. None of these panics may leave a task half ended or reach a thread that only
//! happened to be there.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Calls foreign code, and hands back its panic instead of letting it pass.
///
/// The caller sees to it that nothing half done by the code is used after a panic.
#[inline(always)]
pub(crate) fn contain<R>(code: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(code))
}

/// Drops what is the user's; a panic of its destructor goes no further.
#[inline]
pub(crate) fn discard<T>(value: T) {
    if mem::needs_drop::<T>() {
        discard_panic(contain(|| drop(value)));
    }
}

/// Drops a contained panic, whose payload may have a destructor that panics as well.
#[inline]
pub(crate) fn discard_panic(result: Result<(), Payload>) {
    if let Err(payload) = result {
        // After the second panic in a row the payload is leaked; there is nothing better to do.
        let _ = contain(|| drop(payload)).map_err(mem::forget);
    }
}
