//! The loop over `poll`: every descriptor is handed over and looked at on every wait.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::service::{Outcome, Service};
use crate::{Totals, sys};

/// Serves connections of `listener` until a signal asks for the end.
pub(crate) fn run(listener: &OwnedFd, mut service: Service) -> io::Result<Totals> {
    // The listener is the first entry and never moves.
    let mut entries = vec![readable(listener.as_raw_fd())];
    let mut totals = Totals::default();
    while !sys::stopped() {
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
        if index == 0 {
            totals.connections += accept_all(entries, descriptor);
        } else if service.serve(descriptor, &mut totals.answers) == Outcome::Closed {
            sys::close(descriptor);
            entries.swap_remove(index);
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
