//! A place for a datagram, and what is told of it.

use super::Received;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use windlass_reactor::sys::datagram::Arrived;

/// Space for a datagram, and once one came, what is told of it; for
/// [`recv_many`](crate::UdpSocket::recv_many).
///
/// Some of it is told only if it was asked for: by
/// [`set_packet_info`](crate::UdpSocket::set_packet_info),
/// [`set_recv_tos`](crate::UdpSocket::set_recv_tos) and [`set_gro`](crate::UdpSocket::set_gro).
pub struct Inbound<'a> {
    pub(super) space: &'a mut [u8],
    pub(super) arrived: Arrived,
}

impl<'a> Inbound<'a> {
    /// Takes space for a datagram.
    pub fn new(space: &'a mut [u8]) -> Self {
        let arrived = Arrived::default();
        Self { space, arrived }
    }

    /// Returns the bytes that came, as far as they fitted.
    pub fn bytes(&self) -> &[u8] {
        &self.space[..self.arrived.length]
    }

    /// Says how long it is, and whether some of it didn't fit.
    pub fn received(&self) -> Received {
        Received {
            length: self.arrived.length,
            truncated: self.arrived.truncated,
        }
    }

    /// Says who sent it; nothing if none came yet.
    pub fn from(&self) -> Option<SocketAddr> {
        self.arrived.from
    }

    /// Says to which address it was sent: to answer from there, or to tell a group from others.
    pub fn to(&self) -> Option<IpAddr> {
        self.arrived.to
    }

    /// Says on which interface it came, by its number.
    pub fn interface(&self) -> Option<u32> {
        self.arrived.interface
    }

    /// Says of which class it is, in the upper six bits, and what it says of congestion in the
    /// lower two (ECN, RFC 3168), of which 3 is that a router was congested.
    pub fn tos(&self) -> Option<u8> {
        self.arrived.tos
    }

    /// Goes through the datagrams that came as one, of the same sender: it is just the one, unless
    /// [`set_gro`](crate::UdpSocket::set_gro) allows for more.
    pub fn segments(&self) -> impl Iterator<Item = &[u8]> {
        let bytes = self.bytes();
        let length = self.arrived.segment.unwrap_or(bytes.len()).max(1);
        // An empty datagram is one, too, though it has no part.
        let empty = bytes.is_empty().then_some(bytes);
        bytes.chunks(length).chain(empty)
    }
}

impl fmt::Debug for Inbound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbound")
            .field("space", &self.space.len())
            .field("arrived", &self.arrived)
            .finish()
    }
}
