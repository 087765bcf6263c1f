//! Connecting with options: how attempts follow each other, from where, and how names are looked up.

use super::builder::TcpSocket;
use super::connect::Connecting;
use super::eyeballs::{self, ATTEMPT_DELAY};
use super::stream::TcpStream;
use crate::address::ToAddresses;
use crate::resolve::{self, Resolver};
use std::fmt;
use std::io;
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;
use windlass_reactor::time::{self, sleep_until, timeout};

type Prepare = Arc<dyn Fn(&TcpSocket) -> io::Result<()> + Send + Sync>;

/// Connects as [`TcpStream::connect`] does, but the way it was told to.
///
/// Cloning it is cheap, and it may be used any number of times.
///
/// ```
/// # futures::executor::block_on(async {
/// use std::time::Duration;
/// use windlass_net::{Connector, TcpListener};
///
/// let connector = Connector::new()
///     .attempt_delay(Duration::from_millis(100))
///     .timeout(Duration::from_secs(5))
///     .prepare(|socket| socket.set_nodelay(true));
///
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let stream = connector.connect(("localhost", listener.local_addr()?.port())).await?;
/// assert!(stream.nodelay()?);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Connector {
    attempt_delay: Duration,
    timeout: Option<Duration>,
    from_v4: Option<SocketAddrV4>,
    from_v6: Option<SocketAddrV6>,
    resolver: Option<Arc<dyn Resolver>>,
    prepare: Option<Prepare>,
}

impl Connector {
    /// Makes one that does as [`TcpStream::connect`].
    pub fn new() -> Self {
        Self {
            attempt_delay: ATTEMPT_DELAY,
            timeout: None,
            from_v4: None,
            from_v6: None,
            resolver: None,
            prepare: None,
        }
    }

    /// Has the next address tried when one has not answered for `delay`; at first, 250 ms.
    ///
    /// RFC 8305 advises at least 100 ms, and no more than 2 s. With [`Duration::MAX`] an address is
    /// tried only when the one before has failed.
    pub fn attempt_delay(mut self, delay: Duration) -> Self {
        self.attempt_delay = delay;
        self
    }

    /// Gives up after `limit`, look-up and all; at first, it is left to the system.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Connects from `address`, to addresses of its family; port 0 has the system choose one.
    ///
    /// One may be given for each family. To a family that has none while the other has one,
    /// nothing is connected.
    pub fn local_address(mut self, address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(address) => self.from_v4 = Some(address),
            SocketAddr::V6(address) => self.from_v6 = Some(address),
        }
        self
    }

    /// Has names looked up by `resolver`; at first, it is the system.
    pub fn resolver(mut self, resolver: impl Resolver + 'static) -> Self {
        self.resolver = Some(Arc::new(resolver));
        self
    }

    /// Has `prepare` set options on the socket of each attempt before it connects; an error fails
    /// the attempt.
    pub fn prepare(
        mut self,
        prepare: impl Fn(&TcpSocket) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.prepare = Some(Arc::new(prepare));
        self
    }

    /// Connects to `address`; see [`TcpStream::connect`].
    ///
    /// # Errors
    ///
    /// As for [`TcpStream::connect`]. `TimedOut` when the limit is reached, as a
    /// [`ConnectError`](crate::ConnectError) that says what came of each address, unless the
    /// look-up takes so long.
    ///
    /// # Cancel safety
    ///
    /// Dropping it gives the connection up.
    pub async fn connect(&self, address: impl ToAddresses) -> io::Result<TcpStream> {
        let deadline = self.timeout.map(|limit| time::now().checked_add(limit));
        let looking_up = resolve::addresses_by(address, self.resolver.as_deref());
        let addresses = match self.timeout {
            Some(limit) => timeout(limit, looking_up)
                .await
                .map_err(|_| too_slow(limit))??,
            None => looking_up.await?,
        };
        // A limit that ends after the end of time is none.
        let limit = deadline.flatten().map(sleep_until);
        let connect = |address| self.connect_to(address);
        eyeballs::race(addresses.as_slice(), self.attempt_delay, limit, connect).await
    }

    fn connect_to(&self, address: SocketAddr) -> io::Result<Connecting> {
        let socket = TcpSocket::for_address(address)?;
        if let Some(prepare) = &self.prepare {
            prepare(&socket)?;
        }
        if let Some(from) = self.from(address)? {
            socket.bind(from)?;
        }
        Ok(Connecting::new(socket, address))
    }

    /// Returns the address to connect from.
    fn from(&self, address: SocketAddr) -> io::Result<Option<SocketAddr>> {
        let (here, of_other_family) = match address {
            SocketAddr::V4(_) => (self.from_v4.map(Into::into), self.from_v6.is_some()),
            SocketAddr::V6(_) => (self.from_v6.map(Into::into), self.from_v4.is_some()),
        };
        if here.is_none() && of_other_family {
            return Err(io::Error::new(
                io::ErrorKind::AddrNotAvailable,
                "the local addresses given are all of the other family",
            ));
        }
        Ok(here)
    }
}

fn too_slow(limit: Duration) -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        format!("the name was not looked up within {limit:?}"),
    )
}

impl Default for Connector {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("attempt_delay", &self.attempt_delay)
            .field("timeout", &self.timeout)
            .field("from_v4", &self.from_v4)
            .field("from_v6", &self.from_v6)
            .finish_non_exhaustive()
    }
}
