//! Batches by recvmmsg and sendmmsg, which the reactor crate wraps.

use crate::options::table::named;
use crate::udp::{Failed, Inbound, Outbound};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use windlass_reactor::sys::datagram::{self, Arrived, Telling};

pub(in crate::udp) fn receive_many(
    socket: &UdpSocket,
    places: &mut [Inbound<'_>],
) -> io::Result<usize> {
    let places = places
        .iter_mut()
        .map(|place| (&mut *place.space, &mut place.arrived));
    datagram::receive(socket.as_fd(), places)
}

pub(in crate::udp) fn send_many(
    socket: &UdpSocket,
    datagrams: &[Outbound<'_>],
) -> io::Result<usize> {
    datagram::send(socket.as_fd(), datagrams.iter().map(|datagram| datagram.0))
}

pub(in crate::udp) fn set_packet_info(socket: &UdpSocket, v6: bool, told: bool) -> io::Result<()> {
    match v6 {
        // It tells of IPv4 packets, too.
        true => set(socket, Telling::PacketInfoV6, told),
        false => set(socket, Telling::PacketInfoV4, told),
    }
}

pub(in crate::udp) fn set_recv_tos(socket: &UdpSocket, v6: bool, told: bool) -> io::Result<()> {
    if v6 {
        set(socket, Telling::TosV6, told)?;
    }
    // On an IPv6 socket, for the IPv4 packets that it may get.
    set(socket, Telling::TosV4, told)
}

pub(in crate::udp) fn set_gro(socket: &UdpSocket, allowed: bool) -> io::Result<()> {
    set(socket, Telling::Segments, allowed)
}

pub(in crate::udp) fn set_keep_failed(socket: &UdpSocket, v6: bool, kept: bool) -> io::Result<()> {
    if v6 {
        set(socket, Telling::ErrorsV6, kept)?;
    }
    // As for the class.
    set(socket, Telling::ErrorsV4, kept)
}

/// Takes a datagram that failed off the kernel's queue.
pub(in crate::udp) fn take_failed(
    socket: &UdpSocket,
    space: &mut [u8],
) -> io::Result<Option<Failed>> {
    let mut arrived = Arrived::default();
    match datagram::receive_error(socket.as_fd(), space, &mut arrived) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
        Ok(()) => Ok(arrived.error.map(|met| Failed { arrived, met })),
    }
}

fn set(socket: &UdpSocket, what: Telling, told: bool) -> io::Result<()> {
    named(
        what.name(),
        datagram::set_telling(socket.as_fd(), what, told),
    )
}
