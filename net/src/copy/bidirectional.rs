//! Copying in both directions between two streams.

use super::buffer::Lent;
use super::one_way::OneWay;
use super::{CopyFrom, CopyTo};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use windlass_reactor::time::Idle;

/// Copies from `a` to `b` and from `b` to `a` until both have ended; returns how many bytes went
/// from `a` to `b`, and from `b` to `a`.
///
/// When one side has ended, the other is told by shutting its write direction down, and what it
/// still has to say is copied on. While a direction waits for its reader it holds no buffer. Bytes in
/// bulk are moved as by [`copy`](super::copy()).
///
/// ```no_run
/// # async fn example(client: windlass_net::TcpStream) -> std::io::Result<()> {
/// use std::time::Duration;
/// use windlass_net::TcpStream;
/// use windlass_net::io::copy_bidirectional;
///
/// let upstream = TcpStream::connect("127.0.0.1:8080").await?;
/// let (up, down) = copy_bidirectional(&client, &upstream)
///     .idle_timeout(Duration::from_secs(60))
///     .await?;
/// println!("{up} bytes up, {down} bytes down");
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// The first of either stream, at which the other direction ends, too;
/// [`CopyBidirectional::moved`] tells how far both have come. `TimedOut` if an
/// [idle timeout](CopyBidirectional::idle_timeout) was asked for and reached.
///
/// # Cancel safety
///
/// As for [`copy`](super::copy()): what was read and not written is lost when it is dropped, unless
/// [`take_unwritten`](CopyBidirectional::take_unwritten) hands it back before.
pub fn copy_bidirectional<A, B>(a: A, b: B) -> CopyBidirectional<A, B>
where
    A: CopyFrom + CopyTo,
    B: CopyFrom + CopyTo,
{
    CopyBidirectional {
        a,
        b,
        there: OneWay::default(),
        back: OneWay::default(),
        idle: None,
    }
}

/// The future of [`copy_bidirectional`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct CopyBidirectional<A, B> {
    a: A,
    b: B,
    /// From `a` to `b`.
    there: OneWay,
    /// From `b` to `a`.
    back: OneWay,
    idle: Option<Idle>,
}

impl<A, B> CopyBidirectional<A, B> {
    /// Has it end with an error when no byte was moved in either direction for `limit`.
    ///
    /// Never earlier, and later by up to a thirty-second of the limit (or a millisecond, if that is more)
    /// if bytes were moved without a pause before.
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.idle = Some(Idle::new(limit));
        self
    }

    /// Returns how many bytes went from `a` to `b`, and from `b` to `a`, so far.
    pub fn moved(&self) -> (u64, u64) {
        (self.there.moved(), self.back.moved())
    }

    /// Takes the bytes that were read and not yet written: first those from `a` that are for `b`,
    /// then those from `b` that are for `a`. As [`Copy::take_unwritten`](super::Copy::take_unwritten).
    ///
    /// # Errors
    ///
    /// As there; what is left in either direction is lost then.
    pub fn take_unwritten(&mut self) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let there = self.there.take_unwritten();
        let back = self.back.take_unwritten();
        Ok((there?, back?))
    }
}

impl<A, B> Unpin for CopyBidirectional<A, B> {}

impl<A, B> Future for CopyBidirectional<A, B>
where
    A: CopyFrom + CopyTo,
    B: CopyFrom + CopyTo,
{
    type Output = io::Result<(u64, u64)>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let copy = self.get_mut();
        let moved = copy.moved();
        // Both are polled each time, whichever the task was woken for.
        let CopyBidirectional { a, b, .. } = copy;
        let lent = &mut Lent::default();
        let there = copy.there.poll(context, lent, a, b)?;
        let back = copy.back.poll(context, lent, b, a)?;
        if there.is_ready() && back.is_ready() {
            return Poll::Ready(Ok(copy.moved()));
        }
        let has_moved = copy.moved() != moved;
        match &mut copy.idle {
            Some(idle) => idle
                .poll(context, has_moved)
                .map(|()| Err(nothing_moved_for(idle.limit()))),
            None => Poll::Pending,
        }
    }
}

#[cold]
fn nothing_moved_for(limit: Duration) -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        format!("no byte was moved in either direction for {limit:?}"),
    )
}
