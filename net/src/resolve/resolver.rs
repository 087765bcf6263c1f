//! Who looks names up: the system, or somebody else.

use super::lookup::Lookup;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

/// What looks the names of hosts up; give it to a [`Connector`](crate::Connector), or to
/// [`lookup_host_by`](crate::lookup_host_by).
///
/// ```
/// # futures::executor::block_on(async {
/// use std::io;
/// use windlass_net::{LookingUp, Resolver, TcpListener, lookup_host_by};
///
/// /// Knows the hosts of one's own by heart, and no other.
/// struct Inventory;
///
/// impl Resolver for Inventory {
///     fn look_up<'a>(&'a self, host: &'a str, port: u16) -> LookingUp<'a> {
///         Box::pin(async move {
///             match host {
///                 "storage" => Ok(vec![([127, 0, 0, 1], port).into()]),
///                 _ => Err(io::ErrorKind::NotFound.into()),
///             }
///         })
///     }
/// }
///
/// let addresses = lookup_host_by(&Inventory, "storage:80").await?;
/// assert_eq!(addresses, ["127.0.0.1:80".parse().unwrap()]);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub trait Resolver: Send + Sync {
    /// Looks the addresses of `host` up, and returns them with `port`, best first.
    ///
    /// It is asked for names only: what is an address is known. Dropping the future should end the
    /// look-up; an error of it is passed on inside a [`LookupError`](crate::LookupError).
    fn look_up<'a>(&'a self, host: &'a str, port: u16) -> LookingUp<'a>;
}

/// What [`Resolver::look_up`] returns.
pub type LookingUp<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;

/// The system's look-up (getaddrinfo(3)), on the threads that [`lookup_host`](crate::lookup_host)
/// uses as well: for a resolver of your own that knows some names only, and has others asked here.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::{SystemResolver, lookup_host_by};
///
/// let addresses = lookup_host_by(&SystemResolver, "localhost:80").await?;
/// assert!(addresses.iter().all(|address| address.ip().is_loopback()));
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn look_up<'a>(&'a self, host: &'a str, port: u16) -> LookingUp<'a> {
        Box::pin(async move { Lookup::start(host.to_owned(), port)?.await })
    }
}
