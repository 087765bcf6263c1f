//! Why a name can't be had or reached.

use super::UnixAddr;
use std::error::Error;
use std::fmt;
use std::io;

/// Why a Unix socket can't have a name, or can't reach the one that has it; inside the
/// [`io::Error`] that is returned, which is of the same kind as the system's.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::{UnixAddrError, UnixStream};
///
/// let error = UnixStream::connect("/nowhere/at/all").await.unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
/// let error = error.get_ref().unwrap().downcast_ref::<UnixAddrError>().unwrap();
/// assert_eq!(error.address().as_path().unwrap().to_str(), Some("/nowhere/at/all"));
/// # })
/// ```
#[derive(Debug)]
pub struct UnixAddrError {
    aim: Aim,
    address: UnixAddr,
    cause: io::Error,
}

/// What the name was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    Bind,
    Connect,
}

impl UnixAddrError {
    pub(super) fn wrap(aim: Aim, address: &UnixAddr, cause: io::Error) -> io::Error {
        let address = address.clone();
        io::Error::new(
            cause.kind(),
            Self {
                aim,
                address,
                cause,
            },
        )
    }

    /// Returns the name.
    pub fn address(&self) -> &UnixAddr {
        &self.address
    }

    /// Says what may help.
    fn advice(&self) -> &'static str {
        match (self.aim, self.cause.kind()) {
            (Aim::Bind, io::ErrorKind::AddrInUse) => {
                "; another socket has that name, or one that is closed has left its file: \
                 remove it if so, or choose another name"
            }
            (Aim::Bind, io::ErrorKind::NotFound) => "; the folder has to be there",
            (Aim::Bind, io::ErrorKind::PermissionDenied) => {
                "; the folder has to be one that this user may write to"
            }
            (Aim::Connect, io::ErrorKind::NotFound) => "; there is no such file",
            (Aim::Connect, io::ErrorKind::ConnectionRefused) => {
                "; nobody listens there: the file may be left from a socket that is closed"
            }
            (Aim::Connect, io::ErrorKind::PermissionDenied) => {
                "; this user has to be allowed to write to the file"
            }
            _ => "",
        }
    }
}

impl fmt::Display for UnixAddrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            aim,
            address,
            cause,
        } = self;
        let aim = match aim {
            Aim::Bind => "have the name",
            Aim::Connect => "connect to",
        };
        write!(f, "cannot {aim} {address}: {cause}{}", self.advice())
    }
}

impl Error for UnixAddrError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}
