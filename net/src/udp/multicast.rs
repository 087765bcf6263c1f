//! Groups: who gets what is sent to them, and how far it goes.

use super::UdpSocket;
use crate::options::common;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

impl UdpSocket {
    /// Has the socket get what is sent to `group`, on the interface that has the address
    /// `interface`, or on one that the system chooses if that is 0.0.0.0 (`IP_ADD_MEMBERSHIP`).
    ///
    /// On Linux it gets what other sockets of this machine have joined, too, unless it is bound to
    /// the address of the group.
    ///
    /// # Errors
    ///
    /// What the system says: `InvalidInput` of an address that is no group's, `AddrInUse` if it has
    /// joined before.
    pub fn join_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.option_socket().join_multicast_v4(&group, &interface)
    }

    /// Takes [`join_multicast_v4`](UdpSocket::join_multicast_v4) back; closing the socket does so,
    /// too.
    ///
    /// # Errors
    ///
    /// What the system says: `AddrNotAvailable` if it hasn't joined.
    pub fn leave_multicast_v4(&self, group: Ipv4Addr, interface: Ipv4Addr) -> io::Result<()> {
        self.option_socket().leave_multicast_v4(&group, &interface)
    }

    /// Has the socket get what is sent to `group`, on the interface of that number, or on one that
    /// the system chooses if it is 0 (`IPV6_JOIN_GROUP`).
    ///
    /// # Errors
    ///
    /// As for [`join_multicast_v4`](UdpSocket::join_multicast_v4).
    pub fn join_multicast_v6(&self, group: Ipv6Addr, interface: u32) -> io::Result<()> {
        self.option_socket().join_multicast_v6(&group, interface)
    }

    /// Takes [`join_multicast_v6`](UdpSocket::join_multicast_v6) back; closing the socket does so,
    /// too.
    ///
    /// # Errors
    ///
    /// As for [`leave_multicast_v4`](UdpSocket::leave_multicast_v4).
    pub fn leave_multicast_v6(&self, group: Ipv6Addr, interface: u32) -> io::Result<()> {
        self.option_socket().leave_multicast_v6(&group, interface)
    }

    /// Returns the address of the interface that datagrams to IPv4 groups leave by
    /// (`IP_MULTICAST_IF`); 0.0.0.0 if the system chooses.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn multicast_interface_v4(&self) -> io::Result<Ipv4Addr> {
        self.option_socket().multicast_if_v4()
    }

    /// Says by which interface datagrams to IPv4 groups leave, by an address of it; 0.0.0.0 leaves
    /// that to the system (`IP_MULTICAST_IF`).
    ///
    /// # Errors
    ///
    /// What the system says: `AddrNotAvailable` if no interface has the address.
    pub fn set_multicast_interface_v4(&self, interface: Ipv4Addr) -> io::Result<()> {
        self.option_socket().set_multicast_if_v4(&interface)
    }

    /// Returns the number of the interface that datagrams to IPv6 groups leave by
    /// (`IPV6_MULTICAST_IF`); 0 if the system chooses.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn multicast_interface_v6(&self) -> io::Result<u32> {
        self.option_socket().multicast_if_v6()
    }

    /// Says by which interface datagrams to IPv6 groups leave, by its number; 0 leaves that to the
    /// system (`IPV6_MULTICAST_IF`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_multicast_interface_v6(&self, interface: u32) -> io::Result<()> {
        self.option_socket().set_multicast_if_v6(interface)
    }

    /// Says whether this machine gets what it sends to groups that it has joined itself
    /// (`IP_MULTICAST_LOOP`, `IPV6_MULTICAST_LOOP`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn multicast_loop(&self) -> io::Result<bool> {
        common::multicast_loop(&self.option_socket())
    }

    /// Says whether this machine is to get what it sends to groups that it has joined itself, which
    /// it does at first. The option is the sender's, save on Solaris and illumos.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_multicast_loop(&self, looped: bool) -> io::Result<()> {
        common::set_multicast_loop(&self.option_socket(), looped)
    }

    /// Returns how many routers a datagram to a group may pass (`IP_MULTICAST_TTL`,
    /// `IPV6_MULTICAST_HOPS`), and one.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn multicast_ttl(&self) -> io::Result<u32> {
        common::multicast_ttl(&self.option_socket())
    }

    /// Sets how many routers a datagram to a group may pass, and one: 1, as at first, stays in this
    /// network, and 0 on this machine.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_multicast_ttl(&self, ttl: u32) -> io::Result<()> {
        common::set_multicast_ttl(&self.option_socket(), ttl)
    }
}
