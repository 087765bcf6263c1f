//! Several datagrams at a time, with what is told and said beside their bytes.

use super::kept::Socket;
use super::system;
use super::{Inbound, Outbound, UdpSocket};
use crate::options::common;
use std::io;
use std::task::{Context, Poll};
use windlass_reactor::{Direction, Taken, budget};

impl UdpSocket {
    /// Receives datagrams, each into a place of its own, waiting until at least one comes; returns
    /// how many of the places, from the first on, have one. No more are taken than there are, and
    /// no more than 32.
    ///
    /// On Linux it takes one system call (recvmmsg(2)), elsewhere one each. Without a place it is
    /// done at once.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// use windlass_net::{Inbound, Outbound, UdpSocket};
    ///
    /// let server = UdpSocket::bind("127.0.0.1:0").await?;
    /// let client = UdpSocket::bind("127.0.0.1:0").await?;
    /// let there = server.local_addr()?;
    /// let datagrams = [b"one", b"two"].map(|bytes| Outbound::new(bytes).to(there));
    /// assert_eq!(client.send_many(&datagrams).await?, 2);
    ///
    /// let mut spaces = [[0; 1500]; 8];
    /// let mut places = spaces.each_mut().map(|space| Inbound::new(space));
    /// let count = server.recv_many(&mut places).await?;
    /// assert_eq!(places[0].bytes(), b"one");
    /// for place in &places[..count] {
    ///     assert_eq!(place.from(), Some(client.local_addr()?));
    /// }
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`recv`](UdpSocket::recv); one that comes after the first datagram is told by the
    /// next call.
    ///
    /// # Cancel safety
    ///
    /// Nothing is received by a future that is dropped before it is done.
    pub async fn recv_many(&self, places: &mut [Inbound<'_>]) -> io::Result<usize> {
        if places.is_empty() {
            // There is nothing to wait for.
            return Ok(0);
        }
        let attempt = |socket: &Socket| receive_many(socket, places).map(Taken::Some);
        self.inner.io_with(Direction::Read, attempt).await
    }

    /// Sends datagrams, waiting until there is room for at least one; returns how many went, from
    /// the first on: the rest is for another call. No more than 32 go at once.
    ///
    /// On Linux it takes one system call (sendmmsg(2)), elsewhere one each. Without a datagram it is
    /// done at once.
    ///
    /// # Errors
    ///
    /// What is said of the first, as for [`send`](UdpSocket::send) and
    /// [`send_to`](UdpSocket::send_to): what is said of a later one is told by the call in which it
    /// is the first. `Unsupported`, with the name of the option, if something is said of it that
    /// this system can't do.
    ///
    /// # Cancel safety
    ///
    /// Nothing is sent by a future that is dropped before it is done.
    pub async fn send_many(&self, datagrams: &[Outbound<'_>]) -> io::Result<usize> {
        if datagrams.is_empty() {
            // There is nothing to wait for.
            return Ok(0);
        }
        let attempt = |socket: &Socket| send_many(socket, datagrams).map(Taken::Some);
        self.inner.io_with(Direction::Write, attempt).await
    }

    /// As [`recv_many`](UdpSocket::recv_many), but doesn't wait.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if no datagram is there; else as for [`recv_many`](UdpSocket::recv_many).
    pub fn try_recv_many(&self, places: &mut [Inbound<'_>]) -> io::Result<usize> {
        self.inner
            .try_io(Direction::Read, |socket| receive_many(socket, places))
    }

    /// As [`send_many`](UdpSocket::send_many), but doesn't wait.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is no room; else as for [`send_many`](UdpSocket::send_many).
    pub fn try_send_many(&self, datagrams: &[Outbound<'_>]) -> io::Result<usize> {
        self.inner
            .try_io(Direction::Write, |socket| send_many(socket, datagrams))
    }

    /// As [`recv_many`](UdpSocket::recv_many); see [`poll_recv`](UdpSocket::poll_recv).
    ///
    /// # Errors
    ///
    /// As for [`recv_many`](UdpSocket::recv_many).
    pub fn poll_recv_many(
        &self,
        context: &mut Context<'_>,
        places: &mut [Inbound<'_>],
    ) -> Poll<io::Result<usize>> {
        if places.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.inner.poll_io_with(context, Direction::Read, |socket| {
            receive_many(socket, places).map(Taken::Some)
        })
    }

    /// As [`send_many`](UdpSocket::send_many); see [`poll_send`](UdpSocket::poll_send).
    ///
    /// # Errors
    ///
    /// As for [`send_many`](UdpSocket::send_many).
    pub fn poll_send_many(
        &self,
        context: &mut Context<'_>,
        datagrams: &[Outbound<'_>],
    ) -> Poll<io::Result<usize>> {
        if datagrams.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.inner
            .poll_io_with(context, Direction::Write, |socket| {
                send_many(socket, datagrams).map(Taken::Some)
            })
    }
}

fn receive_many(socket: &Socket, places: &mut [Inbound<'_>]) -> io::Result<usize> {
    let count = socket.attempt(|socket| system::receive_many(socket, places))?;
    charge(places[..count].iter().map(|place| place.arrived.length));
    Ok(count)
}

fn send_many(socket: &Socket, datagrams: &[Outbound<'_>]) -> io::Result<usize> {
    let count = socket.attempt(|socket| system::send_many(socket, datagrams))?;
    charge(
        datagrams[..count]
            .iter()
            .map(|Outbound(sent)| sent.bytes.len()),
    );
    Ok(count)
}

/// Takes datagrams of these lengths from the budget of the task: each is an operation, or several.
fn charge(lengths: impl ExactSizeIterator<Item = usize>) {
    // The first is the operation that was granted.
    budget::charge(lengths.len().saturating_sub(1));
    lengths.for_each(budget::charge_bytes);
}

/// What [`recv_many`](UdpSocket::recv_many) tells.
impl UdpSocket {
    /// Asks for the address that each datagram was sent to, and the interface on which it came, to
    /// be told (`IP_PKTINFO`, `IPV6_RECVPKTINFO`): by [`Inbound::to`] and [`Inbound::interface`].
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system has no such option, or none that is used here; else what it
    /// says.
    pub fn set_packet_info(&self, told: bool) -> io::Result<()> {
        let v6 = common::is_v6(&self.option_socket())?;
        system::set_packet_info(self.socket(), v6, told)
    }

    /// Asks for the class of each datagram, and what it says of congestion, to be told
    /// (`IP_RECVTOS`, `IPV6_RECVTCLASS`): by [`Inbound::tos`].
    ///
    /// # Errors
    ///
    /// As for [`set_packet_info`](UdpSocket::set_packet_info).
    pub fn set_recv_tos(&self, told: bool) -> io::Result<()> {
        let v6 = common::is_v6(&self.option_socket())?;
        system::set_recv_tos(self.socket(), v6, told)
    }

    /// Allows for several datagrams of one sender to be received as one (`UDP_GRO`), which
    /// [`Inbound::segments`] takes apart; Linux only, from 5.0.
    ///
    /// Each place needs space for 64 KiB then, and only `recv_many` will do: others don't tell
    /// where one ends and the next begins.
    ///
    /// # Errors
    ///
    /// As for [`set_packet_info`](UdpSocket::set_packet_info).
    pub fn set_gro(&self, allowed: bool) -> io::Result<()> {
        system::set_gro(self.socket(), allowed)
    }
}
