//! A back end that this system does not have; it goes by all their names.

#![allow(dead_code, reason = "one of the names is used")]

use super::mechanism::{Contract, Effect, Features, Registration};
use super::{Events, Interest, Token};
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::time::Duration;

/// Stands for a mechanism of other systems: it can't be opened, so that no value of it exists and
/// the calls below compile to nothing.
#[derive(Debug)]
pub(crate) enum Absent {}

pub(crate) type Epoll = Absent;
pub(crate) type Kqueue = Absent;
pub(crate) type Trigger = Absent;

impl Absent {
    /// Ends a wait; nobody can call it.
    pub(crate) fn fire(&self) -> io::Result<()> {
        match *self {}
    }
}

impl Contract for Absent {
    const FEATURES: Features = Features {
        native_edges: false,
        priority: false,
        read_closed: false,
        passing_errors: false,
    };

    fn open() -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this system does not have it",
        ))
    }

    fn add(&self, _: RawFd, _: Registration) -> io::Result<Effect> {
        match *self {}
    }

    fn modify(&self, _: RawFd, _: Registration) -> io::Result<Effect> {
        match *self {}
    }

    fn rearm(&self, _: RawFd, _: Interest) -> io::Result<Effect> {
        match *self {}
    }

    fn remove(&self, _: RawFd, _: Option<Token>) -> io::Result<Effect> {
        match *self {}
    }

    fn wait(&self, _: &mut Events, _: Option<Duration>) -> io::Result<()> {
        match *self {}
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match *self {}
    }

    fn interest_changes(&self) -> u64 {
        match *self {}
    }
}
