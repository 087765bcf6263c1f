//! The monotonic clock, as nanoseconds.

/// Nanoseconds of the monotonic clock, from a start of the system's choosing.
///
/// It is the clock of [`std::time::Instant`], read without the conversion to seconds and back. On
/// Linux it does not count the time that the machine was suspended.
pub(crate) fn monotonic_nanoseconds() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a timespec that the call may write to. CLOCK_MONOTONIC exists on every
    // system this crate is built for, so that the call can't fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    (now.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(now.tv_nsec as u64)
}
