//! The functions that this library stands in front of: the next definition in link order, which is
//! the C library's or that of another preloaded library.

use std::ffi::{CStr, c_void};
use std::mem;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use libc::{c_int, c_uint};

/// A function by name, looked up once.
struct Next {
    name: &'static CStr,
    /// Null until looked up. Relaxed suffices: every look-up finds the same static code.
    address: AtomicPtr<c_void>,
}

impl Next {
    const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            address: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Gives the address; null only if no later library has the function.
    fn find(&self) -> *mut c_void {
        let known = self.address.load(Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name is a C string; RTLD_NEXT needs no handle.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.address.store(found, Relaxed);
        found
    }

    /// Gives the address of a function that every C library has.
    fn expect(&self) -> *mut c_void {
        let address = self.find();
        if address.is_null() {
            // Linked behind the C library instead of preloaded, it would stand in front of nothing.
            eprintln!(
                "kqueue emulation: no {:?} after this library; preload it",
                self.name
            );
            std::process::abort();
        }
        address
    }
}

static CLOSE: Next = Next::new(c"close");
static DUP: Next = Next::new(c"dup");
static DUP2: Next = Next::new(c"dup2");
static DUP3: Next = Next::new(c"dup3");
static FCNTL: Next = Next::new(c"fcntl");
static CLOSE_RANGE: Next = Next::new(c"close_range");

type Close = extern "C" fn(RawFd) -> c_int;
type Dup2 = extern "C" fn(RawFd, RawFd) -> c_int;
type Dup3 = extern "C" fn(RawFd, RawFd, c_int) -> c_int;
type Fcntl = unsafe extern "C" fn(RawFd, c_int, ...) -> c_int;
type CloseRange = extern "C" fn(c_uint, c_uint, c_int) -> c_int;

/// The real `close`.
pub(crate) fn close(fd: RawFd) -> c_int {
    // SAFETY: every C library on Linux has close, and this is its type.
    let close = unsafe { mem::transmute::<*mut c_void, Close>(CLOSE.expect()) };
    close(fd)
}

/// The real `dup`.
pub(crate) fn dup(fd: RawFd) -> c_int {
    // SAFETY: every C library on Linux has dup, whose type is that of close.
    let dup = unsafe { mem::transmute::<*mut c_void, Close>(DUP.expect()) };
    dup(fd)
}

/// The real `dup2`.
pub(crate) fn dup2(old: RawFd, new: RawFd) -> c_int {
    // SAFETY: every C library on Linux has dup2, and this is its type.
    let dup2 = unsafe { mem::transmute::<*mut c_void, Dup2>(DUP2.expect()) };
    dup2(old, new)
}

/// The real `dup3`.
pub(crate) fn dup3(old: RawFd, new: RawFd, flags: c_int) -> c_int {
    // SAFETY: every C library on Linux has dup3, and this is its type.
    let dup3 = unsafe { mem::transmute::<*mut c_void, Dup3>(DUP3.expect()) };
    dup3(old, new, flags)
}

/// The real `fcntl`, with an argument as wide as a pointer, which serves every command.
pub(crate) fn fcntl(fd: RawFd, command: c_int, argument: usize) -> c_int {
    // SAFETY: every C library on Linux has fcntl, and this is its type.
    let fcntl = unsafe { mem::transmute::<*mut c_void, Fcntl>(FCNTL.expect()) };
    // SAFETY: the argument is passed on as it came, so the caller's own obligations hold; commands
    // with an int take the low half of the register, those without do not look.
    unsafe { fcntl(fd, command, argument) }
}

/// The real `close_range`, or `ENOSYS` with a C library that has none.
pub(crate) fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    let address = CLOSE_RANGE.find();
    if address.is_null() {
        return super::fail(libc::ENOSYS);
    }
    // SAFETY: the address is not null, and this is the function's type.
    let close_range = unsafe { mem::transmute::<*mut c_void, CloseRange>(address) };
    close_range(first, last, flags)
}
