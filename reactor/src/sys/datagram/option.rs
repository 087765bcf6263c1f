//! What the kernel is asked to tell of each datagram.

use super::super::check;
use libc::c_int;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Something that is told of datagrams, if asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// To which address it was sent, and on which interface it came, for IPv4.
    PacketInfoV4,
    /// The same for IPv6.
    PacketInfoV6,
    /// The class, with the bits of congestion notification, for IPv4.
    TosV4,
    /// The same for IPv6.
    TosV6,
    /// How long the parts are, where several datagrams are received as one.
    Segments,
    /// What became of datagrams that were sent, on a queue of its own, for IPv4.
    ErrorsV4,
    /// The same for IPv6.
    ErrorsV6,
}

impl Telling {
    /// Returns the name of the option, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Telling::PacketInfoV4 => "IP_PKTINFO",
            Telling::PacketInfoV6 => "IPV6_RECVPKTINFO",
            Telling::TosV4 => "IP_RECVTOS",
            Telling::TosV6 => "IPV6_RECVTCLASS",
            Telling::Segments => "UDP_GRO",
            Telling::ErrorsV4 => "IP_RECVERR",
            Telling::ErrorsV6 => "IPV6_RECVERR",
        }
    }

    fn number(self) -> (c_int, c_int) {
        match self {
            Telling::PacketInfoV4 => (libc::SOL_IP, libc::IP_PKTINFO),
            Telling::PacketInfoV6 => (libc::SOL_IPV6, libc::IPV6_RECVPKTINFO),
            Telling::TosV4 => (libc::SOL_IP, libc::IP_RECVTOS),
            Telling::TosV6 => (libc::SOL_IPV6, libc::IPV6_RECVTCLASS),
            Telling::Segments => (libc::SOL_UDP, libc::UDP_GRO),
            Telling::ErrorsV4 => (libc::SOL_IP, libc::IP_RECVERR),
            Telling::ErrorsV6 => (libc::SOL_IPV6, libc::IPV6_RECVERR),
        }
    }
}

/// Asks for something to be told, or not.
///
/// # Errors
///
/// What the system says.
pub fn set_telling(socket: BorrowedFd<'_>, what: Telling, told: bool) -> io::Result<()> {
    let (level, number) = what.number();
    let value = c_int::from(told);
    let length = size_of::<c_int>() as libc::socklen_t;
    let pointer = (&raw const value).cast();
    // SAFETY: the pointer is to an integer that lives over the call, and the length is its size.
    let set = unsafe { libc::setsockopt(socket.as_raw_fd(), level, number, pointer, length) };
    check(set).map(drop)
}
