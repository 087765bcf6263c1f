//! Sending (sendmmsg(2)).

use super::address::Name;
use super::control::Control;
use super::{Departing, MOST};
use crate::sys::{check, retry};
use libc::{c_int, iovec, mmsghdr};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Sends datagrams, at most [`MOST`]; returns how many went. A signal doesn't interrupt it. Without
/// a datagram it returns 0.
///
/// # Errors
///
/// What the system says of the first, if that didn't go; of another, when it is the first.
pub fn send<'a>(
    socket: BorrowedFd<'_>,
    datagrams: impl ExactSizeIterator<Item = Departing<'a>>,
) -> io::Result<usize> {
    match datagrams.len() {
        0 => Ok(0),
        1 => send_some::<1>(socket, datagrams),
        _ => send_some::<MOST>(socket, datagrams),
    }
}

fn send_some<'a, const SOME: usize>(
    socket: BorrowedFd<'_>,
    datagrams: impl Iterator<Item = Departing<'a>>,
) -> io::Result<usize> {
    let mut spaces = [const { None }; SOME];
    let mut names = [Name::NONE; SOME];
    let mut controls = [Control::NONE; SOME];
    // SAFETY: a message header is pointers and integers, for which all zeroes is a value.
    let mut headers: [mmsghdr; SOME] = unsafe { std::mem::zeroed() };
    let mut count = 0;
    for (index, datagram) in datagrams.take(SOME).enumerate() {
        let space = spaces[index].insert(iovec {
            // The kernel only reads from it.
            iov_base: datagram.bytes.as_ptr().cast_mut().cast(),
            iov_len: datagram.bytes.len(),
        });
        let header = &mut headers[index].msg_hdr;
        header.msg_iov = space;
        header.msg_iovlen = 1;
        if let Some(to) = datagram.to {
            let (name, length) = Name::new(to);
            names[index] = name;
            header.msg_name = names[index].pointer();
            header.msg_namelen = length as _;
        }
        let used = write_control(&mut controls[index], &datagram);
        if used > 0 {
            header.msg_control = controls[index].pointer();
            header.msg_controllen = used as _;
        }
        count = index + 1;
    }

    let fd = socket.as_raw_fd();
    let asked = count as libc::c_uint;
    let first = headers.as_mut_ptr();
    let went = retry(|| {
        // SAFETY: the first `count` headers point to names, controls and vectors of this function,
        // with their lengths, and these to slices that are borrowed for `'a`, which is longer. The
        // kernel reads these, and writes to the headers only, which nobody else has access to.
        check(unsafe { libc::sendmmsg(fd, first, asked, libc::MSG_NOSIGNAL as _) })
    })?;
    Ok(went as usize)
}

/// Writes what is said beside the bytes; returns how much space that takes.
///
/// What concerns IPv4 and IPv6 alike is said for both, as each family passes over what the other's
/// level is: so the family of the socket need not be known.
fn write_control(control: &mut Control, datagram: &Departing<'_>) -> usize {
    let mut used = 0;
    match datagram.source {
        Some(IpAddr::V4(source)) => {
            // in_pktinfo: the interface (any), the source, and a destination that isn't looked at.
            let mut value = [0; 12];
            value[4..8].copy_from_slice(&source.octets());
            used = control.push(used, libc::SOL_IP, libc::IP_PKTINFO, &value);
        }
        Some(IpAddr::V6(source)) => {
            // in6_pktinfo: the source, the interface (any).
            let mut value = [0; 20];
            value[..16].copy_from_slice(&source.octets());
            used = control.push(used, libc::SOL_IPV6, libc::IPV6_PKTINFO, &value);
        }
        None => {}
    }
    if let Some(tos) = datagram.tos {
        let value = c_int::from(tos).to_ne_bytes();
        used = control.push(used, libc::SOL_IP, libc::IP_TOS, &value);
        used = control.push(used, libc::SOL_IPV6, libc::IPV6_TCLASS, &value);
    }
    if let Some(length) = datagram.segment {
        let value = length.to_ne_bytes();
        used = control.push(used, libc::SOL_UDP, libc::UDP_SEGMENT, &value);
    }
    used
}
