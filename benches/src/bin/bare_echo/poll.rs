//! The loop over `poll`: every descriptor is handed over and looked at on every wait.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::service::{Outcome, Service};
use crate::{Totals, sys};

/// The entry of the listener.
const LISTENER: usize = 0;
/// The entry of the descriptor that asks for the end; connections follow it.
const STOP: usize = 1;

/// Serves connections of `listener` until `stop` is readable.
pub(crate) fn run(listener: &OwnedFd, stop: RawFd, mut service: Service) -> io::Result<Totals> {
    // The first two never move.
    let mut entries = vec![readable(listener.as_raw_fd()), readable(stop)];
    let mut totals = Totals::default();
    while entries[STOP].revents == 0 {
        let ready = sys::poll(&mut entries)?;
        serve_ready(&mut entries, ready, &mut service, &mut totals);
    }
    Ok(totals)
}

/// Serves the `ready` entries that the last wait has marked.
fn serve_ready(
    entries: &mut Vec<libc::pollfd>,
    ready: usize,
    service: &mut Service,
    totals: &mut Totals,
) {
    let mut left = ready;
    // From the end to the start, so that the entry that takes a removed one's place is one that
    // was looked at already.
    for index in (0..entries.len()).rev() {
        if left == 0 {
            break;
        }
        if entries[index].revents == 0 {
            continue;
        }
        left -= 1;
        let descriptor = entries[index].fd;
        if index > STOP {
            if service.serve(descriptor, &mut totals.answers) == Outcome::Closed {
                sys::close(descriptor);
                entries.swap_remove(index);
            }
        } else if index == LISTENER {
            totals.connections += accept_all(entries, descriptor);
        }
    }
}

/// Accepts and appends every connection that waits, and returns how many there were.
fn accept_all(entries: &mut Vec<libc::pollfd>, listener: RawFd) -> u64 {
    let before = entries.len();
    while let Ok(connection) = sys::accept(listener) {
        entries.push(readable(connection));
    }
    (entries.len() - before) as u64
}

/// Returns an entry that waits until `descriptor` is readable.
fn readable(descriptor: RawFd) -> libc::pollfd {
    libc::pollfd {
        fd: descriptor,
        events: libc::POLLIN,
        revents: 0,
    }
}
