//! A socket, and the datagrams of it that didn't reach their peer.
//!
//! The kernel keeps those in a queue if it is asked to, and while something is in there, poll(2) and
//! /dev/poll report an error of the socket, over and over. So the queue is emptied into ours:
//!
//! 1. No operation ends in an error, `WouldBlock` among them, with something left in the kernel's
//!    queue. So a wait begins with an empty one.
//! 2. What is taken off the queue the kernel doesn't tell of any more. So an operation that would
//!    block says the first error that it finds there instead.
//! 3. Where nobody asked for them to be kept, none of this costs a system call.

use super::failed::Failed;
use super::system;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// So many are kept; who doesn't take them loses what comes later.
const MOST: usize = 64;
/// What comes back of a datagram, by ICMP, is no longer than the least that IPv6 has to carry.
const LONGEST: usize = 1280;

/// A socket that doesn't block.
#[derive(Debug)]
pub(super) struct Socket {
    socket: UdpSocket,
    /// Relaxed: whoever turns it on makes that known to others by an order of their own.
    keeps_failed: AtomicBool,
    failed: Mutex<VecDeque<Kept>>,
}

/// A datagram that failed, and what came back of it.
#[derive(Debug)]
struct Kept {
    failed: Failed,
    bytes: Box<[u8]>,
}

impl Socket {
    pub(super) fn new(socket: UdpSocket) -> Self {
        Self {
            socket,
            keeps_failed: AtomicBool::new(false),
            failed: Mutex::default(),
        }
    }

    pub(super) fn get_ref(&self) -> &UdpSocket {
        &self.socket
    }

    pub(super) fn into_inner(self) -> UdpSocket {
        self.socket
    }

    /// Runs an operation; rules 1 and 2.
    #[inline]
    pub(super) fn attempt<R>(
        &self,
        operation: impl FnOnce(&UdpSocket) -> io::Result<R>,
    ) -> io::Result<R> {
        match operation(&self.socket) {
            Err(error) if self.keeps_failed.load(Ordering::Relaxed) => Err(self.after(error)),
            done => done,
        }
    }

    /// Returns what is to be said after an operation has said `error`.
    #[cold]
    fn after(&self, error: io::Error) -> io::Error {
        let first = self.empty_queue();
        match first {
            Some(first) if error.kind() == io::ErrorKind::WouldBlock => first.error(),
            _ => error,
        }
    }

    /// Empties the kernel's queue; returns the first that was there.
    fn empty_queue(&self) -> Option<Failed> {
        let mut first = None;
        let mut space = [0; LONGEST];
        // If it can't be read now, the next operation comes upon it.
        while let Ok(Some(failed)) = system::take_failed(&self.socket, &mut space) {
            first = first.or(Some(failed));
            let bytes = space[..failed.received().length].into();
            let mut kept = self.failed.lock();
            if kept.len() < MOST {
                kept.push_back(Kept { failed, bytes });
            }
        }
        first
    }

    /// Has those that fail from now on kept, or not, when the kernel was told so.
    pub(super) fn keep_failed(&self, kept: bool) {
        self.keeps_failed.store(kept, Ordering::Relaxed);
        if !kept {
            // The kernel forgets its own, too.
            self.failed.lock().clear();
        }
    }

    /// Takes the one that has been kept for longest.
    pub(super) fn take_failed(&self, space: &mut [u8]) -> io::Result<Option<Failed>> {
        let Some(Kept { failed, bytes }) = self.failed.lock().pop_front() else {
            return system::take_failed(&self.socket, space);
        };
        let length = bytes.len().min(space.len());
        space[..length].copy_from_slice(&bytes[..length]);
        Ok(Some(failed.cut_to(length)))
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
