//! Batches where the system has none.

use crate::options::table::unsupported;
use crate::system::{self, retry};
use crate::udp::{Failed, Inbound, Outbound};
use rustix::net::RecvFlags;
use std::io;
use std::net::UdpSocket;
use windlass_reactor::sys::datagram::{Arrived, MOST};

/// Receives one datagram. After another an error would have to be kept for the next call, as the
/// system forgets it when it is told.
pub(in crate::udp) fn receive_many(
    socket: &UdpSocket,
    places: &mut [Inbound<'_>],
) -> io::Result<usize> {
    let Some(place) = places.first_mut() else {
        return Ok(0);
    };
    let came = retry(|| system::receive_datagram(socket, place.space, RecvFlags::empty()))?;
    place.arrived = Arrived {
        length: came.length,
        truncated: came.truncated,
        from: came.from,
        ..Arrived::default()
    };
    Ok(1)
}

/// Sends one after the other. An error after the first comes again when that datagram is the first.
pub(in crate::udp) fn send_many(
    socket: &UdpSocket,
    datagrams: &[Outbound<'_>],
) -> io::Result<usize> {
    let mut count = 0;
    for datagram in &datagrams[..datagrams.len().min(MOST)] {
        match send_one(socket, datagram) {
            Err(error) if count == 0 => return Err(error),
            Err(_) => break,
            Ok(_) => count += 1,
        }
    }
    Ok(count)
}

fn send_one(socket: &UdpSocket, Outbound(datagram): &Outbound<'_>) -> io::Result<usize> {
    let said = [
        (datagram.source.is_some(), "IP_PKTINFO"),
        (datagram.tos.is_some(), "IP_TOS for one datagram"),
        (datagram.segment.is_some(), "UDP_SEGMENT"),
    ];
    if let Some((_, option)) = said.into_iter().find(|(said, _)| *said) {
        return Err(unsupported(option));
    }
    retry(|| match datagram.to {
        Some(address) => socket.send_to(datagram.bytes, address),
        None => socket.send(datagram.bytes),
    })
}

pub(in crate::udp) fn set_packet_info(_: &UdpSocket, _: bool, _: bool) -> io::Result<()> {
    Err(unsupported("IP_PKTINFO"))
}

pub(in crate::udp) fn set_recv_tos(_: &UdpSocket, _: bool, _: bool) -> io::Result<()> {
    Err(unsupported("IP_RECVTOS"))
}

pub(in crate::udp) fn set_gro(_: &UdpSocket, _: bool) -> io::Result<()> {
    Err(unsupported("UDP_GRO"))
}

pub(in crate::udp) fn set_keep_failed(_: &UdpSocket, _: bool, _: bool) -> io::Result<()> {
    Err(unsupported("IP_RECVERR"))
}

pub(in crate::udp) fn take_failed(_: &UdpSocket, _: &mut [u8]) -> io::Result<Option<Failed>> {
    Err(unsupported("IP_RECVERR"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (UdpSocket, UdpSocket) {
        let [a, b] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        b.set_nonblocking(true).unwrap();
        (a, b)
    }

    #[test]
    fn what_goes_comes_in_its_order() {
        let (a, b) = pair();
        let there = b.local_addr().unwrap();
        let datagrams = [&b"one"[..], b"", b"three"].map(|bytes| Outbound::new(bytes).to(there));
        assert_eq!(send_many(&a, &datagrams).unwrap(), 3);
        for expected in ["one", "", "th"] {
            let mut space = [0; 3];
            let space = &mut space[..if expected == "th" { 2 } else { 3 }];
            let mut places = [Inbound::new(space)];
            assert_eq!(receive_many(&b, &mut places).unwrap(), 1);
            assert_eq!(places[0].bytes(), expected.as_bytes());
            assert_eq!(places[0].received().truncated, expected == "th");
            assert_eq!(places[0].from(), Some(a.local_addr().unwrap()));
        }
        let none = receive_many(&b, &mut [Inbound::new(&mut [])]).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(receive_many(&b, &mut []).unwrap(), 0);
        assert_eq!(send_many(&a, &[]).unwrap(), 0);
    }

    #[test]
    fn an_error_is_told_when_it_is_the_first() {
        let (a, b) = pair();
        let there = b.local_addr().unwrap();
        let good = Outbound::new(b"good").to(there);
        let batch = [good, good.segments(2), good];
        assert_eq!(send_many(&a, &batch).unwrap(), 1);
        let error = send_many(&a, &batch[1..]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert!(error.to_string().contains("UDP_SEGMENT"), "{error}");
    }

    #[test]
    fn what_is_lacking_is_named() {
        let (a, _) = pair();
        let lacking = [
            ("IP_PKTINFO", set_packet_info(&a, false, true)),
            ("IP_RECVTOS", set_recv_tos(&a, false, true)),
            ("UDP_GRO", set_gro(&a, true)),
            ("IP_RECVERR", set_keep_failed(&a, false, true)),
            ("IP_RECVERR", take_failed(&a, &mut []).map(drop)),
        ];
        for (option, done) in lacking {
            let error = done.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            assert!(error.to_string().contains(option), "{error}");
        }
    }
}
