//! Descriptors on their way between processes (`SCM_RIGHTS`, unix(7)).

use super::system;
use crate::system::{NO_SIGNAL, retry};
use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

/// How many descriptors go at once: what Linux allows (`SCM_MAX_FD`), and others, too.
pub(super) const MOST: usize = 253;
const SPACE: usize = cmsg_space!(ScmRights(MOST));

/// What came, and the descriptors that came with it.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReceivedFds {
    /// How many bytes came; of a stream, 0 is the end.
    pub length: usize,
    /// The datagram or record was longer than the space, and the rest of it is lost. Never of a
    /// stream, where the rest comes next.
    pub truncated: bool,
    /// The descriptors, which are closed on exec.
    pub fds: Vec<OwnedFd>,
    /// There were more descriptors than were asked for, or than this process may have open. Those
    /// are closed already.
    pub fds_lost: bool,
}

/// Sends bytes, and with the first of them the descriptors.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> io::Result<usize> {
    if descriptors.len() > MOST {
        return Err(too_many(descriptors.len()));
    }
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        let fits = control.push(SendAncillaryMessage::ScmRights(descriptors));
        assert!(fits, "there is space for as many as may go");
    }
    let buffers = [IoSlice::new(bytes)];
    let flags = NO_SIGNAL | flags;
    retry(|| Ok(rustix::net::sendmsg(socket, &buffers, &mut control, flags)?))
}

fn too_many(count: usize) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{count} descriptors were to be sent at once, and {MOST} may; send several times"),
    )
}

/// Receives what is there, and at most `most` descriptors.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    space: &mut [u8],
    most: usize,
) -> io::Result<ReceivedFds> {
    let mut room = [MaybeUninit::uninit(); SPACE];
    let length = cmsg_space!(ScmRights(system::room(most)));
    let mut control = RecvAncillaryBuffer::new(&mut room[..length]);
    let spaces = &mut [IoSliceMut::new(space)];
    let message = retry(|| {
        Ok(rustix::net::recvmsg(
            socket,
            spaces,
            &mut control,
            system::RECEIVE,
        )?)
    })?;
    let (fds, has_more) = take(&mut control, most)?;
    Ok(ReceivedFds {
        length: message.bytes,
        truncated: message.flags.contains(ReturnFlags::TRUNC),
        fds,
        fds_lost: has_more || message.flags.contains(ReturnFlags::CTRUNC),
    })
}

/// Takes at most `most` of the descriptors that came, and closes the others, as the system gives
/// them in units that are larger than one; says whether there were others.
fn take(control: &mut RecvAncillaryBuffer<'_>, most: usize) -> io::Result<(Vec<OwnedFd>, bool)> {
    let (mut fds, mut has_more) = (Vec::new(), false);
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(came) = message {
            for descriptor in came {
                if fds.len() == most {
                    has_more = true;
                    continue;
                }
                system::close_on_exec(&descriptor)?;
                fds.push(descriptor);
            }
        }
    }
    Ok((fds, has_more))
}
