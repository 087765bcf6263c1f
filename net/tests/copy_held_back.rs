//! Copying while the writer is blocked: what the reader gets meanwhile wakes nobody, and is not lost.

mod common;

use common::{LIMIT, pattern};
use socket2::SockRef;
use std::future::Future;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use windlass_net::UnixStream;
use windlass_net::io::copy;
use windlass_reactor::Reactor;

/// What the buffer behind the copy holds, more or less.
const LITTLE: usize = 4 << 10;
/// What comes one after the other while it is blocked.
const PIECE: usize = 1 << 10;
const PIECES: usize = 10;

/// A connection: the end of the test, which doesn't block, and ours.
fn connection() -> (StdUnixStream, UnixStream) {
    let (theirs, ours) = StdUnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    (theirs, UnixStream::from_std(ours).unwrap())
}

/// Returns how many bytes an operation has moved; none if it would have blocked.
fn moved(operation: io::Result<usize>) -> usize {
    operation.unwrap_or_else(|error| match error.kind() {
        ErrorKind::WouldBlock => 0,
        _ => panic!("{error}"),
    })
}

/// A reactor and what runs on it, on this thread.
struct Running<F> {
    reactor: Reactor,
    future: Pin<Box<F>>,
}

impl<F: Future> Running<F> {
    /// Polls the future and turns the reactor, while `also` does its part, until that is done and
    /// nothing has come for a while.
    fn until(&mut self, mut also: impl FnMut() -> bool) {
        let (end, mut silent) = (Instant::now() + LIMIT, 0);
        while silent < 3 {
            assert!(Instant::now() < end, "it doesn't come to an end");
            let is_done = also();
            assert!(self.poll().is_pending());
            let events = self.turn(Duration::from_millis(if is_done { 20 } else { 0 }));
            silent = if is_done && events == 0 {
                silent + 1
            } else {
                0
            };
        }
    }

    fn poll(&mut self) -> Poll<F::Output> {
        let context = &mut Context::from_waker(Waker::noop());
        let Self { reactor, future } = self;
        reactor.handle().enter(|| future.as_mut().poll(context))
    }

    fn turn(&mut self, timeout: Duration) -> usize {
        self.reactor.turn(Some(timeout)).unwrap().events
    }
}

/// Copies `beginning` bytes, of which `taken` are taken from the writer, so that it is blocked then.
fn check(beginning: usize, taken: usize) {
    let ((mut client, from), (mut server, to)) = (connection(), connection());
    SockRef::from(&to).set_send_buffer_size(LITTLE).unwrap();
    let mut running = Running {
        reactor: Reactor::new().unwrap(),
        future: Box::pin(copy(&from, &to)),
    };
    // It waits for the reader at least once, so that the reactor knows of it.
    assert!(running.poll().is_pending());
    let bytes = pattern(beginning + PIECES * PIECE);
    let (mut rest, pieces) = bytes.split_at(beginning);
    let (mut received, mut space) = (Vec::new(), [0; 1 << 16]);
    let mut receive = |most: usize, received: &mut Vec<u8>| {
        let most = space.len().min(most - received.len());
        let count = moved(server.read(&mut space[..most]));
        received.extend_from_slice(&space[..count]);
    };
    running.until(|| {
        rest = &rest[moved(client.write(rest))..];
        receive(taken, &mut received);
        rest.is_empty() && received.len() == taken
    });

    // The reader may still be reported once, where that was asked for before.
    let wakes = pieces.chunks(PIECE).map(|piece| {
        assert_eq!(client.write(piece).unwrap(), PIECE);
        running.turn(Duration::ZERO)
    });
    let wakes = wakes.sum::<usize>();
    assert!(wakes <= 1, "{PIECES} pieces have woken {wakes} times");

    running.until(|| {
        receive(bytes.len(), &mut received);
        received.len() == bytes.len()
    });
    assert!(received == bytes);
}

#[test]
fn pieces_that_come_while_the_writer_is_blocked_wake_nobody() {
    check(100 << 10, 0);
}

/// As much has passed by then as has it go on within the kernel.
#[test]
fn pieces_that_come_in_bulk_while_the_writer_is_blocked_wake_nobody() {
    check(1000 << 10, 800 << 10);
}
