//! The monotonic clock, as nanoseconds.

/// The clock of [`std::time::Instant`].
#[cfg(target_vendor = "apple")]
const CLOCK: libc::clockid_t = libc::CLOCK_UPTIME_RAW;
/// The clock of [`std::time::Instant`].
#[cfg(not(target_vendor = "apple"))]
const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;

/// Nanoseconds of the monotonic clock, from a start of the system's choosing.
///
/// It is the clock of [`std::time::Instant`], read without the conversion to seconds and back. On
/// Linux and Apple's systems it does not count the time that the machine was suspended.
pub(crate) fn monotonic_nanoseconds() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a timespec that the call may write to. The clock exists on every system this
    // crate is built for, so that the call can't fail.
    unsafe { libc::clock_gettime(CLOCK, &mut now) };
    (now.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(now.tv_nsec as u64)
}
