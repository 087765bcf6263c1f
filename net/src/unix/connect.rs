//! Connecting a Unix socket.

use super::UnixAddr;
use super::error::{Aim, UnixAddrError};
use super::pause::Pause;
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use windlass_reactor::{Async, Direction, Taken};

/// What an attempt has come to.
enum Attempt {
    Connected,
    /// No more connections may wait there: nothing goes on, so that there is nothing to wait for.
    Full,
}

/// Connects a socket that is new.
pub(super) async fn connect<S: AsFd>(socket: &Async<S>, address: &UnixAddr) -> io::Result<()> {
    let name = address.to_system()?;
    let mut pause = Pause::default();
    loop {
        let mut begun = false;
        let attempt = |socket: &S| {
            if begun {
                return outcome(socket);
            }
            begun = true;
            match rustix::net::connect(socket, &name) {
                Ok(()) => Ok(Taken::Some(Attempt::Connected)),
                Err(Errno::AGAIN) => Ok(Taken::Some(Attempt::Full)),
                Err(Errno::INPROGRESS | Errno::INTR) => Err(io::ErrorKind::WouldBlock.into()),
                Err(error) => Err(error.into()),
            }
        };
        match socket.io_with(Direction::Write, attempt).await {
            Ok(Attempt::Connected) => return Ok(()),
            Ok(Attempt::Full) => pause.wait().await,
            Err(error) => return Err(UnixAddrError::wrap(Aim::Connect, address, error)),
        }
    }
}

/// Tells, after an event, what came of a connection that went on by itself, as it does on some
/// systems.
fn outcome(socket: &impl AsFd) -> io::Result<Taken<Attempt>> {
    rustix::net::sockopt::socket_error(socket)??;
    match rustix::net::getpeername(socket) {
        Ok(_) => Ok(Taken::Some(Attempt::Connected)),
        Err(Errno::NOTCONN) => Err(io::ErrorKind::WouldBlock.into()),
        Err(error) => Err(error.into()),
    }
}
