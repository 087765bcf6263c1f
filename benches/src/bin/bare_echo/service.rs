//! What is done with a connection that has something to read.

use std::io;
use std::os::fd::RawFd;

use windlass_benches::{ANSWER, Asked};

use crate::sys;

/// What serving a connection has come to.
#[derive(PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It goes on.
    Open,
    /// It is over and should be closed.
    Closed,
}

/// Serves one connection after another with one buffer for all.
pub(crate) struct Service {
    /// What was read last.
    buffer: Box<[u8]>,
    /// Whether requests are answered instead of echoed.
    http: bool,
}

impl Service {
    /// Makes a service that echoes, or answers HTTP requests.
    pub(crate) fn new(http: bool) -> Self {
        Service {
            buffer: vec![0; 64 * 1_024].into_boxed_slice(),
            http,
        }
    }

    /// Reads once and answers what was read, counting in `answers`.
    pub(crate) fn serve(&mut self, descriptor: RawFd, answers: &mut u64) -> Outcome {
        match sys::read(descriptor, &mut self.buffer) {
            Ok(0) => Outcome::Closed,
            Ok(count) if self.http => answer(descriptor, &self.buffer[..count], answers),
            Ok(count) => {
                *answers += 1;
                if write_all(descriptor, &self.buffer[..count]).is_ok() {
                    Outcome::Open
                } else {
                    Outcome::Closed
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Outcome::Open,
            Err(_) => Outcome::Closed,
        }
    }
}

/// Answers each request that ends in `bytes`.
fn answer(descriptor: RawFd, bytes: &[u8], answers: &mut u64) -> Outcome {
    let asked = Asked::by(bytes);
    for _ in 0..asked.requests {
        *answers += 1;
        if write_all(descriptor, ANSWER).is_err() {
            return Outcome::Closed;
        }
    }
    if asked.close {
        Outcome::Closed
    } else {
        Outcome::Open
    }
}

/// Writes all of `bytes`, waiting for this one connection when it must.
fn write_all(descriptor: RawFd, mut bytes: &[u8]) -> io::Result<()> {
    loop {
        match sys::write(descriptor, bytes) {
            Ok(count) if count == bytes.len() => return Ok(()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let writable = libc::pollfd {
                    fd: descriptor,
                    events: libc::POLLOUT,
                    revents: 0,
                };
                sys::poll(&mut [writable])?;
            }
            Err(error) => return Err(error),
        }
    }
}
