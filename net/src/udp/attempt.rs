//! The operations of a socket, as the system has them: each is one attempt, which may say that it
//! would block.
//!
//! A datagram that fills its space only in part says nothing of those behind it: so, unlike a
//! stream's, no read here counts as having taken all there was.

use super::Received;
use super::kept::Socket;
use crate::system::{self, Datagram, retry};
use rustix::net::RecvFlags;
use std::io;
use std::net::SocketAddr;
use windlass_reactor::{Taken, budget};

pub(super) fn receive(socket: &Socket, space: &mut [u8]) -> io::Result<Taken<Received>> {
    let datagram = receive_datagram(socket, space, RecvFlags::empty())?;
    Ok(Taken::Some(told(&datagram)))
}

pub(super) fn receive_from(
    socket: &Socket,
    space: &mut [u8],
) -> io::Result<Taken<(Received, SocketAddr)>> {
    let datagram = receive_datagram(socket, space, RecvFlags::empty())?;
    with_sender(&datagram)
}

pub(super) fn peek(socket: &Socket, space: &mut [u8]) -> io::Result<Taken<Received>> {
    let datagram = receive_datagram(socket, space, RecvFlags::PEEK)?;
    Ok(Taken::Some(told(&datagram)))
}

pub(super) fn peek_from(
    socket: &Socket,
    space: &mut [u8],
) -> io::Result<Taken<(Received, SocketAddr)>> {
    let datagram = receive_datagram(socket, space, RecvFlags::PEEK)?;
    with_sender(&datagram)
}

pub(super) fn send(socket: &Socket, bytes: &[u8]) -> io::Result<Taken<usize>> {
    let sent = socket.attempt(|socket| retry(|| socket.send(bytes)));
    sent.map(charged)
}

pub(super) fn send_to(
    socket: &Socket,
    bytes: &[u8],
    address: SocketAddr,
) -> io::Result<Taken<usize>> {
    let sent = socket.attempt(|socket| retry(|| socket.send_to(bytes, address)));
    sent.map(charged)
}

fn receive_datagram(socket: &Socket, space: &mut [u8], flags: RecvFlags) -> io::Result<Datagram> {
    let datagram =
        socket.attempt(|socket| retry(|| system::receive_datagram(socket, space, flags)))?;
    budget::charge_bytes(datagram.length);
    Ok(datagram)
}

/// Takes what was moved from the budget of the task.
fn charged(count: usize) -> Taken<usize> {
    budget::charge_bytes(count);
    Taken::Some(count)
}

fn told(datagram: &Datagram) -> Received {
    Received {
        length: datagram.length,
        truncated: datagram.truncated,
    }
}

fn with_sender(datagram: &Datagram) -> io::Result<Taken<(Received, SocketAddr)>> {
    match datagram.from {
        Some(from) => Ok(Taken::Some((told(datagram), from))),
        None => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a datagram came without the address of its sender; this is not a UDP socket",
        )),
    }
}
