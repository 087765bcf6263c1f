//! Receiving (recvmmsg(2)).

use super::address::Name;
use super::control::{Control, Messages};
use super::{Arrived, MOST, Queued};
use crate::sys::{check, retry};
use libc::{iovec, mmsghdr};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Receives datagrams, at most [`MOST`], each into a space, with a place for what is told of it;
/// returns how many came. A signal doesn't interrupt it. Without a space it returns 0.
///
/// # Errors
///
/// What the system says, if nothing came.
pub fn receive<'a>(
    socket: BorrowedFd<'_>,
    places: impl ExactSizeIterator<Item = (&'a mut [u8], &'a mut Arrived)>,
) -> io::Result<usize> {
    match places.len() {
        0 => Ok(0),
        // So that one costs no more than one.
        1 => receive_some::<1>(socket, 0, places),
        _ => receive_some::<MOST>(socket, 0, places),
    }
}

/// Takes an error off the queue that [`Telling::ErrorsV4`](super::Telling::ErrorsV4) makes, with
/// the datagram that met it: `from` is then whom it was for. It never waits.
///
/// # Errors
///
/// `WouldBlock` if the queue is empty; else what the system says.
pub fn receive_error(
    socket: BorrowedFd<'_>,
    space: &mut [u8],
    arrived: &mut Arrived,
) -> io::Result<()> {
    receive_some::<1>(
        socket,
        libc::MSG_ERRQUEUE,
        std::iter::once((space, arrived)),
    )
    .map(drop)
}

fn receive_some<'a, const SOME: usize>(
    socket: BorrowedFd<'_>,
    flags: libc::c_int,
    places: impl Iterator<Item = (&'a mut [u8], &'a mut Arrived)>,
) -> io::Result<usize> {
    let mut told = [const { None }; SOME];
    let mut spaces = [EMPTY; SOME];
    let mut names = [Name::NONE; SOME];
    let mut controls = [Control::NONE; SOME];
    // SAFETY: a message header is pointers and integers, for which all zeroes is a value.
    let mut headers: [mmsghdr; SOME] = unsafe { std::mem::zeroed() };
    let mut count = 0;
    for (index, (space, arrived)) in places.take(SOME).enumerate() {
        told[index] = Some(arrived);
        spaces[index] = iovec {
            iov_base: space.as_mut_ptr().cast(),
            iov_len: space.len(),
        };
        let header = &mut headers[index].msg_hdr;
        header.msg_iov = &raw mut spaces[index];
        header.msg_iovlen = 1;
        header.msg_name = names[index].pointer();
        header.msg_namelen = Name::LENGTH as _;
        header.msg_control = controls[index].pointer();
        header.msg_controllen = Control::SPACE as _;
        count = index + 1;
    }

    let fd = socket.as_raw_fd();
    let asked = count as libc::c_uint;
    let first = headers.as_mut_ptr();
    let came = retry(|| {
        // SAFETY: the first `count` headers point to names, controls and vectors of this function,
        // with their lengths, and these to slices that are borrowed for `'a`, which is longer. The
        // kernel writes to these and to the headers; nobody else has access to them meanwhile.
        check(unsafe { libc::recvmmsg(fd, first, asked, flags as _, std::ptr::null_mut()) })
    })? as usize;

    for index in 0..came {
        if let Some(arrived) = &mut told[index] {
            **arrived = describe(&headers[index], &names[index], &controls[index]);
        }
    }
    Ok(came)
}

const EMPTY: iovec = iovec {
    iov_base: std::ptr::null_mut(),
    iov_len: 0,
};

fn describe(header: &mmsghdr, name: &Name, control: &Control) -> Arrived {
    let told = &header.msg_hdr;
    let mut arrived = Arrived {
        length: header.msg_len as usize,
        truncated: told.msg_flags & libc::MSG_TRUNC != 0,
        from: name.address(told.msg_namelen as usize),
        ..Arrived::default()
    };
    #[allow(clippy::unnecessary_cast, reason = "its type is another one with musl")]
    let used = told.msg_controllen as usize;
    read_control(&mut arrived, control.messages(used));
    arrived
}

fn read_control(arrived: &mut Arrived, messages: Messages<'_>) {
    for (level, kind, value) in messages {
        match (level, kind) {
            // in_pktinfo: the interface, the local address, the destination in the packet. The
            // second would be ours to answer from if the packet was sent to a group.
            (libc::SOL_IP, libc::IP_PKTINFO) => {
                arrived.interface = number(value);
                let address = value.get(8..).and_then(<[u8]>::first_chunk::<4>);
                arrived.to = address.map(|address| Ipv4Addr::from(*address).into());
            }
            // in6_pktinfo: the destination, the interface.
            (libc::SOL_IPV6, libc::IPV6_PKTINFO) => {
                let address = value.first_chunk::<16>();
                arrived.to = address.map(|address| Ipv6Addr::from(*address).to_canonical());
                arrived.interface = value.get(16..).and_then(number);
            }
            (libc::SOL_IP, libc::IP_TOS) => arrived.tos = value.first().copied(),
            (libc::SOL_IPV6, libc::IPV6_TCLASS) => arrived.tos = number(value).map(|n| n as u8),
            (libc::SOL_UDP, libc::UDP_GRO) => {
                arrived.segment = number(value).map(|n| n as usize);
            }
            (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                arrived.error = queued(value);
            }
            _ => {}
        }
    }
}

/// Reads a `sock_extended_err`: the error, four bytes of which the first three are origin, type and
/// code, information, data; and behind it the address of who told of it.
fn queued(value: &[u8]) -> Option<Queued> {
    let (fixed, offender) = value.split_first_chunk::<16>()?;
    Some(Queued {
        errno: number(fixed)? as i32,
        origin: fixed[4],
        kind: fixed[5],
        code: fixed[6],
        information: number(&fixed[8..])?,
        offender: Name::read(offender).map(|address| address.ip()),
    })
}

/// Reads the integer that a value begins with.
fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().copied().map(u32::from_ne_bytes)
}
