//! What became of datagrams that were sent.

use super::{Received, UdpSocket, system};
use crate::options::common;
use rustix::io::Errno;
use std::io;
use std::net::{IpAddr, SocketAddr};
use windlass_reactor::sys::datagram::{Arrived, Queued};

/// A datagram that didn't reach its peer, and why; from
/// [`take_failed`](UdpSocket::take_failed).
#[derive(Clone, Copy, Debug)]
pub struct Failed {
    pub(super) arrived: Arrived,
    pub(super) met: Queued,
}

/// The origins of errors that came by ICMP: `SO_EE_ORIGIN_ICMP` and `SO_EE_ORIGIN_ICMP6`.
const BY_ICMP: [u8; 2] = [2, 3];

impl Failed {
    /// The same, if less than came back is in the space that was given.
    pub(super) fn cut_to(mut self, length: usize) -> Self {
        self.arrived.truncated |= length < self.arrived.length;
        self.arrived.length = length;
        self
    }

    /// Returns the error: `ConnectionRefused` if nobody was there.
    pub fn error(&self) -> io::Error {
        io::Error::from_raw_os_error(self.met.errno)
    }

    /// Says whom the datagram was for.
    pub fn to(&self) -> Option<SocketAddr> {
        self.arrived.from
    }

    /// Says how much of the datagram is in the space that was given: what came back of it, which
    /// may be less than was sent.
    pub fn received(&self) -> Received {
        Received {
            length: self.arrived.length,
            truncated: self.arrived.truncated,
        }
    }

    /// Returns the type and the code of the ICMP message that told of it, if one did.
    pub fn icmp(&self) -> Option<(u8, u8)> {
        let by_icmp = BY_ICMP.contains(&self.met.origin);
        by_icmp.then_some((self.met.kind, self.met.code))
    }

    /// Says which machine told of it.
    pub fn offender(&self) -> Option<IpAddr> {
        self.met.offender
    }

    /// Says how long a packet may be on the way, if this one was too long.
    pub fn mtu(&self) -> Option<u32> {
        let too_long = self.met.errno == Errno::MSGSIZE.raw_os_error();
        too_long.then_some(self.met.information)
    }
}

impl UdpSocket {
    /// Asks for datagrams that don't reach their peer to be kept, for
    /// [`take_failed`](UdpSocket::take_failed); Linux only (`IP_RECVERR`, `IPV6_RECVERR`).
    ///
    /// An operation of a socket that isn't connected then says such errors, too, of whichever peer:
    /// a server has to go on after them. Whenever one is said, take what is kept until nothing is
    /// left: of what isn't taken 64 are kept, and those that fail later are told of, but lost.
    /// Each time that an operation has to wait then costs one system call more.
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system has no such option; else what it says.
    pub fn set_keep_failed(&self, kept: bool) -> io::Result<()> {
        let v6 = common::is_v6(&self.option_socket())?;
        system::set_keep_failed(self.socket(), v6, kept)?;
        self.inner.get_ref().keep_failed(kept);
        Ok(())
    }

    /// Takes a datagram that didn't reach its peer, if one is kept: its bytes, as far as they came
    /// back, into `space`. It doesn't wait: there is one when another operation has said an error.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// # use windlass_net::UdpSocket;
    /// # let gone = UdpSocket::bind("127.0.0.1:0").await?.local_addr()?;
    /// let socket = UdpSocket::bind("127.0.0.1:0").await?;
    /// if let Err(unsupported) = socket.set_keep_failed(true) {
    ///     return Ok(println!("{unsupported}"));
    /// }
    /// socket.send_to(b"lost", gone).await?;
    /// let mut space = [0; 1500];
    /// if let Err(error) = socket.recv_from(&mut space).await {
    ///     while let Some(failed) = socket.take_failed(&mut space)? {
    ///         assert_eq!(failed.to(), Some(gone));
    ///         assert_eq!(failed.error().kind(), error.kind());
    ///     }
    /// }
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`set_keep_failed`](UdpSocket::set_keep_failed).
    pub fn take_failed(&self, space: &mut [u8]) -> io::Result<Option<Failed>> {
        self.inner.get_ref().take_failed(space)
    }
}
