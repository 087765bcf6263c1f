//! The names of Unix sockets.

use super::system;
use rustix::net::{SocketAddrAny, SocketAddrUnix};
use socket2::SockAddr;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use windlass_reactor::sys::unix::{ADDRESS_LENGTH, NAME_LENGTH};

/// The name of a Unix socket, as unix(7) has them.
///
/// Whatever is a path can be given for one; [`abstract_name`](UnixAddr::abstract_name) makes one
/// that is none.
///
/// ```
/// use std::path::PathBuf;
/// use windlass_net::UnixAddr;
///
/// assert_eq!(UnixAddr::from("/run/echo"), UnixAddr::Path(PathBuf::from("/run/echo")));
/// assert_eq!(UnixAddr::abstract_name("echo").to_string(), "@echo");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UnixAddr {
    /// A file. It may have any bytes but zeroes in its name, and about a hundred of them: 107 on
    /// Linux.
    Path(PathBuf),
    /// A name that is no file's, and which goes with its socket. It may have any bytes, zeroes
    /// among them. Linux only.
    Abstract(Vec<u8>),
    /// No name: that of a socket that wasn't given one, as most that connect.
    Unnamed,
}

impl UnixAddr {
    /// Makes a name that is no file's; Linux only: elsewhere it can't be used.
    pub fn abstract_name(name: impl AsRef<[u8]>) -> Self {
        Self::Abstract(name.as_ref().into())
    }

    /// Returns the path, if it is one.
    pub fn as_path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            _ => None,
        }
    }

    /// Returns the name that is no file's, if it is one.
    pub fn as_abstract_name(&self) -> Option<&[u8]> {
        match self {
            Self::Abstract(name) => Some(name),
            _ => None,
        }
    }

    /// Says whether it is none.
    pub fn is_unnamed(&self) -> bool {
        *self == Self::Unnamed
    }

    /// Turns it into the system's form, of a name that is to be bound or reached.
    pub(super) fn to_system(&self) -> io::Result<SocketAddrUnix> {
        match self {
            Self::Path(path) => {
                let bytes = path.as_os_str().as_bytes();
                check_path(bytes)?;
                Ok(SocketAddrUnix::new(bytes)?)
            }
            Self::Abstract(name) => {
                if name.len() >= NAME_LENGTH {
                    return Err(too_long(name.len(), NAME_LENGTH - 1));
                }
                system::abstract_name(name)
            }
            Self::Unnamed => Err(invalid(
                "this is the name of no socket; give a path or an abstract name".into(),
            )),
        }
    }

    /// Takes a name as the system tells it of a peer, by way of rustix, if that can read it: of
    /// another program's file the path may fill all the room there is, and the zero that it has no
    /// room for is counted all the same.
    pub(super) fn from_system(address: Option<SocketAddrAny>) -> Option<Self> {
        let Some(address) = address else {
            return Some(Self::Unnamed);
        };
        let length = address.addr_len() as usize;
        // rustix would take it for an empty abstract name.
        if length <= ADDRESS_LENGTH - NAME_LENGTH {
            return Some(Self::Unnamed);
        }
        if length > ADDRESS_LENGTH {
            return None;
        }
        let address = SocketAddrUnix::try_from(address).ok()?;
        match (address.path_bytes(), system::as_abstract_name(&address)) {
            (Some(path), _) => Some(Self::from_path_bytes(path)),
            (None, Some(name)) => Some(Self::Abstract(name.into())),
            (None, None) => Some(Self::Unnamed),
        }
    }

    pub(super) fn from_socket2(address: &SockAddr) -> Self {
        match (address.as_pathname(), address.as_abstract_namespace()) {
            (Some(path), _) => Self::from_path_bytes(path.as_os_str().as_bytes()),
            (None, Some(name)) => Self::Abstract(name.into()),
            (None, None) => Self::Unnamed,
        }
    }

    /// Takes a path, of which some systems say that it is longer than it is.
    fn from_path_bytes(bytes: &[u8]) -> Self {
        let path = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        match path {
            [] => Self::Unnamed,
            path => Self::Path(Path::new(OsStr::from_bytes(path)).into()),
        }
    }
}

fn check_path(path: &[u8]) -> io::Result<()> {
    if path.is_empty() {
        return Err(invalid("the path of the socket is empty; give one".into()));
    }
    if path.contains(&0) {
        return Err(invalid(
            "there is a zero in the path of the socket, which no file can have in its name; \
             a name that is no file's is made by `UnixAddr::abstract_name`"
                .into(),
        ));
    }
    if path.len() >= NAME_LENGTH {
        return Err(too_long(path.len(), NAME_LENGTH - 1));
    }
    Ok(())
}

fn too_long(length: usize, most: usize) -> io::Error {
    invalid(format!(
        "the name of the socket has {length} bytes, and may have {most}; choose a shorter one, \
         or a path from the current directory"
    ))
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

impl<P: AsRef<Path> + ?Sized> From<&P> for UnixAddr {
    fn from(path: &P) -> Self {
        Self::Path(path.as_ref().into())
    }
}

impl From<PathBuf> for UnixAddr {
    fn from(path: PathBuf) -> Self {
        Self::Path(path)
    }
}

impl From<String> for UnixAddr {
    fn from(path: String) -> Self {
        Self::Path(path.into())
    }
}

impl From<&UnixAddr> for UnixAddr {
    fn from(address: &UnixAddr) -> Self {
        address.clone()
    }
}

/// As tools print them: an abstract name begins with `@`.
impl fmt::Display for UnixAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Abstract(name) => write!(f, "@{}", name.escape_ascii()),
            Self::Unnamed => f.write_str("(unnamed)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NAME_LENGTH, UnixAddr};
    use std::io::ErrorKind;

    /// What no socket can be called is told, and doesn't panic.
    #[test]
    fn what_is_no_name_is_told() {
        for address in [
            UnixAddr::from(""),
            UnixAddr::from("a\0b"),
            UnixAddr::from(&"x".repeat(NAME_LENGTH)),
            UnixAddr::abstract_name(vec![b'x'; NAME_LENGTH]),
            UnixAddr::Unnamed,
        ] {
            let error = address.to_system().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{address:?}");
        }
        let longest = UnixAddr::from(&"x".repeat(NAME_LENGTH - 1));
        let address = longest.to_system().unwrap();
        // rustix counts the zero at the end of this one.
        let told = UnixAddr::from_path_bytes(address.path_bytes().unwrap());
        assert_eq!(told, longest);
    }
}
