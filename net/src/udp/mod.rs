//! UDP sockets.

mod attempt;
mod multicast;
mod options;
mod polled;
mod received;
mod socket;
mod transfer;

pub use received::Received;
pub use socket::UdpSocket;
