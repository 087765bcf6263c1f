//! The descriptors that things are done to. None of them ever blocks.

use crate::steps::Kind;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// Opens one of `kind`, with its other end; a counter has none.
pub(crate) fn open(kind: Kind) -> (File, Option<File>) {
    let (ours, theirs): (OwnedFd, Option<OwnedFd>) = match kind {
        Kind::Stream => {
            let (ours, theirs) = UnixStream::pair().unwrap();
            (ours.into(), Some(theirs.into()))
        }
        Kind::PipeReader => {
            let (reader, writer) = pipe();
            (reader, Some(writer))
        }
        Kind::PipeWriter => {
            let (reader, writer) = pipe();
            (writer, Some(reader))
        }
        Kind::Counter => (counter(), None),
    };
    for one in [Some(&ours), theirs.as_ref()].into_iter().flatten() {
        rustix::io::ioctl_fionbio(one, true).unwrap();
    }
    (ours.into(), theirs.map(File::from))
}

fn pipe() -> (OwnedFd, OwnedFd) {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap()
}

fn counter() -> OwnedFd {
    let flags = rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK;
    rustix::event::eventfd(0, flags).unwrap()
}

/// Reads one byte; returns whether that would block.
pub(crate) fn read(mut file: &File, kind: Kind) -> bool {
    let mut space = [0; 8];
    let size = if kind == Kind::Counter { 8 } else { 1 };
    would_block(&file.read(&mut space[..size]))
}

/// Reads until it would block or is at the end; returns whether it would block.
pub(crate) fn drain(mut file: &File) -> bool {
    let mut space = [0; 65536];
    // A reset connection says so once, and is at its end then.
    for _ in 0..1000 {
        let done = file.read(&mut space);
        if would_block(&done) {
            return true;
        }
        if matches!(done, Ok(0)) {
            return false;
        }
    }
    panic!("there is no end of it");
}

/// Writes one byte, or adds 1 to a counter; returns whether that would block.
pub(crate) fn write(mut file: &File, kind: Kind) -> bool {
    let one = 1_u64.to_ne_bytes();
    let size = if kind == Kind::Counter { 8 } else { 1 };
    would_block(&file.write(&one[..size]))
}

/// Writes until it would block; returns whether it does.
pub(crate) fn fill(mut file: &File) -> bool {
    let block = [0; 16384];
    loop {
        match file.write(&block) {
            Ok(_) => {}
            failed => return would_block(&failed),
        }
    }
}

/// Adds to a counter.
pub(crate) fn count(mut file: &File, number: u64) {
    file.write_all(&number.to_ne_bytes()).unwrap();
}

fn would_block(result: &io::Result<usize>) -> bool {
    matches!(result, Err(error) if error.kind() == ErrorKind::WouldBlock)
}
