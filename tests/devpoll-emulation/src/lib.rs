//! Gives an unmodified Linux program a working `/dev/poll`, and checks how it is used.
//!
//! For tests: no machine with Linux has the device, so this library is preloaded and stands in
//! front of the C library's functions that open, write, ask and close. The program must use the
//! device's own numbers (POLLREMOVE is 0x0800, `DP_POLL` 0xD001) and reach the system through the C
//! library; raw system calls are not seen.
//!
//! ```text
//! cargo build -p windlass-devpoll-emulation
//! LD_PRELOAD=target/debug/libwindlass_devpoll_emulation.so PROGRAM
//! ```
//!
//! A program that is linked with the crate has the device without preloading, once it calls
//! [`devpoll_emulation_reset`] or another function of this crate.
//!
//! # Settings
//!
//! All are environment variables. An unknown word, kind or `DEVPOLL_EMULATION...` variable ends the
//! program when it starts, so that no test runs on another variant than it thinks.
//!
//! | variable | what it says |
//! | --- | --- |
//! | `DEVPOLL_EMULATION` | the variant: words separated by commas, see below |
//! | `DEVPOLL_EMULATION_LOG` | a file to which violations are appended, `PID KIND: DETAIL` each; without it they go to standard error |
//! | `DEVPOLL_EMULATION_ALLOW` | kinds of violations, separated by commas, that are provoked on purpose: counted apart, not logged |
//! | `DEVPOLL_EMULATION_FATAL` | `1`: a violation ends the process |
//! | `DEVPOLL_EMULATION_STATS` | a file to which each process that used the device appends its [`Counters`] when it exits, `pid=PID opens=1 ...` |
//!
//! | word | what is played |
//! | --- | --- |
//! | `illumos` (default) | the owner is who first writes or asks; a write wakes those who wait; room above twice the limit is cut; POLLONESHOT and POLLRDHUP; a negative timeout other than -1 does not wait; remembered bits survive a removal |
//! | `solaris` | the owner is who opened; a write waits until nobody waits; room above the limit is EINVAL; a negative timeout waits for ever |
//! | `stale=reported` (default) | an entry whose descriptor was closed is looked at: POLLNVAL for ever, or the next owner's events |
//! | `stale=silent` | it is not: nothing comes, not even for the number's next owner if it adds the same bits |
//! | `restart=yes` (default) | after a handler with `SA_RESTART` a wait starts again with its whole timeout, as ioctl(2) does there |
//! | `restart=no` | every signal that is caught interrupts a wait |
//! | `pipes=streams` (default) | the writing end gets POLLHUP when the reader has gone; the reading end may be written |
//! | `pipes=linux` | pipes as on Linux |
//! | `eintr=N` | every N-th wait of a device fails with EINTR |
//! | `open=fail:ERRNO` | opening fails: ENOENT, ENXIO, EACCES, EMFILE or ENFILE (`open=works` is the default) |
//!
//! # Violations
//!
//! | kind | what the program did |
//! | --- | --- |
//! | `bad-descriptor` | wrote an entry of a number that is not open, negative or out of range |
//! | `unknown-bits`, `unportable-bits` | asked for bits that no system, or only illumos, knows |
//! | `error-bits` | asked for POLLERR, POLLHUP or POLLNVAL, which come unasked |
//! | `remove-mixed` | POLLREMOVE with other bits, which is an add |
//! | `redundant-add`, `redundant-remove` | wrote an entry that changes nothing |
//! | `needless-remove` | removed and added again in one write without taking a bit away |
//! | `stale-add` | added a number that still had the entry of an earlier file |
//! | `closed-in-set` | closed a descriptor, or replaced it with dup2, that was in a set |
//! | `invalid-kept` | waited again after POLLNVAL without having removed the entry |
//! | `write-while-polled`, `closed-while-polled` | wrote, or closed the device, while a thread was in `DP_POLL` |
//! | `partial-entry`, `empty-write`, `too-many-entries`, `read-only-write` | wrote a tail, nothing, more than the limit of descriptors, to a device opened for reading |
//! | `no-room`, `room-above-limit` | `dp_nfds` is 0, or not below the limit of descriptors |
//! | `bad-timeout` | `dp_timeout` below -1 |
//! | `bad-pointer` | a null pointer |
//! | `foreign-process` | used the device of another process (after a fork) |
//! | `device-polled`, `device-read`, `unknown-request` | put the device into poll, select, epoll or a device; read it; another ioctl |
//! | `no-close-on-exec` | opened without `O_CLOEXEC` |
//!
//! [`devpoll_emulation_counters`], [`devpoll_emulation_violations`] and [`devpoll_emulation_reset`]
//! are there for a program that finds them with `dlsym`.
//!
//! # What is not played
//!
//! POLLET, `DP_PPOLL` and `DP_EPOLLCOMPAT` of illumos (the requests fail with EINVAL); EINTR while a
//! write waits; a write whose data were consumed and not applied. Descriptors that are closed inside
//! the C library (by `fclose`) are not seen closing. Which signal ended a wait is guessed: it starts
//! again only if all handlers that could have run have `SA_RESTART`. A program that is executed
//! without `O_CLOEXEC` on the device finds a plain file there.
//!
//! # The parts, in the order of a call
//!
//! `load` looks everything up before `main`; `interpose` has the C functions, `next` those behind
//! them; `numbers` says without a lock which descriptor is a device's; `device` is one open device,
//! `write` and `wait` are what it does; `set` is the logic of the entries, `abi` the numbers, both without system
//! calls. `violation` judges, `complaint` takes note, `counters` count. `settings` and `variant` read
//! the environment. `sys` and `signals` make the emulation's own system calls, `process` knows about
//! forks.

#![cfg(target_os = "linux")]

mod abi;
mod complaint;
mod counters;
mod device;
#[cfg_attr(
    test,
    expect(dead_code, reason = "unit tests stand in front of nothing")
)]
mod interpose;
mod load;
mod next;
mod numbers;
mod process;
mod set;
mod settings;
mod signals;
mod sys;
mod variant;
mod violation;
mod wait;
mod write;

pub use counters::Counters;
pub use interpose::{
    devpoll_emulation_counters, devpoll_emulation_reset, devpoll_emulation_violations,
};
