//! UDP sockets.

mod attempt;
mod batch;
mod failed;
mod inbound;
mod kept;
mod multicast;
mod options;
mod outbound;
mod polled;
mod received;
mod socket;
mod system;
mod transfer;

pub use failed::Failed;
pub use inbound::Inbound;
pub use outbound::Outbound;
pub use received::Received;
pub use socket::UdpSocket;
