//! The pipe that bytes are spliced through.
//!
//! As with the space of `buffer.rs`, a copy has one only while it is polled, or while bytes are in
//! it. Each thread keeps a few for the next; never one with bytes in it, which would turn up in
//! another connection. For the same reason a child process leaves those of its parent alone, as both
//! have them after fork.

use super::kernel;
use std::cell::RefCell;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use windlass_reactor::Process;

/// How many pipes a thread keeps.
const MOST_SPARE: usize = 4;
/// A pipe that holds less is no gain over the buffer of a plain copy.
const LEAST_SIZE: usize = 64 * 1024;

thread_local! {
    static SPARE: RefCell<Vec<Pipe>> = const { RefCell::new(Vec::new()) };
}

/// A pipe, and how many bytes are in it.
#[derive(Debug)]
pub(super) struct Pipe {
    read_end: OwnedFd,
    write_end: OwnedFd,
    size: usize,
    held: usize,
    /// Who made it.
    process: Process,
}

impl Pipe {
    /// Takes an empty pipe; `None` if there is none to be had, for want of descriptors or because
    /// the system gives only small ones.
    pub(super) fn take() -> Option<Self> {
        // A thread that is ending has no spare ones any more.
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok();
        let spare = spare.flatten().filter(|spare| spare.process.is_current());
        spare.or_else(Self::make)
    }

    fn make() -> Option<Self> {
        let (read_end, write_end, size) = kernel::make_pipe().ok()?;
        (size >= LEAST_SIZE).then_some(Self {
            read_end,
            write_end,
            size,
            held: 0,
            process: Process::current(),
        })
    }

    /// Has the thread use it again if it is empty, and of this process; else it is closed.
    pub(super) fn give_back(self) {
        if self.held > 0 || !self.process.is_current() {
            return;
        }
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < MOST_SPARE {
                spare.push(self);
            }
        });
    }

    /// Returns how many bytes are in it.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Moves what is there from a socket into the pipe, which is empty: so that `WouldBlock` is
    /// never about the pipe.
    pub(super) fn fill_from(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        debug_assert_eq!(self.held, 0);
        let count = kernel::splice(socket, self.write_end.as_fd(), self.size)?;
        self.held += count;
        Ok(count)
    }

    /// Moves what there is room for from the pipe, which isn't empty, to a socket: so that
    /// `WouldBlock` is never about the pipe.
    pub(super) fn empty_into(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        debug_assert!(self.held > 0);
        let count = kernel::splice(self.read_end.as_fd(), socket, self.held)?;
        self.held -= count;
        Ok(count)
    }

    /// Reads all that is in it, and closes it.
    pub(super) fn read_out(self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.held];
        std::fs::File::from(self.read_end).read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests {
    use super::{MOST_SPARE, Pipe, SPARE};
    use std::fs::File;
    use std::io::{ErrorKind, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    /// What tells a pipe from all others that are open; numbers are given out again.
    fn identity(pipe: &Pipe) -> u64 {
        rustix::fs::fstat(&pipe.read_end).unwrap().st_ino
    }

    /// Bytes of one connection never get into another.
    #[test]
    fn only_empty_pipes_are_used_again() {
        let (mut from, into) = UnixStream::pair().unwrap();
        from.write_all(b"left over").unwrap();
        let mut pipe = Pipe::take().unwrap();
        let mut other = File::from(pipe.write_end.try_clone().unwrap());
        assert_eq!(pipe.fill_from(into.as_fd()).unwrap(), 9);
        pipe.give_back();
        assert_eq!(SPARE.with_borrow(Vec::len), 0);
        let closed = other.write(b"more").unwrap_err();
        assert_eq!(closed.kind(), ErrorKind::BrokenPipe);

        let pipe = Pipe::take().unwrap();
        let first = identity(&pipe);
        pipe.give_back();
        assert_eq!(identity(&Pipe::take().unwrap()), first);
    }

    #[test]
    fn a_thread_keeps_a_few() {
        let taken = (0..MOST_SPARE + 2).map(|_| Pipe::take().unwrap());
        taken
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(Pipe::give_back);
        assert_eq!(SPARE.with_borrow(Vec::len), MOST_SPARE);
    }

    #[test]
    fn what_is_in_it_can_be_read_out() {
        let (mut from, into) = UnixStream::pair().unwrap();
        from.write_all(b"to be handed back").unwrap();
        let mut pipe = Pipe::take().unwrap();
        assert_eq!(pipe.fill_from(into.as_fd()).unwrap(), 17);
        assert_eq!(pipe.held(), 17);
        assert_eq!(pipe.read_out().unwrap(), b"to be handed back");
    }
}
