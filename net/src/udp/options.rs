//! What can be set on a UDP socket and told of it, multicast aside.

use super::UdpSocket;
use crate::options::{common, socket_options, table};
use std::io;

socket_options!(UdpSocket);

impl UdpSocket {
    /// Says whether datagrams may be sent to broadcast addresses (`SO_BROADCAST`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn broadcast(&self) -> io::Result<bool> {
        self.option_socket().broadcast()
    }

    /// Allows for datagrams to be sent to broadcast addresses (`SO_BROADCAST`).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_broadcast(&self, allowed: bool) -> io::Result<()> {
        self.option_socket().set_broadcast(allowed)
    }

    /// Returns the class of the packets with the two bits of congestion notification below it
    /// (`IP_TOS`, `IPV6_TCLASS`).
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system has no such option; else what it says.
    pub fn tos(&self) -> io::Result<u8> {
        common::tos(&self.option_socket())
    }

    /// Sets the class of the packets in the upper six bits, as [`set_dscp`](UdpSocket::set_dscp),
    /// and in the lower two what they say of congestion (ECN, RFC 3168): 2 (`ECT(0)`) or 1 if the
    /// protocol minds being told of it, else 0, which `set_dscp` sets as well.
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system has no such option; else what it says.
    pub fn set_tos(&self, tos: u8) -> io::Result<()> {
        common::set_tos(&self.option_socket(), tos)
    }

    /// Says whether the address may be one that is in use; see
    /// [`set_reuse_address`](UdpSocket::set_reuse_address).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn reuse_address(&self) -> io::Result<bool> {
        self.option_socket().reuse_address()
    }

    /// Allows for other sockets to have the address, too, if all say so (`SO_REUSEADDR`); set
    /// before it is bound. It is for multicast, where on Linux all of them get each datagram; of
    /// others only the one that was bound last.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_reuse_address(&self, reused: bool) -> io::Result<()> {
        self.option_socket().set_reuse_address(reused)
    }

    /// Says whether several sockets may have the address (`SO_REUSEPORT`).
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system has no such option; else what it says.
    pub fn reuse_port(&self) -> io::Result<bool> {
        table::reuse_port(&self.option_socket())
    }

    /// Allows for other sockets of the same user to have the address, too, if all say so
    /// (`SO_REUSEPORT`); set before it is bound. On Linux each peer is served by one of them.
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system has no such option; else what it says.
    pub fn set_reuse_port(&self, shared: bool) -> io::Result<()> {
        table::set_reuse_port(&self.option_socket(), shared)
    }

    /// Says whether an IPv6 socket is for IPv6 only (`IPV6_V6ONLY`).
    ///
    /// # Errors
    ///
    /// What the system says, of an IPv4 socket among others.
    pub fn only_v6(&self) -> io::Result<bool> {
        self.option_socket().only_v6()
    }

    /// Has an IPv6 socket be for IPv6 only, or for IPv4 as well (`IPV6_V6ONLY`); set before it is
    /// bound. What holds if nothing is said is left to the system.
    ///
    /// # Errors
    ///
    /// What the system says: of an IPv4 socket, or where IPv4 can't be had as well.
    pub fn set_only_v6(&self, only: bool) -> io::Result<()> {
        self.option_socket().set_only_v6(only)
    }

    /// Binds it to the network device of that name, or to none (`SO_BINDTODEVICE`).
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system has no such option, `PermissionDenied` without the capability
    /// that Linux asks for when it was bound already; else what the system says.
    pub fn bind_device(&self, name: Option<&str>) -> io::Result<()> {
        table::bind_device(&self.option_socket(), name)
    }
}
