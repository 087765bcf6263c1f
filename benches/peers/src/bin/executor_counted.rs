//! `executor` with a clock that can be slowed, for its rows about instructions; run by it, not by
//! hand.
//!
//! Callgrind slows a program down some fifty times, but not the clock. So what a program does every
//! so many microseconds, such as to look for I/O between tasks, would come fifty times as often as it
//! does in truth. Here the clock runs as much slower as the program does, whatever runtime it is.
//! A program of its own, so that the other rows read the system's clock.

use std::process::ExitCode;
use std::sync::atomic::{AtomicI64, Ordering};
use windlass_peers::case;

const SECOND: i64 = 1_000_000_000;

/// How many times slower the clock runs.
static SLOWER: AtomicI64 = AtomicI64::new(1);
/// Where it began to, in nanoseconds.
static SINCE: AtomicI64 = AtomicI64::new(0);

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let Some((Ok(slower), [_, case @ ..])) = words
        .split_first()
        .map(|(slower, case)| (slower.parse(), case))
    else {
        eprintln!("executor_counted: run `executor --rows instructions` instead");
        return ExitCode::FAILURE;
    };
    slow_down(slower);
    case::measure(case)
}

fn slow_down(slower: i64) {
    let (_, now) = of_the_system(libc::CLOCK_MONOTONIC);
    SINCE.store(now.tv_sec * SECOND + now.tv_nsec, Ordering::Relaxed);
    SLOWER.store(slower.max(1), Ordering::Relaxed);
}

/// Reads a clock as the C library's function of this name does, in whose place it stands; but the
/// monotonic one is slowed.
#[allow(unsafe_code, reason = "it stands in the place of a C function")]
#[unsafe(no_mangle)]
extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> libc::c_int {
    let (status, mut now) = of_the_system(clock);
    let slower = SLOWER.load(Ordering::Relaxed);
    if clock == libc::CLOCK_MONOTONIC && slower > 1 {
        let since = SINCE.load(Ordering::Relaxed);
        let slowed = since + (now.tv_sec * SECOND + now.tv_nsec - since) / slower;
        (now.tv_sec, now.tv_nsec) = (slowed / SECOND, slowed % SECOND);
    }
    // SAFETY: whoever calls the C function passes a place that may be written to.
    unsafe { time.write(now) };
    status
}

#[allow(unsafe_code, reason = "it stands in the place of a C function")]
fn of_the_system(clock: libc::clockid_t) -> (libc::c_int, libc::timespec) {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to nothing but `now`, which outlives it.
    let status = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut now) };
    (status as libc::c_int, now)
}
