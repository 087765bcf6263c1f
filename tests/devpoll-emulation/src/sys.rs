//! The system calls that the emulation itself needs, as safe functions.
//!
//! None of them goes through a function that this library stands in front of.

use crate::abi::FileKind;
use crate::next;
use libc::{c_int, c_short, c_void};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::ptr;
use std::time::Duration;

/// An error of the system, as it goes into `errno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) c_int);

/// Returns the number that a system call answered, or its error.
fn checked(answer: c_int) -> Result<c_int, Errno> {
    if answer < 0 {
        Err(Errno(next::errno()))
    } else {
        Ok(answer)
    }
}

/// Returns this process's id.
pub(crate) fn process() -> i32 {
    // SAFETY: takes no argument and cannot fail.
    unsafe { libc::getpid() }
}

/// Says whether there is a file behind the number.
pub(crate) fn is_open(fd: RawFd) -> bool {
    // SAFETY: F_GETFD takes no argument; any number may be asked for.
    unsafe { next::fcntl(fd, libc::F_GETFD, ptr::null_mut()) >= 0 }
}

/// Returns how many descriptors the process may have now.
pub(crate) fn descriptor_limit() -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid place for the answer.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    if answer < 0 {
        usize::MAX
    } else {
        usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
    }
}

/// Makes the descriptor that stands for a device: a memory file.
pub(crate) fn memory_file(close_on_exec: bool) -> Result<RawFd, Errno> {
    let flags = if close_on_exec { libc::MFD_CLOEXEC } else { 0 };
    // SAFETY: the name ends with a null byte.
    checked(unsafe { libc::memfd_create(c"dev-poll".as_ptr(), flags) })
}

/// Makes the descriptor that ends a wait, out of the way of the program's own numbers.
pub(crate) fn event_counter() -> Result<RawFd, Errno> {
    // Without EFD_CLOEXEC, which the name with the high number has, so that a filter of system calls
    // can tell it from what a program under test asks for.
    // SAFETY: takes numbers only.
    let low = checked(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK) })?;
    let from = (descriptor_limit() / 8 * 7).min(960);
    // SAFETY: F_DUPFD_CLOEXEC takes a number as its argument.
    let high = unsafe {
        next::fcntl(
            low,
            libc::F_DUPFD_CLOEXEC,
            ptr::without_provenance_mut(from),
        )
    };
    if high < 0 {
        return Ok(low);
    }
    close(low);
    Ok(high)
}

/// Adds one to an event counter, which makes it readable.
pub(crate) fn raise(counter: RawFd) {
    let one = 1_u64.to_ne_bytes();
    // SAFETY: the data are valid for their length. It fails only if the counter is raised already.
    unsafe { next::write(counter, one.as_ptr().cast(), one.len()) };
}

/// Sets an event counter to zero.
pub(crate) fn lower(counter: RawFd) {
    let mut count = [0_u8; 8];
    // SAFETY: the place is valid for its length. It fails only if the counter is zero already.
    unsafe { next::read(counter, count.as_mut_ptr().cast(), count.len()) };
}

/// Closes a descriptor of the emulation's own.
pub(crate) fn close(fd: RawFd) {
    // SAFETY: the caller owns the descriptor; nothing else uses its number.
    unsafe { next::close(fd) };
}

/// Reads the process id that a device's memory file holds; 0 if it holds none.
pub(crate) fn stored_process(file: RawFd) -> i32 {
    let mut id = [0_u8; 4];
    // SAFETY: the place is valid for its length.
    let size = unsafe { next::pread64(file, id.as_mut_ptr().cast(), id.len(), 0) };
    if size == 4 { i32::from_ne_bytes(id) } else { 0 }
}

/// Stores a process id in a device's memory file, which a forked process shares.
pub(crate) fn store_process(file: RawFd, process: i32) {
    let id = process.to_ne_bytes();
    // SAFETY: the data are valid for their length.
    unsafe { next::pwrite64(file, id.as_ptr().cast(), id.len(), 0) };
}

/// Finds out whether a descriptor is a pipe's, and which end.
pub(crate) fn file_kind(fd: RawFd) -> FileKind {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `status` is a valid place for the answer.
    if unsafe { libc::fstat(fd, status.as_mut_ptr()) } < 0 {
        return FileKind::Other;
    }
    // SAFETY: fstat has succeeded, so it has filled the structure.
    let mode = unsafe { status.assume_init() }.st_mode;
    if mode & libc::S_IFMT != libc::S_IFIFO {
        return FileKind::Other;
    }
    // SAFETY: F_GETFL takes no argument.
    let flags = unsafe { next::fcntl(fd, libc::F_GETFL, ptr::null_mut()) };
    match flags & libc::O_ACCMODE {
        libc::O_RDONLY => FileKind::PipeReader,
        _ => FileKind::PipeWriter,
    }
}

/// Makes an entry for [`poll_now`] and [`poll_wait`].
pub(crate) fn poll_entry(fd: RawFd, events: c_short) -> libc::pollfd {
    libc::pollfd {
        fd,
        events,
        revents: 0,
    }
}

/// Looks at all entries without waiting.
pub(crate) fn poll_now(entries: &mut [libc::pollfd]) {
    // poll(2) takes no more entries than there may be descriptors, and the limit may be lowered.
    for part in entries.chunks_mut(descriptor_limit().max(1)) {
        // SAFETY: the entries are valid for their number.
        unsafe { next::poll(part.as_mut_ptr(), part.len() as libc::nfds_t, 0) };
    }
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// Something may be ready, or the time is over: look.
    Look,
    /// A signal was caught.
    Signal,
}

/// Waits until an entry is ready or a signal that `mask` lets through is caught; without a
/// timeout for ever.
///
/// It may end early, so that its caller has to look at the clock.
pub(crate) fn poll_wait(
    entries: &mut [libc::pollfd],
    timeout: Option<Duration>,
    mask: &libc::sigset_t,
) -> Woken {
    let limit = descriptor_limit().max(1);
    let (entries, timeout) = if entries.len() > limit {
        // They don't fit into one call: wait a little on some, then the caller looks at all.
        let slice = Duration::from_millis(5);
        (
            &mut entries[..limit],
            Some(timeout.map_or(slice, |timeout| timeout.min(slice))),
        )
    } else {
        (entries, timeout)
    };
    let time = timeout.map(|timeout| libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: entries, time (or null) and mask are valid for the call.
    let answer = unsafe {
        next::ppoll(
            entries.as_mut_ptr(),
            entries.len() as libc::nfds_t,
            time,
            mask,
        )
    };
    if answer < 0 && next::errno() == libc::EINTR {
        Woken::Signal
    } else {
        Woken::Look
    }
}

/// Appends a line to a file, which is opened for that only; says whether it could.
///
/// One write, so that lines of several processes don't mix.
pub(crate) fn append_line(path: &CStr, line: &str) -> bool {
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
    // SAFETY: the path ends with a null byte.
    let file = unsafe { next::open(path.as_ptr(), flags, 0o644) };
    if file < 0 {
        return false;
    }
    let whole = write_line(file, line);
    close(file);
    whole
}

/// Writes a line to standard error.
pub(crate) fn complain(line: &str) {
    write_line(libc::STDERR_FILENO, line);
}

fn write_line(file: RawFd, line: &str) -> bool {
    let line = format!("{line}\n");
    let data = line.as_ptr().cast::<c_void>();
    // SAFETY: the data are valid for their length.
    let size = unsafe { next::write(file, data, line.len()) };
    usize::try_from(size) == Ok(line.len())
}
