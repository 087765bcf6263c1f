//! kqueue on Linux, for tests: by a library that the program was started with.
//!
//! The structure is that of FreeBSD 11 and macOS, the numbers are those of FreeBSD. The functions
//! are looked up by name when the first queue is made, so that any library will do, and without one
//! the mechanism is merely not there.

#![allow(non_camel_case_types, reason = "these are the names of C")]

use libc::{c_int, c_void, timespec};
use std::ffi::CStr;
use std::sync::OnceLock;

/// The type of a filter's number.
pub(super) type FilterNumber = i16;
/// The type of the flags.
pub(crate) type FlagBits = u16;
/// The type of the lengths of the lists.
pub(super) type Count = c_int;

/// One change, receipt or event.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct kevent {
    pub(super) ident: usize,
    pub(super) filter: FilterNumber,
    pub(super) flags: FlagBits,
    pub(super) fflags: u32,
    pub(super) data: isize,
    pub(super) udata: *mut c_void,
}

const _: () = assert!(size_of::<kevent>() == 16 + 2 * size_of::<usize>() || size_of::<usize>() < 8);

pub(super) const EVFILT_READ: FilterNumber = -1;
pub(super) const EVFILT_WRITE: FilterNumber = -2;
pub(super) const EVFILT_USER: FilterNumber = -11;
/// The filter of urgent data: FreeBSD has none.
pub(super) const EXCEPT: Option<(FilterNumber, u32)> = None;

pub(crate) const EV_ADD: FlagBits = 0x0001;
pub(crate) const EV_DELETE: FlagBits = 0x0002;
pub(crate) const EV_ENABLE: FlagBits = 0x0004;
pub(crate) const EV_CLEAR: FlagBits = 0x0020;
pub(crate) const EV_RECEIPT: FlagBits = 0x0040;
pub(crate) const EV_DISPATCH: FlagBits = 0x0080;
pub(crate) const EV_ERROR: FlagBits = 0x4000;
pub(crate) const EV_EOF: FlagBits = 0x8000;
pub(crate) const NOTE_TRIGGER: u32 = 0x0100_0000;

type KqueueCall = unsafe extern "C" fn() -> c_int;
type KeventCall =
    unsafe extern "C" fn(c_int, *const kevent, c_int, *mut kevent, c_int, *const timespec) -> c_int;

/// The library's functions.
struct Functions {
    kqueue: KqueueCall,
    kevent: KeventCall,
}

fn functions() -> Option<&'static Functions> {
    static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();
    FUNCTIONS.get_or_init(look_up).as_ref()
}

fn look_up() -> Option<Functions> {
    let (kqueue, kevent) = (find(c"kqueue")?, find(c"kevent")?);
    Some(Functions {
        // SAFETY: a function of this name has this signature wherever there is one.
        kqueue: unsafe { std::mem::transmute::<*mut c_void, KqueueCall>(kqueue) },
        // SAFETY: likewise.
        kevent: unsafe { std::mem::transmute::<*mut c_void, KeventCall>(kevent) },
    })
}

fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a string of C; RTLD_DEFAULT needs no handle.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Fails as a system does that does not have the call.
fn not_there() -> c_int {
    // SAFETY: the call has no conditions.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: the pointer is that of this thread's errno, an integer.
    unsafe { *errno = libc::ENOSYS };
    -1
}

pub(super) fn kqueue() -> c_int {
    match functions() {
        // SAFETY: the call has no conditions.
        Some(functions) => unsafe { (functions.kqueue)() },
        None => not_there(),
    }
}

/// Calls `kevent`.
///
/// # Safety
///
/// As for kevent(2): each list has as many entries as its count says, the second may be written to,
/// and the timeout is null or a valid one.
pub(super) unsafe fn kevent_call(
    queue: c_int,
    changes: *const kevent,
    change_count: Count,
    events: *mut kevent,
    event_count: Count,
    timeout: *const timespec,
) -> c_int {
    match functions() {
        // SAFETY: the caller keeps to the conditions, which are those of the function.
        Some(functions) => unsafe {
            (functions.kevent)(queue, changes, change_count, events, event_count, timeout)
        },
        None => not_there(),
    }
}
