//! The listener of the servers that are compared.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Socket, Type};

/// Opens a non-blocking listener with a queue long enough for bursts of thousands.
///
/// # Errors
///
/// What the system says.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(4_096)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}
