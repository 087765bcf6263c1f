//! The system calls that the emulation itself makes.
//!
//! Whatever this library interposes is called through [`next`], never by its own name: the
//! interposed functions take the table's lock, which the caller usually holds.

pub(crate) mod next;
pub(crate) mod probe;
pub(crate) mod set;
pub(crate) mod signals;

use std::ffi::CStr;
use std::os::fd::RawFd;

use libc::c_int;

/// An error number.
pub(crate) type Errno = c_int;

/// A descriptor of the emulation's own, at a high number so that the program's are undisturbed.
#[derive(Debug)]
pub(crate) struct Descriptor(RawFd);

impl Descriptor {
    /// Takes over a descriptor that a system call has just made, moving it to a high number.
    fn adopt_high(fd: RawFd) -> Result<Self, Errno> {
        let low = Self(check(fd)?);
        low.duplicate_high()
    }

    /// Makes another name of the same file at a high number, closed on exec.
    pub(crate) fn duplicate_high(&self) -> Result<Self, Errno> {
        duplicate_high(self.0)
    }

    /// Gives the number.
    pub(crate) fn number(&self) -> RawFd {
        self.0
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        next::close(self.0);
    }
}

/// Makes another name of `fd` at a high number, closed on exec.
pub(crate) fn duplicate_high(fd: RawFd) -> Result<Descriptor, Errno> {
    let high = next::fcntl(fd, libc::F_DUPFD_CLOEXEC, high_base());
    let copy = if high >= 0 {
        high
    } else {
        next::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3)
    };
    check(copy).map(Descriptor)
}

/// Chooses where the emulation's own numbers begin: far above what a test opens, below the limit.
fn high_base() -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a live rlimit for the call to fill.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    usize::try_from(limit.rlim_cur / 4 * 3)
        .unwrap_or(usize::MAX)
        .min(1 << 19)
}

/// Turns the result of a system call into its value or `errno`.
pub(crate) fn check(result: c_int) -> Result<c_int, Errno> {
    if result < 0 { Err(errno()) } else { Ok(result) }
}

/// Reads this thread's `errno`.
pub(crate) fn errno() -> Errno {
    // SAFETY: the location is this thread's own and always valid.
    let location = unsafe { libc::__errno_location() };
    // SAFETY: as above; nobody else writes it meanwhile.
    unsafe { *location }
}

/// Sets this thread's `errno`.
pub(crate) fn set_errno(error: Errno) {
    // SAFETY: the location is this thread's own and always valid.
    let location = unsafe { libc::__errno_location() };
    // SAFETY: as above; nobody else reads it meanwhile.
    unsafe { *location = error };
}

/// Sets `errno` and gives the -1 that goes with it.
pub(crate) fn fail(error: Errno) -> c_int {
    set_errno(error);
    -1
}

/// Gives the number of this process.
pub(crate) fn process() -> libc::pid_t {
    // SAFETY: getpid has no conditions.
    unsafe { libc::getpid() }
}

/// Reads the monotonic clock, in nanoseconds.
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a live timespec for the call to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    // The monotonic clock is never negative.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Appends to a file, which is made if need be; failing to is printed, as it would hide breaches.
pub(crate) fn append(path: &CStr, bytes: &[u8]) {
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
    // SAFETY: the path is a C string that lives through the call; the mode goes with O_CREAT.
    let fd = unsafe { libc::open(path.as_ptr(), flags, 0o644) };
    // SAFETY: the pointer and length are those of a live slice; a bad number only fails.
    let written = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    if usize::try_from(written) != Ok(bytes.len()) {
        eprintln!("kqueue emulation: cannot append to {path:?}");
    }
    if fd >= 0 {
        next::close(fd);
    }
}

/// Asks for `function` to be called when the process ends.
pub(crate) fn at_exit(function: extern "C" fn()) {
    // SAFETY: the function is static code that needs nothing but statics.
    unsafe { libc::atexit(function) };
}

/// Asks for functions to be called around every fork: before, after in the parent, in the child.
pub(crate) fn at_fork(
    before: unsafe extern "C" fn(),
    parent: unsafe extern "C" fn(),
    child: unsafe extern "C" fn(),
) {
    // SAFETY: the functions are static code that needs nothing but statics.
    unsafe { libc::pthread_atfork(Some(before), Some(parent), Some(child)) };
}
