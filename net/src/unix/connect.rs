//! Connecting a Unix socket.

use super::UnixAddr;
use super::error::{Aim, UnixAddrError};
use super::pause::Pause;
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use windlass_reactor::{Async, Direction, Taken};

/// Connects a socket that is new, or one of datagrams, to another peer than before.
pub(super) async fn connect<S: AsFd>(socket: &Async<S>, address: &UnixAddr) -> io::Result<()> {
    let name = address.to_system()?;
    let mut pause = Pause::default();
    loop {
        // Tried at once, whatever the socket waits for otherwise.
        let done = match rustix::net::connect(socket.get_ref(), &name) {
            // No more connections may wait there: nothing goes on, so that to wait for an event
            // would be for ever.
            Err(Errno::AGAIN) => {
                pause.wait().await;
                continue;
            }
            Err(Errno::INPROGRESS | Errno::INTR) => socket.io_with(Direction::Write, outcome).await,
            done => done.map_err(io::Error::from),
        };
        return done.map_err(|error| UnixAddrError::wrap(Aim::Connect, address, error));
    }
}

/// Tells what came of a connection that goes on by itself, as it does on some systems.
fn outcome(socket: &impl AsFd) -> io::Result<Taken<()>> {
    rustix::net::sockopt::socket_error(socket)??;
    match rustix::net::getpeername(socket) {
        Ok(_) => Ok(Taken::Some(())),
        Err(Errno::NOTCONN) => Err(io::ErrorKind::WouldBlock.into()),
        Err(error) => Err(error.into()),
    }
}
