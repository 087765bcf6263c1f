//! Looking up the names of hosts.
//!
//! The system's look-up (getaddrinfo(3)) blocks, for seconds if a name server is silent. So it runs
//! on threads of its own: see `pool.rs`. Somebody else may look names up, too: see `resolver.rs`.

mod error;
mod lookup;
mod pool;
mod resolver;

pub use error::LookupError;
pub use resolver::{LookingUp, Resolver, SystemResolver};

use crate::address::{self, Name, Target, ToAddresses};
use std::io;
use std::net::SocketAddr;

/// Looks up the addresses of a host, all in the order in which the system has them.
///
/// An address, or the text of one, is its own answer. A name is looked up by a thread that nobody
/// waits for at any shutdown, whatever the executor; up to eight names at a time in the process.
///
/// ```
/// # futures::executor::block_on(async {
/// let addresses = windlass_net::lookup_host("localhost:80").await?;
/// assert!(addresses.iter().all(|address| address.ip().is_loopback() && address.port() == 80));
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// # Errors
///
/// A [`LookupError`], which names the host; `InvalidInput` if the text is neither an address nor a
/// name with a port, or if there is no address at all.
///
/// # Cancel safety
///
/// Dropping it takes the question back. A look-up that a thread has begun occupies it until the
/// system answers.
pub async fn lookup_host(address: impl ToAddresses) -> io::Result<Vec<SocketAddr>> {
    addresses(address).await?.into_vec()
}

/// Looks up the addresses of a host as [`lookup_host`] does, but has `resolver` asked for names; see
/// [`Resolver`] for an example.
///
/// # Errors
///
/// As for [`lookup_host`]; what the resolver says is in the [`LookupError`].
///
/// # Cancel safety
///
/// Dropping it drops the future of the resolver.
pub async fn lookup_host_by(
    resolver: &dyn Resolver,
    address: impl ToAddresses,
) -> io::Result<Vec<SocketAddr>> {
    addresses_by(address, Some(resolver)).await?.into_vec()
}

/// One address or many, without an allocation for one.
#[derive(Debug)]
pub(crate) enum Addresses {
    One(SocketAddr),
    Many(Vec<SocketAddr>),
}

impl Addresses {
    pub(crate) fn as_slice(&self) -> &[SocketAddr] {
        match self {
            Self::One(address) => std::slice::from_ref(address),
            Self::Many(addresses) => addresses,
        }
    }

    fn into_vec(self) -> io::Result<Vec<SocketAddr>> {
        match self {
            Self::One(address) => Ok(vec![address]),
            Self::Many(addresses) if addresses.is_empty() => Err(address::no_address()),
            Self::Many(addresses) => Ok(addresses),
        }
    }
}

/// Says which addresses were given, which takes a wait for a name only.
pub(crate) async fn addresses(address: impl ToAddresses) -> io::Result<Addresses> {
    addresses_by(address, None).await
}

/// Says which addresses were given; a name is looked up by the `resolver`, or else by the system.
pub(crate) async fn addresses_by(
    address: impl ToAddresses,
    resolver: Option<&dyn Resolver>,
) -> io::Result<Addresses> {
    let Name { host, port } = match address.to_target()? {
        Target::One(address) => return Ok(Addresses::One(address)),
        Target::Many(addresses) => return Ok(Addresses::Many(addresses)),
        Target::Named(name) => name,
    };
    let found = match resolver {
        Some(resolver) => resolver.look_up(&host, port).await,
        None => match lookup::Lookup::start(host.clone(), port) {
            Ok(lookup) => lookup.await,
            Err(error) => Err(error),
        },
    };
    LookupError::unless_found(&host, found).map(Addresses::Many)
}
