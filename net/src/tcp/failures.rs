//! Why none of several addresses could be connected to.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

/// What came of each of several addresses; inside the [`io::Error`] that is returned, which is of
/// the same kind as the error that tells most: one that came from the other side rather than one
/// that says that there is no way there.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::{ConnectError, TcpListener, TcpStream};
///
/// let closed = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
/// let error = TcpStream::connect([closed, closed]).await.unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
/// let error = error.get_ref().unwrap().downcast_ref::<ConnectError>().unwrap();
/// assert_eq!(error.failures().count(), 2);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct ConnectError {
    /// In the order in which they came; not empty.
    failures: Vec<(SocketAddr, io::Error)>,
    /// Which of them tells most.
    telling: usize,
}

impl ConnectError {
    /// Puts failures together, of which there is at least one; a single one stays as it is.
    pub(crate) fn wrap(mut failures: Vec<(SocketAddr, io::Error)>) -> io::Error {
        match failures.len() {
            1 => failures.remove(0).1,
            _ => Self::new(failures).into(),
        }
    }

    /// Puts failures together as an error of another kind.
    pub(super) fn wrap_as(kind: ErrorKind, failures: Vec<(SocketAddr, io::Error)>) -> io::Error {
        io::Error::new(kind, Self::new(failures))
    }

    fn new(failures: Vec<(SocketAddr, io::Error)>) -> Self {
        let told = |failure: &(SocketAddr, io::Error)| how_much_is_told(failure.1.kind());
        let most = failures.iter().map(told).max();
        let telling = failures.iter().position(|one| Some(told(one)) == most);
        Self {
            telling: telling.unwrap_or(0),
            failures,
        }
    }

    /// Returns each address with its error, in the order in which they failed.
    pub fn failures(&self) -> impl Iterator<Item = (SocketAddr, &io::Error)> {
        self.failures
            .iter()
            .map(|(address, error)| (*address, error))
    }
}

/// Says how far an attempt came that has ended with an error of that kind.
fn how_much_is_told(kind: ErrorKind) -> u8 {
    match kind {
        // There is no way there from here, or no such protocol.
        ErrorKind::NetworkUnreachable
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkDown
        | ErrorKind::AddrNotAvailable
        | ErrorKind::Unsupported
        | ErrorKind::InvalidInput => 0,
        ErrorKind::TimedOut => 1,
        // The other side has answered, or this one is out of something.
        _ => 2,
    }
}

impl From<ConnectError> for io::Error {
    fn from(error: ConnectError) -> Self {
        io::Error::new(error.failures[error.telling].1.kind(), error)
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot connect")?;
        for (index, (address, error)) in self.failures.iter().enumerate() {
            let before = if index == 0 { " " } else { ", nor " };
            write!(f, "{before}to {address} ({error})")?;
        }
        Ok(())
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.failures.get(self.telling).map(|(_, error)| error as _)
    }
}

#[cfg(test)]
mod tests {
    use super::ConnectError;
    use std::io::{self, ErrorKind};

    fn failing(kinds: &[ErrorKind]) -> io::Error {
        let address = |index: usize| ([10, 0, 0, index as u8], 80).into();
        let failures = kinds.iter().enumerate();
        ConnectError::wrap(
            failures
                .map(|(index, kind)| (address(index), (*kind).into()))
                .collect(),
        )
    }

    #[test]
    fn the_error_that_tells_most_is_the_cause() {
        use ErrorKind::{AddrNotAvailable, ConnectionRefused, NetworkUnreachable, TimedOut};
        for (kinds, kind) in [
            (
                &[NetworkUnreachable, ConnectionRefused][..],
                ConnectionRefused,
            ),
            (&[ConnectionRefused, NetworkUnreachable], ConnectionRefused),
            (&[NetworkUnreachable, TimedOut, AddrNotAvailable], TimedOut),
            (&[AddrNotAvailable, NetworkUnreachable], AddrNotAvailable),
        ] {
            let error = failing(kinds);
            assert_eq!(error.kind(), kind);
            let source = error.get_ref().unwrap().source().unwrap();
            assert_eq!(source.downcast_ref::<io::Error>().unwrap().kind(), kind);
        }
    }

    #[test]
    fn all_addresses_are_named() {
        let text = failing(&[ErrorKind::TimedOut, ErrorKind::ConnectionRefused]).to_string();
        assert!(
            text.starts_with("cannot connect to 10.0.0.0:80 ("),
            "{text}"
        );
        assert!(text.contains(", nor to 10.0.0.1:80 ("), "{text}");
    }

    #[test]
    fn a_single_error_stays_as_it_is() {
        assert!(failing(&[ErrorKind::TimedOut]).get_ref().is_none());
    }
}
