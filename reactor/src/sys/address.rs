//! What a descriptor is connected to, if it is a socket.

use libc::c_int;
use std::mem::ManuallyDrop;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{FromRawFd, RawFd};

/// The two ends of a socket.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) local: Option<SocketAddr>,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) is_listening: bool,
}

/// Returns what is known of the ends of a descriptor: nothing if it is no socket, or none with
/// Internet addresses. The caller sees to it that it is not closed meanwhile.
pub(crate) fn ends(fd: RawFd) -> Ends {
    // SAFETY: the descriptor is open, as the caller promises, and is not closed here: the socket is
    // never dropped. Asking for addresses does no harm to what is no TCP socket.
    let socket = ManuallyDrop::new(unsafe { TcpStream::from_raw_fd(fd) });
    Ends {
        local: socket.local_addr().ok(),
        peer: socket.peer_addr().ok(),
        is_listening: is_listening(fd),
    }
}

fn is_listening(fd: RawFd) -> bool {
    let mut value: c_int = 0;
    let mut length = size_of::<c_int>() as libc::socklen_t;
    let pointer = (&raw mut value).cast();
    // SAFETY: both pointers are to variables of this function, and the length says how much space
    // there is for the value.
    let got = unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_ACCEPTCONN,
            pointer,
            &raw mut length,
        )
    };
    got == 0 && value != 0
}
