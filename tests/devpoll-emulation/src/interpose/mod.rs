//! The C functions that this library stands in front of.
//!
//! Each looks whether a device is meant and otherwise calls the next one of its name. Those that
//! take a variable number of arguments in C are declared with a fixed one: the calling conventions
//! of Linux pass the first few alike, and one that the program did not give is passed on unread.
//!
//! In the unit tests of this crate they keep their Rust names, so as not to stand in front of
//! anything.

mod close;
mod duplicate;
mod open;
mod poll;
mod report;
mod request;
mod transfer;

pub use report::{
    devpoll_emulation_counters, devpoll_emulation_reset, devpoll_emulation_violations,
};

use crate::next::set_errno;
use crate::sys::Errno;

/// Answers as C functions do: the value, or -1 and `errno`.
fn answer<T: From<i8>>(outcome: Result<T, Errno>) -> T {
    outcome.unwrap_or_else(|Errno(errno)| {
        set_errno(errno);
        T::from(-1)
    })
}
