//! epoll(7), Linux.

use super::{check, milliseconds, retry, timespec};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) use libc::{
    EPOLLERR, EPOLLET, EPOLLHUP, EPOLLIN, EPOLLONESHOT, EPOLLOUT, EPOLLPRI, EPOLLRDHUP, epoll_event,
};

/// What to do with an entry of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Puts a descriptor into the set.
    Add,
    /// Replaces the events and the data of a descriptor that is in the set.
    Modify,
}

/// Makes a new, empty set that is closed on exec.
pub(crate) fn create() -> io::Result<OwnedFd> {
    // SAFETY: the call takes no pointer.
    let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
    // SAFETY: the kernel has just made this descriptor for us; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Adds or changes the entry of `fd`.
pub(crate) fn control(
    set: BorrowedFd<'_>,
    change: Change,
    fd: RawFd,
    events: i32,
    data: u64,
) -> io::Result<()> {
    let operation = match change {
        Change::Add => libc::EPOLL_CTL_ADD,
        Change::Modify => libc::EPOLL_CTL_MOD,
    };
    let mut event = epoll_event {
        events: events as u32,
        u64: data,
    };
    // SAFETY: `event` lives over the call, which only reads it. A number that names no descriptor
    // gives EBADF.
    check(unsafe { libc::epoll_ctl(set.as_raw_fd(), operation, fd, &mut event) }).map(drop)
}

/// Takes the entry of `fd` out.
pub(crate) fn delete(set: BorrowedFd<'_>, fd: RawFd) -> io::Result<()> {
    // Kernels before 2.6.9 wanted a pointer that is not null here; it was never read.
    let mut unused = epoll_event { events: 0, u64: 0 };
    // SAFETY: as in `control`.
    check(unsafe { libc::epoll_ctl(set.as_raw_fd(), libc::EPOLL_CTL_DEL, fd, &mut unused) })
        .map(drop)
}

/// Set once a kernel (before 5.11), a sandbox or valgrind has refused `epoll_pwait2`.
static NO_NANOSECONDS: AtomicBool = AtomicBool::new(false);

/// Waits for events, at most `timeout`, and returns the part of `space` that was filled.
///
/// With nanosecond timeouts where the kernel has them, else rounded up to milliseconds. A timeout
/// longer than a day (nanoseconds) or 24 days may end early with no events.
#[inline(always)]
pub(crate) fn wait<'a>(
    set: BorrowedFd<'_>,
    space: &'a mut [MaybeUninit<epoll_event>],
    timeout: Option<Duration>,
) -> io::Result<&'a [epoll_event]> {
    let filled = match timeout {
        None => wait_milliseconds(set, space, -1)?,
        Some(timeout) => wait_for(set, space, timeout)?,
    };
    let pointer = space.as_ptr().cast::<epoll_event>();
    // SAFETY: the kernel says that it wrote the first `filled` entries, which is at most
    // `space.len()`; the slice borrows `space` for as long as it lives.
    Ok(unsafe { std::slice::from_raw_parts(pointer, filled) })
}

#[inline(never)]
fn wait_for(
    set: BorrowedFd<'_>,
    space: &mut [MaybeUninit<epoll_event>],
    timeout: Duration,
) -> io::Result<usize> {
    if timeout.is_zero() {
        return wait_milliseconds(set, space, 0);
    }
    if !NO_NANOSECONDS.load(Ordering::Relaxed) {
        match wait_nanoseconds(set, space, timeout) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                NO_NANOSECONDS.store(true, Ordering::Relaxed);
            }
            filled => return filled,
        }
    }
    wait_milliseconds(set, space, milliseconds(timeout))
}

#[inline(always)]
fn wait_milliseconds(
    set: BorrowedFd<'_>,
    space: &mut [MaybeUninit<epoll_event>],
    timeout: libc::c_int,
) -> io::Result<usize> {
    let pointer = space.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most `space.len()` entries to the memory that `pointer` names.
    let filled =
        check(unsafe { libc::epoll_wait(set.as_raw_fd(), pointer, space.len() as i32, timeout) })?;
    Ok(filled as usize)
}

fn wait_nanoseconds(
    set: BorrowedFd<'_>,
    space: &mut [MaybeUninit<epoll_event>],
    timeout: Duration,
) -> io::Result<usize> {
    let timeout = timespec(timeout);
    let pointer = space.as_mut_ptr().cast::<epoll_event>();
    let no_mask = std::ptr::null::<libc::sigset_t>();
    // By number, since C libraries before glibc 2.35 lack the function.
    // SAFETY: the arguments are those of epoll_pwait2(2). The kernel writes at most `space.len()`
    // entries to the memory that `pointer` names, and reads `timeout`, which outlives the call.
    let filled = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            set.as_raw_fd(),
            pointer,
            space.len() as libc::c_int,
            &timeout,
            no_mask,
            0_usize,
        )
    };
    check(filled as libc::c_int).map(|filled| filled as usize)
}

/// The set works at all: asks it once without waiting.
pub(crate) fn probe(set: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); 1];
    retry(|| wait_milliseconds(set, &mut space, 0)).map(drop)
}
