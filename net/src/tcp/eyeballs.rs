//! Connecting to whichever of several addresses answers first ("Happy Eyeballs", RFC 8305).
//!
//! 1. The families take turns, beginning with that of the first address; within a family the order
//!    stays as it is (section 4). The look-up has IPv6 first where there is IPv6.
//! 2. The next attempt begins when one has failed, or when the last one has begun a delay ago
//!    (section 5).
//! 3. The first connection wins. The other attempts are dropped, which closes their sockets.
//! 4. When there is nothing left to wait for, the error says what came of each address.

use super::connect::Connecting;
use super::failures::ConnectError;
use super::stream::TcpStream;
use crate::address;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use windlass_reactor::time::{Sleep, sleep};

/// What RFC 8305 recommends, in section 8.
pub(super) const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Connects, by `connect`, to the first of `addresses` that answers; gives up at the `limit`.
pub(super) async fn race(
    addresses: &[SocketAddr],
    delay: Duration,
    limit: Option<Sleep>,
    connect: impl Fn(SocketAddr) -> io::Result<Connecting>,
) -> io::Result<TcpStream> {
    match (addresses, &limit) {
        ([], _) => return Err(address::no_address()),
        // Most often there is one, which needs no race.
        ([only], None) => return connect(*only)?.await,
        _ => {}
    }
    // Apart, so that whoever connects to one address needs no room for a race.
    let mut race = Box::new(Race {
        waiting: take_turns(addresses),
        running: Vec::new(),
        failed: Vec::new(),
        is_due: true,
        delay,
        next: None,
        limit,
    });
    poll_fn(|context| race.poll(context, &connect)).await
}

/// The state of a race.
struct Race {
    /// The addresses that were not tried yet.
    waiting: VecDeque<SocketAddr>,
    running: Vec<Connecting>,
    failed: Vec<(SocketAddr, io::Error)>,
    /// Rule 2: an attempt has failed since the last one began.
    is_due: bool,
    delay: Duration,
    /// When the next attempt begins by itself.
    next: Option<Sleep>,
    limit: Option<Sleep>,
}

impl Race {
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        connect: &impl Fn(SocketAddr) -> io::Result<Connecting>,
    ) -> Poll<io::Result<TcpStream>> {
        loop {
            if let Some(winner) = self.poll_running(context) {
                return Poll::Ready(Ok(winner));
            }
            if self.is_due || self.is_delay_over(context) {
                self.is_due = false;
                if let Some(address) = self.waiting.pop_front() {
                    match connect(address) {
                        Ok(attempt) => self.running.push(attempt),
                        Err(error) => self.fail(address, error),
                    }
                    self.next = (!self.waiting.is_empty()).then(|| sleep(self.delay));
                    continue;
                }
            }
            if self.running.is_empty() {
                return Poll::Ready(Err(self.failure()));
            }
            if poll_sleep(&mut self.limit, context) {
                return Poll::Ready(Err(self.time_out()));
            }
            return Poll::Pending;
        }
    }

    /// Rule 3; attempts that have failed are put aside.
    fn poll_running(&mut self, context: &mut Context<'_>) -> Option<TcpStream> {
        let mut place = 0;
        while let Some(attempt) = self.running.get_mut(place) {
            match Pin::new(attempt).poll(context) {
                Poll::Ready(Ok(stream)) => return Some(stream),
                Poll::Ready(Err(error)) => {
                    let address = self.running.remove(place).address();
                    self.fail(address, error);
                }
                Poll::Pending => place += 1,
            }
        }
        None
    }

    /// Puts a failure aside; by rule 2, the next attempt is due.
    fn fail(&mut self, address: SocketAddr, error: io::Error) {
        self.failed.push((address, error));
        self.is_due = true;
    }

    fn is_delay_over(&mut self, context: &mut Context<'_>) -> bool {
        poll_sleep(&mut self.next, context)
    }

    /// Rule 4.
    fn failure(&mut self) -> io::Error {
        ConnectError::wrap(std::mem::take(&mut self.failed))
    }

    /// Rule 4, for attempts that were cut off, and those that never began.
    fn time_out(&mut self) -> io::Error {
        let running = self.running.drain(..).map(|attempt| attempt.address());
        for address in running.chain(self.waiting.drain(..)) {
            self.failed.push((address, io::ErrorKind::TimedOut.into()));
        }
        ConnectError::wrap_as(io::ErrorKind::TimedOut, std::mem::take(&mut self.failed))
    }
}

/// Says whether the time of `sleep` has come; it is nothing then.
fn poll_sleep(sleep: &mut Option<Sleep>, context: &mut Context<'_>) -> bool {
    let is_over = sleep
        .as_mut()
        .is_some_and(|sleep| Pin::new(sleep).poll(context).is_ready());
    if is_over {
        *sleep = None;
    }
    is_over
}

/// Rule 1.
fn take_turns(addresses: &[SocketAddr]) -> VecDeque<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let of_family = |is_first: bool| {
        let family = move |address: &&SocketAddr| (address.is_ipv6() == first_is_v6) == is_first;
        addresses.iter().filter(family).copied()
    };
    let (mut first, mut second) = (of_family(true), of_family(false));
    let mut order = VecDeque::with_capacity(addresses.len());
    while order.len() < addresses.len() {
        order.extend(first.next());
        order.extend(second.next());
    }
    order
}

#[cfg(test)]
mod tests {
    use super::take_turns;
    use std::net::SocketAddr;

    fn all(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn families_take_turns() {
        let given = all(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "1.1.1.2:1"]);
        let order = all(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "1.1.1.2:1", "[::3]:1"]);
        assert_eq!(take_turns(&given), order);
        let given = all(&["1.1.1.1:1", "[::1]:1", "[::2]:1"]);
        assert_eq!(take_turns(&given), given);
        let given = all(&["1.1.1.1:1", "1.1.1.2:1"]);
        assert_eq!(take_turns(&given), given);
        assert!(take_turns(&[]).is_empty());
    }
}
