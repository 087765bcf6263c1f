//! TCP streams and listeners.

mod accept;
mod builder;
mod connect;
mod connector;
mod eyeballs;
mod failures;
mod listener;
mod options;
mod owned;
mod polled;
mod sharded;
mod shortage;
mod socket;
mod split;
mod stream;
mod urgent;

pub use accept::Incoming;
pub(crate) use accept::is_shortage_error;
pub use builder::TcpSocket;
pub use connector::Connector;
pub use failures::ConnectError;
pub use listener::{BindError, TcpListener};
pub use owned::{OwnedReadHalf, OwnedWriteHalf, ReuniteError};
pub use shortage::AcceptBackoff;
pub use split::{ReadHalf, WriteHalf};
pub use stream::TcpStream;
