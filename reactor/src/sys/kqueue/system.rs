//! The names of the system's own C library.

pub(crate) use libc::{
    EV_ADD, EV_CLEAR, EV_DELETE, EV_DISPATCH, EV_ENABLE, EV_EOF, EV_ERROR, EV_RECEIPT, NOTE_TRIGGER,
};
pub(super) use libc::{EVFILT_READ, EVFILT_USER, EVFILT_WRITE, kevent, kevent as kevent_call};

/// The type of a filter's number.
#[cfg(not(target_os = "netbsd"))]
pub(super) type FilterNumber = i16;
/// The type of the flags.
#[cfg(not(target_os = "netbsd"))]
pub(crate) type FlagBits = u16;
/// The type of the lengths of the lists.
#[cfg(not(target_os = "netbsd"))]
pub(super) type Count = libc::c_int;

/// The type of a filter's number, of which 0 is one here.
#[cfg(target_os = "netbsd")]
pub(super) type FilterNumber = u32;
/// The type of the flags.
#[cfg(target_os = "netbsd")]
pub(crate) type FlagBits = u32;
/// The type of the lengths of the lists.
#[cfg(target_os = "netbsd")]
pub(super) type Count = usize;

/// The filter of urgent data and the note that asks for them.
#[cfg(not(any(target_os = "freebsd", target_os = "netbsd")))]
pub(super) const EXCEPT: Option<(FilterNumber, u32)> = Some((libc::EVFILT_EXCEPT, libc::NOTE_OOB));
/// The filter of urgent data: there is none.
#[cfg(any(target_os = "freebsd", target_os = "netbsd"))]
pub(super) const EXCEPT: Option<(FilterNumber, u32)> = None;

pub(super) fn kqueue() -> libc::c_int {
    // SAFETY: the call has no conditions.
    unsafe { libc::kqueue() }
}
