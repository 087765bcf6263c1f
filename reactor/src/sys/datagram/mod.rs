//! Several datagrams in one system call, and what comes beside their bytes: on Linux and Android;
//! elsewhere there are only the types.
//!
//! Addresses and control messages are written and read as bytes, by the layout that the kernel has
//! for them on all its processors: so the only unsafe code is the calls themselves.

#[cfg(any(target_os = "linux", target_os = "android"))]
mod address;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod control;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod option;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod receive;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod send;

#[cfg(any(target_os = "linux", target_os = "android"))]
pub use option::{Telling, set_telling};
#[cfg(any(target_os = "linux", target_os = "android"))]
pub use receive::{receive, receive_error};
#[cfg(any(target_os = "linux", target_os = "android"))]
pub use send::send;

use std::net::{IpAddr, SocketAddr};

/// How many datagrams one call takes at the most.
pub const MOST: usize = 32;

/// What is told of a datagram that came; the rest after `from` only if it was asked for, by
/// `set_telling`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// How many bytes of it are there.
    pub length: usize,
    /// There were more.
    pub truncated: bool,
    /// Who sent it, where that has an IP address.
    pub from: Option<SocketAddr>,
    /// The address it was sent to.
    pub to: Option<IpAddr>,
    /// The number of the interface on which it came.
    pub interface: Option<u32>,
    /// The class, with the bits of congestion notification.
    pub tos: Option<u8>,
    /// How long each part but the last is, if it is several datagrams in one.
    pub segment: Option<usize>,
    /// What it met, if it is one that was sent from here.
    pub error: Option<Queued>,
}

/// What a datagram that was sent met (`sock_extended_err`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The number of the error.
    pub errno: i32,
    /// Who found out: 1 this machine, 2 and 3 another, by ICMP for IPv4 or IPv6.
    pub origin: u8,
    /// The type of the ICMP message.
    pub kind: u8,
    /// The code of the ICMP message.
    pub code: u8,
    /// What else there is to know: of `EMSGSIZE`, what would have fitted.
    pub information: u32,
    /// Which machine told of it.
    pub offender: Option<IpAddr>,
}

/// A datagram that is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Departing<'a> {
    /// What is in it.
    pub bytes: &'a [u8],
    /// Whom it is for, if not for the peer of a connected socket.
    pub to: Option<SocketAddr>,
    /// The address of this machine that it is to come from.
    pub source: Option<IpAddr>,
    /// The class, with the bits of congestion notification.
    pub tos: Option<u8>,
    /// How long each part is, the last aside, if it is to become several datagrams.
    pub segment: Option<u16>,
}
