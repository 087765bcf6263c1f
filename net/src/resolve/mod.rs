//! Looking up the names of hosts.
//!
//! The system's look-up (getaddrinfo(3)) blocks, for seconds if a name server is silent. So it runs
//! on threads of its own: see `pool.rs`.

mod lookup;
mod pool;

pub use lookup::LookupError;

use crate::address::{self, Target, ToAddresses};
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
/// Dropping it forgets the answer. A look-up that a thread has begun occupies it until the system
/// answers.
pub async fn lookup_host(address: impl ToAddresses) -> io::Result<Vec<SocketAddr>> {
    let found = addresses(address).await?.as_slice().to_vec();
    if found.is_empty() {
        return Err(address::no_address());
    }
    Ok(found)
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
}

/// Says which addresses were given, which takes a wait for a name only.
pub(crate) async fn addresses(address: impl ToAddresses) -> io::Result<Addresses> {
    match address.to_target()? {
        Target::One(address) => Ok(Addresses::One(address)),
        Target::Many(addresses) => Ok(Addresses::Many(addresses)),
        Target::Named(name) => lookup::Lookup::start(name)?.await.map(Addresses::Many),
    }
}
