//! Why a name could not be looked up.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;

/// Why the name of a host has no addresses; inside the [`io::Error`] that is returned.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::{LookupError, TcpStream};
///
/// let error = TcpStream::connect("no..such.host:80").await.unwrap_err();
/// let error = error.get_ref().unwrap().downcast_ref::<LookupError>().unwrap();
/// assert_eq!(error.host(), "no..such.host");
/// # });
/// ```
#[derive(Debug)]
pub struct LookupError {
    host: String,
    cause: io::Error,
}

impl LookupError {
    /// Wraps an error of a look-up; no address at all is one.
    pub(super) fn unless_found(
        host: &str,
        found: io::Result<Vec<SocketAddr>>,
    ) -> io::Result<Vec<SocketAddr>> {
        let none = || io::Error::new(io::ErrorKind::NotFound, "it has no address");
        match found {
            Ok(found) if found.is_empty() => Err(Self::wrap(host, none())),
            Ok(found) => Ok(found),
            Err(cause) => Err(Self::wrap(host, cause)),
        }
    }

    fn wrap(host: &str, cause: io::Error) -> io::Error {
        let host = host.to_owned();
        io::Error::new(cause.kind(), Self { host, cause })
    }

    /// Returns the name that was looked up.
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, cause } = self;
        write!(f, "cannot find the host `{host}`: {cause}")
    }
}

impl Error for LookupError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}
