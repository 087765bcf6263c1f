//! Who is at the other end.

use std::io;
use std::os::fd::BorrowedFd;
use windlass_reactor::sys::unix;

/// Who made the other end of a Unix socket, as the system knows it: at the time it connected,
/// listened, or made both ends.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::UnixStream;
///
/// let (one, _other) = UnixStream::pair()?;
/// let peer = one.peer_cred()?;
/// assert!(peer.pid.is_none_or(|pid| pid == std::process::id()));
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Credentials {
    /// The process; nothing where the system doesn't tell (FreeBSD, DragonFly), or where it has no
    /// number in this container. It may have ended, and another have its number.
    pub pid: Option<u32>,
    /// The user whose rights it had (the effective one).
    pub uid: u32,
    /// The group whose rights it had (the effective one).
    pub gid: u32,
}

/// Asks the system.
pub(super) fn of_peer(socket: BorrowedFd<'_>) -> io::Result<Credentials> {
    let peer = unix::peer(socket)?;
    // Linux says so of a socket without a peer.
    if peer.process == Some(0) && peer.user == u32::MAX && peer.group == u32::MAX {
        return Err(io::ErrorKind::NotConnected.into());
    }
    let pid = peer.process.and_then(|pid| u32::try_from(pid).ok());
    Ok(Credentials {
        pid: pid.filter(|pid| *pid > 0),
        uid: peer.user,
        gid: peer.group,
    })
}
