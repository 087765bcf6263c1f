//! Which back end and which notifier serve where the system refuses what would be taken first.
//!
//! Sandboxes refuse system calls with `EPERM`, old kernels with `ENOSYS`; a device can be missing or
//! unreadable. Each case is a process of its own. What is chosen by environment variables where
//! everything works is in the contract.

#![cfg(target_os = "linux")]

#[path = "../support/refusal.rs"]
mod refusal;
#[path = "../support/mod.rs"]
mod support;

mod device;
mod epoll;
mod eventfd;
mod forced;
mod queue;
mod use_of;
mod waits;

use std::ffi::c_int;
use std::io;
use support::child;
use windlass_reactor::Backend;

const ERROR: &str = "WINDLASS_TEST_ERROR";

/// Runs the test `name` again, with `variables` set, in a child for each error with which systems
/// refuse a call; returns the error in such a child, which is to have calls refused with it.
#[track_caller]
fn refused_with(name: &str, variables: &[(&str, &str)]) -> Option<c_int> {
    if child::is_child() {
        return Some(std::env::var(ERROR).unwrap().parse().unwrap());
    }
    for error in [libc::ENOSYS, libc::EPERM] {
        let mut command = child::command(name);
        command.env(ERROR, error.to_string());
        child::expect_success(command.envs(variables.iter().copied()));
    }
    None
}

/// Fails unless `error` is what the system said, in our words: about `what`, and with the names of
/// what is available instead.
#[track_caller]
fn expect_refusal(error: &io::Error, system: c_int, what: &str, available: &[&str]) {
    let system = io::Error::from_raw_os_error(system);
    assert_eq!(error.kind(), system.kind(), "{error}");
    let text = error.to_string();
    let (start, list) = text.split_once("available are: ").expect(&text);
    assert!(start.contains(what), "{text}");
    assert!(start.contains(&system.to_string()), "{text}");
    assert_eq!(list.split(", ").collect::<Vec<_>>(), available, "{text}");
}

/// The names of the back ends that work now.
fn available() -> Vec<&'static str> {
    let works = Backend::available().into_iter();
    works.map(Backend::name).collect()
}
