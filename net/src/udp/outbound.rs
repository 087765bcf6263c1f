//! A datagram that is to be sent, and what is said of it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use windlass_reactor::sys::datagram::Departing;

/// A datagram that is to be sent; for [`send_many`](crate::UdpSocket::send_many).
///
/// It goes to the peer of a connected socket, unless [`to`](Outbound::to) says otherwise.
#[derive(Clone, Copy)]
pub struct Outbound<'a>(pub(super) Departing<'a>);

impl<'a> Outbound<'a> {
    /// Takes what is in it, which may be nothing.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(Departing {
            bytes,
            to: None,
            source: None,
            tos: None,
            segment: None,
        })
    }

    /// Says whom it is for.
    #[must_use]
    pub fn to(mut self, address: SocketAddr) -> Self {
        self.0.to = Some(address);
        self
    }

    /// Says from which address of this machine it is to come, as one from which a request is to be
    /// answered ([`Inbound::to`](crate::Inbound::to)); of the family that the socket is of.
    /// Linux only (`IP_PKTINFO`, `IPV6_PKTINFO`).
    #[must_use]
    pub fn source(mut self, address: IpAddr) -> Self {
        self.0.source = Some(address);
        self
    }

    /// Says of which class it is and what it says of congestion, as
    /// [`set_tos`](crate::UdpSocket::set_tos) does for all. Linux only (`IP_TOS`, `IPV6_TCLASS`).
    #[must_use]
    pub fn tos(mut self, tos: u8) -> Self {
        self.0.tos = Some(tos);
        self
    }

    /// Has it become several datagrams of `length` bytes each, the last of which may be shorter: up
    /// to 64 of them, and 64 KiB in all. Linux only, from 4.18 (`UDP_SEGMENT`).
    #[must_use]
    pub fn segments(mut self, length: u16) -> Self {
        self.0.segment = Some(length);
        self
    }
}

impl fmt::Debug for Outbound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outbound").field(&self.0).finish()
    }
}
