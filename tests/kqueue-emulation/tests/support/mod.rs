//! How the rules call the emulation, wherever it comes from.

pub(crate) mod child;
pub(crate) mod parent;
pub(crate) mod queue;
pub(crate) mod system;

/// The structure of FreeBSD 11, written down once more so that a preloaded library is checked
/// against something of its own.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kevent {
    pub(crate) ident: usize,
    pub(crate) filter: i16,
    pub(crate) flags: u16,
    pub(crate) fflags: u32,
    pub(crate) data: isize,
    pub(crate) udata: usize,
}

/// The functions under test.
#[derive(Clone, Copy)]
pub(crate) struct Api {
    pub(crate) kqueue: extern "C" fn() -> i32,
    pub(crate) kevent: unsafe extern "C" fn(
        i32,
        *const Kevent,
        i32,
        *mut Kevent,
        i32,
        *const libc::timespec,
    ) -> i32,
    /// Gives the numbers of queues, calls, events and violations.
    pub(crate) counters: fn(&mut [u64; 4]),
}

pub(crate) const READ: i16 = -1;
pub(crate) const WRITE: i16 = -2;
pub(crate) const TIMER: i16 = -7;
pub(crate) const USER: i16 = -11;

pub(crate) const ADD: u16 = 1;
pub(crate) const DELETE: u16 = 2;
pub(crate) const ENABLE: u16 = 4;
pub(crate) const DISABLE: u16 = 8;
pub(crate) const ONESHOT: u16 = 0x10;
pub(crate) const CLEAR: u16 = 0x20;
pub(crate) const RECEIPT: u16 = 0x40;
pub(crate) const DISPATCH: u16 = 0x80;
pub(crate) const ERROR: u16 = 0x4000;
pub(crate) const EOF: u16 = 0x8000;
pub(crate) const TRIGGER: u32 = 0x0100_0000;
