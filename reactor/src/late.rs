//! Entering a reactor only when it is needed, for executors: see [`put_off`].
//!
//! A future that is ready at its first poll mostly needs no reactor, so that who blocks on it need
//! not enter one. Not covered by the promises of this crate as to versions.

use crate::current;
use crate::reactor::Handle;
use std::cell::Cell;

thread_local! {
    /// Enters what this thread has put off to enter.
    static ENTER: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// Says that this thread will enter a reactor when it needs one: `enter` is called then, once, and
/// is to do so by [`replace_current`]; unless that is [taken back](take_back) before.
#[inline(always)]
pub fn put_off(enter: fn()) {
    ENTER.set(Some(enter));
}

/// Takes back what was put off; says whether it was still to be done.
#[inline(always)]
pub fn take_back() -> bool {
    ENTER.take().is_some()
}

/// Enters what was put off, if anything was.
#[inline(always)]
pub fn enter_if_put_off() {
    if ENTER.get().is_some() {
        enter_now();
    }
}

#[cold]
#[inline(never)]
fn enter_now() {
    if let Some(enter) = ENTER.take() {
        enter();
    }
}

/// Makes `reactor` the one that new waits of this thread go to, or none; returns the one before.
pub fn replace_current(reactor: Option<Handle>) -> Option<Handle> {
    current::replace(reactor.map(|handle| handle.0)).map(Handle)
}
