//! The binary interface: `struct kevent` as FreeBSD 11 and macOS lay it out, with FreeBSD's numbers.

/// One change handed to `kevent()`, or one entry that it hands back.
///
/// The C type has a pointer as `udata`. It is a number here, of the same size, because the
/// emulation never follows it and keeps it in tables that threads share.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kevent {
    /// The descriptor, or any number for timers and user events.
    pub ident: usize,
    /// One of the `EVFILT_` numbers.
    pub filter: i16,
    /// `EV_` bits.
    pub flags: u16,
    /// `NOTE_` bits going in; the socket's error coming out with `EV_EOF`.
    pub fflags: u32,
    /// An amount that depends on the filter, or an error number with `EV_ERROR`.
    pub data: isize,
    /// The client's own value, handed back unchanged.
    pub udata: usize,
}

/// Readable.
pub const EVFILT_READ: i16 = -1;
/// Writable.
pub const EVFILT_WRITE: i16 = -2;
/// A timer.
pub const EVFILT_TIMER: i16 = -7;
/// Triggered by the client itself.
pub const EVFILT_USER: i16 = -11;

/// Makes the knote, or changes its udata, fflags and data.
pub const EV_ADD: u16 = 0x1;
/// Removes the knote.
pub const EV_DELETE: u16 = 0x2;
/// Lets the knote report again.
pub const EV_ENABLE: u16 = 0x4;
/// Keeps the knote from reporting.
pub const EV_DISABLE: u16 = 0x8;
/// Removes the knote with its first report.
pub const EV_ONESHOT: u16 = 0x10;
/// Reports each change of state once.
pub const EV_CLEAR: u16 = 0x20;
/// Asks for an entry about this change even if it succeeds.
pub const EV_RECEIPT: u16 = 0x40;
/// Disables the knote with each report.
pub const EV_DISPATCH: u16 = 0x80;
/// Leaves udata as it is (FreeBSD only).
pub const EV_KEEPUDATA: u16 = 0x200;
/// Marks an entry that tells how a change went.
pub const EV_ERROR: u16 = 0x4000;
/// Marks an event of a side that is shut.
pub const EV_EOF: u16 = 0x8000;

/// Triggers a user event.
pub const NOTE_TRIGGER: u32 = 0x0100_0000;
/// Masks how the low bits of a user event's fflags are combined.
pub const NOTE_FFCTRLMASK: u32 = 0xc000_0000;
/// Combines by and.
pub const NOTE_FFAND: u32 = 0x4000_0000;
/// Combines by or.
pub const NOTE_FFOR: u32 = 0x8000_0000;
/// Masks the bits of a user event that belong to the client.
pub const NOTE_FFLAGSMASK: u32 = 0x00ff_ffff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kevent_has_the_layout_of_freebsd_11() {
        assert_eq!(size_of::<Kevent>(), 32);
        assert_eq!(std::mem::offset_of!(Kevent, filter), 8);
        assert_eq!(std::mem::offset_of!(Kevent, flags), 10);
        assert_eq!(std::mem::offset_of!(Kevent, fflags), 12);
        assert_eq!(std::mem::offset_of!(Kevent, data), 16);
        assert_eq!(std::mem::offset_of!(Kevent, udata), 24);
    }
}
