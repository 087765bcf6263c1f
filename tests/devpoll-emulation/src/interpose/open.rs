//! The functions that open: `/dev/poll` is the emulation's, everything else the system's.

use super::answer;
use crate::{device, next};
use libc::{c_char, c_int, c_uint};
use std::ffi::CStr;

/// Opens the device if that is what the path names, or calls `otherwise`.
///
/// # Safety
///
/// - `path` must be null or end with a null byte.
unsafe fn open_device_or(
    path: *const c_char,
    flags: c_int,
    otherwise: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: it is not null, and the caller says that it ends with a null byte.
    if !path.is_null() && unsafe { CStr::from_ptr(path) } == c"/dev/poll" {
        return answer(device::open(flags));
    }
    otherwise()
}

/// Defines the functions that take no folder.
macro_rules! open_functions {
    ($($name:ident($($mode:ident)?) = $next:ident;)*) => {
        $(
            /// Stands in front of the function of this name.
            ///
            /// # Safety
            ///
            /// - As for the C library's function.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            unsafe extern "C" fn $name(
                path: *const c_char,
                flags: c_int,
                $($mode: c_uint)?
            ) -> c_int {
                let mode = [0, $($mode)?].into_iter().next_back().unwrap_or(0);
                // SAFETY: the arguments are the caller's.
                let otherwise = || unsafe { next::$next(path, flags, mode) };
                // SAFETY: the caller gives a path.
                unsafe { open_device_or(path, flags, otherwise) }
            }
        )*
    };
}

open_functions! {
    open(mode) = open;
    open64(mode) = open64;
    // What the C library's headers call under _FORTIFY_SOURCE.
    __open_2() = open;
    __open64_2() = open64;
}

/// Stands in front of the function of this name.
///
/// # Safety
///
/// - As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn openat(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> c_int {
    // SAFETY: the arguments are the caller's.
    let otherwise = || unsafe { next::openat(folder, path, flags, mode) };
    // SAFETY: the caller gives a path.
    unsafe { open_device_or(path, flags, otherwise) }
}

/// Stands in front of the function of this name.
///
/// # Safety
///
/// - As for the C library's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn openat64(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> c_int {
    // SAFETY: the arguments are the caller's.
    let otherwise = || unsafe { next::openat64(folder, path, flags, mode) };
    // SAFETY: the caller gives a path.
    unsafe { open_device_or(path, flags, otherwise) }
}
