//! TCP streams and listeners.

mod accept;
mod connect;
mod listener;
mod options;
mod owned;
mod polled;
mod shortage;
mod socket;
mod split;
mod stream;

pub use accept::Incoming;
pub use listener::{BindError, TcpListener};
pub use owned::{OwnedReadHalf, OwnedWriteHalf, ReuniteError};
pub use split::{ReadHalf, WriteHalf};
pub use stream::TcpStream;
