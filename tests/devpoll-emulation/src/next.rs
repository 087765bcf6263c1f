//! The C library's own functions: those that ours stand in front of.
//!
//! Found with `dlsym(RTLD_NEXT)`, so that a library preloaded behind this one is asked, too. None
//! of these functions takes a lock or allocates once its address is known, and all addresses are
//! looked up when the library is loaded; so they may be called from signal handlers.

use libc::{c_char, c_int, c_uint, c_ulong, c_void, iovec, off_t, size_t, ssize_t};
use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// A function that comes after ours in the order of look-up.
struct Next {
    symbol: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Next {
    const fn new(symbol: &'static CStr) -> Next {
        Next {
            symbol,
            address: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Returns the address; every thread that looks it up finds the same one.
    fn address(&self) -> *mut c_void {
        let known = self.address.load(Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the symbol ends with a null byte, and RTLD_NEXT is a handle that dlsym knows.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.symbol.as_ptr()) };
        self.address.store(found, Relaxed);
        found
    }
}

/// Defines a wrapper for each function, and one function that looks all of them up.
macro_rules! next {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) -> $result:ty = $signature:ty;)*) => {
        $(
            /// Calls the C library's function of this name.
            ///
            /// # Safety
            ///
            /// - The arguments must be as that function wants them.
            pub(crate) unsafe fn $name($($argument: $kind),*) -> $result {
                let address = table::$name.address();
                if address.is_null() {
                    set_errno(libc::ENOSYS);
                    return -1;
                }
                // SAFETY: the C library declares the function of this name with this signature.
                let function = unsafe { std::mem::transmute::<*mut c_void, $signature>(address) };
                // SAFETY: the caller has seen to the arguments.
                unsafe { function($($argument),*) }
            }
        )*

        /// Looks up all functions, so that no later call has to.
        pub(crate) fn look_up_all() {
            $(table::$name.address();)*
        }

        #[expect(non_upper_case_globals, reason = "named after the functions")]
        mod table {
            use super::Next;
            $(
                pub(super) static $name: Next = Next::new(
                    match std::ffi::CStr::from_bytes_with_nul(
                        concat!(stringify!($name), "\0").as_bytes(),
                    ) {
                        Ok(symbol) => symbol,
                        Err(_) => panic!("a name has no null byte inside"),
                    },
                );
            )*
        }
    };
}

next! {
    fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int
        = unsafe extern "C" fn(*const c_char, c_int, ...) -> c_int;
    fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int
        = unsafe extern "C" fn(*const c_char, c_int, ...) -> c_int;
    fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int
        = unsafe extern "C" fn(c_int, *const c_char, c_int, ...) -> c_int;
    fn openat64(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int
        = unsafe extern "C" fn(c_int, *const c_char, c_int, ...) -> c_int;
    fn write(fd: c_int, data: *const c_void, size: size_t) -> ssize_t
        = unsafe extern "C" fn(c_int, *const c_void, size_t) -> ssize_t;
    fn pwrite(fd: c_int, data: *const c_void, size: size_t, offset: off_t) -> ssize_t
        = unsafe extern "C" fn(c_int, *const c_void, size_t, off_t) -> ssize_t;
    fn pwrite64(fd: c_int, data: *const c_void, size: size_t, offset: i64) -> ssize_t
        = unsafe extern "C" fn(c_int, *const c_void, size_t, i64) -> ssize_t;
    fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t
        = unsafe extern "C" fn(c_int, *const iovec, c_int) -> ssize_t;
    fn pwritev(fd: c_int, parts: *const iovec, count: c_int, offset: off_t) -> ssize_t
        = unsafe extern "C" fn(c_int, *const iovec, c_int, off_t) -> ssize_t;
    fn pwritev64(fd: c_int, parts: *const iovec, count: c_int, offset: i64) -> ssize_t
        = unsafe extern "C" fn(c_int, *const iovec, c_int, i64) -> ssize_t;
    fn read(fd: c_int, data: *mut c_void, size: size_t) -> ssize_t
        = unsafe extern "C" fn(c_int, *mut c_void, size_t) -> ssize_t;
    fn readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t
        = unsafe extern "C" fn(c_int, *const iovec, c_int) -> ssize_t;
    fn pread(fd: c_int, data: *mut c_void, size: size_t, offset: off_t) -> ssize_t
        = unsafe extern "C" fn(c_int, *mut c_void, size_t, off_t) -> ssize_t;
    fn pread64(fd: c_int, data: *mut c_void, size: size_t, offset: i64) -> ssize_t
        = unsafe extern "C" fn(c_int, *mut c_void, size_t, i64) -> ssize_t;
    fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int
        = unsafe extern "C" fn(c_int, c_ulong, ...) -> c_int;
    fn close(fd: c_int) -> c_int = unsafe extern "C" fn(c_int) -> c_int;
    fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int
        = unsafe extern "C" fn(c_uint, c_uint, c_int) -> c_int;
    fn dup(fd: c_int) -> c_int = unsafe extern "C" fn(c_int) -> c_int;
    fn dup2(from: c_int, to: c_int) -> c_int = unsafe extern "C" fn(c_int, c_int) -> c_int;
    fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int
        = unsafe extern "C" fn(c_int, c_int, c_int) -> c_int;
    fn fcntl(fd: c_int, command: c_int, argument: *mut c_void) -> c_int
        = unsafe extern "C" fn(c_int, c_int, ...) -> c_int;
    fn fcntl64(fd: c_int, command: c_int, argument: *mut c_void) -> c_int
        = unsafe extern "C" fn(c_int, c_int, ...) -> c_int;
    fn poll(entries: *mut libc::pollfd, count: libc::nfds_t, timeout: c_int) -> c_int
        = unsafe extern "C" fn(*mut libc::pollfd, libc::nfds_t, c_int) -> c_int;
    fn ppoll(
        entries: *mut libc::pollfd,
        count: libc::nfds_t,
        timeout: *const libc::timespec,
        mask: *const libc::sigset_t
    ) -> c_int
        = unsafe extern "C" fn(
            *mut libc::pollfd,
            libc::nfds_t,
            *const libc::timespec,
            *const libc::sigset_t,
        ) -> c_int;
    fn epoll_ctl(epoll: c_int, operation: c_int, fd: c_int, event: *mut libc::epoll_event) -> c_int
        = unsafe extern "C" fn(c_int, c_int, c_int, *mut libc::epoll_event) -> c_int;
    fn select(
        count: c_int,
        reading: *mut libc::fd_set,
        writing: *mut libc::fd_set,
        exceptional: *mut libc::fd_set,
        timeout: *mut libc::timeval
    ) -> c_int
        = unsafe extern "C" fn(
            c_int,
            *mut libc::fd_set,
            *mut libc::fd_set,
            *mut libc::fd_set,
            *mut libc::timeval,
        ) -> c_int;
}

/// Returns `errno` of this thread.
pub(crate) fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Sets `errno` of this thread.
pub(crate) fn set_errno(errno: c_int) {
    // SAFETY: takes no argument.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the C library returns a place of this thread that is valid for its life.
    unsafe { *place = errno };
}
