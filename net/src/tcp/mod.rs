//! TCP streams and listeners.

mod builder;
mod connect;
mod connector;
mod eyeballs;
mod failures;
mod listener;
mod options;
mod sharded;
mod socket;
mod stream;
mod urgent;

pub use builder::TcpSocket;
pub use connector::Connector;
pub use failures::ConnectError;
pub use listener::{BindError, TcpListener};
pub use stream::TcpStream;
