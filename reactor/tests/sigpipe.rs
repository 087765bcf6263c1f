//! Writes to pipes that nobody reads, in processes that have SIGPIPE do what it does by default:
//! end them.

#![allow(unsafe_code, reason = "signals are set and masked by hand")]

mod support;

use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use support::child;
use windlass_reactor::sys::{pipe, sigpipe};

/// Has the signal end the process, as it does in a program that isn't a Rust program.
fn use_default() {
    // SAFETY: no handler is set.
    let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    assert_ne!(before, libc::SIG_ERR);
    assert!(!sigpipe::is_ignored().unwrap());
}

fn only_pipe() -> libc::sigset_t {
    // SAFETY: a set of signals is integers, for which zeroes are a value.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a set that lives over the call.
    unsafe { libc::sigemptyset(&raw mut set) };
    // SAFETY: likewise, and the number is that of a signal.
    unsafe { libc::sigaddset(&raw mut set, libc::SIGPIPE) };
    set
}

/// Holds the signal back from this thread.
fn hold_back() {
    let (set, how) = (only_pipe(), libc::SIG_BLOCK);
    // SAFETY: the pointer is to a set that lives over the call; nothing is asked for.
    let failed = unsafe { libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut()) };
    assert_eq!(failed, 0);
}

fn is_held_back() -> bool {
    // SAFETY: as for `only_pipe`.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is set; the other pointer is to a set that lives over the call.
    let failed = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut set) };
    assert_eq!(failed, 0);
    // SAFETY: the call above has written the set.
    unsafe { libc::sigismember(&raw const set, libc::SIGPIPE) == 1 }
}

fn is_pending() -> bool {
    // SAFETY: as for `only_pipe`.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a set that lives over the call.
    assert_eq!(unsafe { libc::sigpending(&raw mut set) }, 0);
    // SAFETY: the call above has written the set.
    unsafe { libc::sigismember(&raw const set, libc::SIGPIPE) == 1 }
}

fn write(end: &OwnedFd) -> io::Result<usize> {
    let mut file = std::fs::File::from(end.try_clone()?);
    sigpipe::without_signal(end.as_fd(), || file.write(b"nobody reads this"))
}

fn broken_pipe() -> OwnedFd {
    let (read_end, write_end) = pipe::create().unwrap();
    drop(read_end);
    write_end
}

#[test]
fn a_write_that_nobody_reads_is_an_error_and_no_more() {
    let name = "a_write_that_nobody_reads_is_an_error_and_no_more";
    if !child::is_child() {
        child::expect_success(&mut child::command(name));
        return;
    }
    use_default();
    let end = broken_pipe();
    for _ in 0..3 {
        assert_eq!(write(&end).unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert!(!is_pending());
    }
    // Neither is the signal held back afterwards.
    let (_read_end, write_end) = pipe::create().unwrap();
    assert_eq!(write(&write_end).unwrap(), 17);
    assert!(!is_held_back());
}

/// One that was held back before, by whoever calls, stays as it was.
#[test]
fn a_signal_that_is_not_ours_is_left_alone() {
    let name = "a_signal_that_is_not_ours_is_left_alone";
    if !child::is_child() {
        child::expect_success(&mut child::command(name));
        return;
    }
    use_default();
    let end = broken_pipe();
    hold_back();
    assert!(write(&end).is_err());
    assert!(!is_pending(), "ours is taken away");
    // SAFETY: the call has no conditions.
    assert_eq!(unsafe { libc::raise(libc::SIGPIPE) }, 0);
    assert!(is_pending());
    assert!(write(&end).is_err());
    assert!(is_pending(), "theirs is not");
}

/// That the two above can fail: without the help the signal ends the process.
#[test]
fn without_help_the_process_is_ended() {
    let name = "without_help_the_process_is_ended";
    if !child::is_child() {
        use std::os::unix::process::ExitStatusExt;
        let status = child::command(name).output().unwrap().status;
        assert_eq!(status.signal(), Some(libc::SIGPIPE));
        return;
    }
    use_default();
    let written = std::fs::File::from(broken_pipe()).write(b"nobody reads this");
    panic!("{written:?}");
}
