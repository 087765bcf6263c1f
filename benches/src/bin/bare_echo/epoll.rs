//! The loop over epoll.
//!
//! Level-triggered, because that takes the fewest calls for an echo: a piece that was read and
//! answered needs no second read to learn that there is no more. Nothing is ever removed from the
//! set; closing a connection removes it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::service::{Outcome, Service};
use crate::{Totals, sys};

/// How many events one wait may bring.
const EVENTS: usize = 1_024;

/// Serves connections of `listener` until `stop` is readable.
pub(crate) fn run(listener: &OwnedFd, stop: RawFd, mut service: Service) -> io::Result<Totals> {
    let listener = listener.as_raw_fd();
    let epoll = sys::epoll_create()?;
    sys::epoll_add(epoll, listener)?;
    sys::epoll_add(epoll, stop)?;

    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS];
    let mut totals = Totals::default();
    loop {
        let count = sys::epoll_wait(epoll, &mut events)?;
        for event in &events[..count] {
            let descriptor = event.u64 as RawFd;
            // Connections got their numbers after the set, the other two before it: one
            // comparison for the common case.
            if descriptor > epoll {
                if service.serve(descriptor, &mut totals.answers) == Outcome::Closed {
                    sys::close(descriptor);
                }
            } else if descriptor == listener {
                totals.connections += accept_all(epoll, listener)?;
            } else {
                return Ok(totals);
            }
        }
    }
}

/// Accepts and adds every connection that waits, and returns how many there were.
fn accept_all(epoll: RawFd, listener: RawFd) -> io::Result<u64> {
    let mut accepted = 0;
    while let Ok(connection) = sys::accept(listener) {
        sys::epoll_add(epoll, connection)?;
        accepted += 1;
    }
    Ok(accepted)
}
