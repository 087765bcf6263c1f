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

/// Returns by how much later than asked the kernel may end a wait of this thread for `timeout`.
///
/// On Linux that is a thousandth of the timeout, but not less than the slack of the thread (50
/// microseconds unless somebody changed it) and not more than a tenth of a second. Elsewhere there
/// is none that one can know.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn slack(timeout: std::time::Duration) -> std::time::Duration {
    use std::time::Duration;
    thread_local! {
        /// The slack of this thread, once it was asked for. If it is changed later, waits end later
        /// or are made of two.
        static OF_THREAD: std::cell::Cell<Option<Duration>> = const { std::cell::Cell::new(None) };
    }
    let of_thread = OF_THREAD.get().unwrap_or_else(|| {
        let asked = thread_slack();
        OF_THREAD.set(Some(asked));
        asked
    });
    (timeout / 1_000)
        .min(Duration::from_millis(100))
        .max(of_thread)
}

/// Returns by how much later than asked the kernel may end a wait of this thread for `timeout`.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn slack(_timeout: std::time::Duration) -> std::time::Duration {
    std::time::Duration::ZERO
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn thread_slack() -> std::time::Duration {
    // SAFETY: this request takes no further argument and changes nothing.
    let nanoseconds = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
    // Negative if a sandbox refuses the call.
    std::time::Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0))
}
