//! What the address of a socket may be given as.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// An address, several, or the name of a host with a port.
///
/// Text is written `host:port`, an IPv6 address in it in brackets: `[::1]:80`. An address given
/// as text is parsed on the spot; only a name has to be looked up, which
/// [`lookup_host`](crate::lookup_host) says more of.
///
/// It is implemented for the types below and can't be for others.
///
/// ```
/// # futures::executor::block_on(async {
/// use windlass_net::TcpListener;
///
/// let by_text = TcpListener::bind("127.0.0.1:0").await?;
/// let by_parts = TcpListener::bind(("127.0.0.1", 0)).await?;
/// let by_address = TcpListener::bind(std::net::SocketAddr::from(([127, 0, 0, 1], 0))).await?;
/// let wrong = TcpListener::bind("127.0.0.1").await.unwrap_err();
/// assert_eq!(wrong.kind(), std::io::ErrorKind::InvalidInput);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub trait ToAddresses: sealed::ToTarget {}

pub(crate) mod sealed {
    use super::Target;

    /// Seals the trait, and does its work.
    pub trait ToTarget {
        /// Says what was given.
        fn to_target(self) -> std::io::Result<Target>;
    }
}

/// What was given: addresses, or a name that is to be looked up.
#[derive(Debug, PartialEq, Eq)]
pub enum Target {
    /// One address, as most give.
    One(SocketAddr),
    /// Any number of addresses, in the order in which they are tried.
    Many(Vec<SocketAddr>),
    /// A name.
    Named(Name),
}

/// The name of a host, with a port.
#[derive(Debug, PartialEq, Eq)]
pub struct Name {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// The error for a list of addresses that has none.
pub(crate) fn no_address() -> io::Error {
    invalid("no address was given; at least one is needed".into())
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// Takes `host:port` apart.
fn parse(text: &str) -> io::Result<Target> {
    if let Ok(address) = text.parse() {
        return Ok(Target::One(address));
    }
    let wrong = |what: &str| {
        invalid(format!(
            "`{text}` is not an address: {what}; write `host:port`, as in `localhost:80`, \
             `127.0.0.1:80` or `[::1]:80`"
        ))
    };
    let Some((host, port)) = text.rsplit_once(':') else {
        return Err(wrong("it has no port"));
    };
    let Ok(port) = port.parse() else {
        return Err(wrong("its port is not a number from 0 to 65535"));
    };
    let bracketed = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    if host.is_empty() {
        return Err(wrong("it has no host"));
    }
    if bracketed.is_none() && host.contains(':') {
        return Err(wrong("an IPv6 address in it has to be in brackets"));
    }
    named(bracketed.unwrap_or(host), port)
}

/// Sorts out the hosts that are addresses, and those that can't be anything.
fn named(host: &str, port: u16) -> io::Result<Target> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(Target::One(SocketAddr::new(address, port)));
    }
    if host.is_empty() || host.contains('\0') {
        return Err(invalid(format!(
            "{host:?} is not the name of a host; give a name, as `localhost`, or an address"
        )));
    }
    let host = host.to_owned();
    Ok(Target::Named(Name { host, port }))
}

macro_rules! to_addresses {
    ($($given:ty: |$self:ident| $target:expr;)*) => {$(
        impl ToAddresses for $given {}
        impl sealed::ToTarget for $given {
            fn to_target(self) -> io::Result<Target> {
                let $self = self;
                $target
            }
        }
    )*};
}

to_addresses! {
    SocketAddr: |address| Ok(Target::One(address));
    &SocketAddr: |address| Ok(Target::One(*address));
    SocketAddrV4: |address| Ok(Target::One(address.into()));
    SocketAddrV6: |address| Ok(Target::One(address.into()));
    (IpAddr, u16): |parts| Ok(Target::One(parts.into()));
    (Ipv4Addr, u16): |parts| Ok(Target::One(parts.into()));
    (Ipv6Addr, u16): |parts| Ok(Target::One(parts.into()));
    (&str, u16): |parts| named(parts.0, parts.1);
    (String, u16): |parts| named(&parts.0, parts.1);
    &str: |text| parse(text);
    String: |text| parse(&text);
    &String: |text| parse(text);
    &[SocketAddr]: |addresses| Ok(Target::Many(addresses.to_vec()));
    Vec<SocketAddr>: |addresses| Ok(Target::Many(addresses));
    &Vec<SocketAddr>: |addresses| Ok(Target::Many(addresses.clone()));
}

impl<const COUNT: usize> ToAddresses for [SocketAddr; COUNT] {}
impl<const COUNT: usize> sealed::ToTarget for [SocketAddr; COUNT] {
    fn to_target(self) -> io::Result<Target> {
        Ok(Target::Many(self.into()))
    }
}

impl<const COUNT: usize> ToAddresses for &[SocketAddr; COUNT] {}
impl<const COUNT: usize> sealed::ToTarget for &[SocketAddr; COUNT] {
    fn to_target(self) -> io::Result<Target> {
        Ok(Target::Many(self.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::sealed::ToTarget;
    use super::{Name, Target, parse};
    use std::io;

    #[track_caller]
    fn assert_refused(given: impl ToTarget, what: &str) {
        let error = given.to_target().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains(what), "{error}");
    }

    fn target_named(host: &str, port: u16) -> Target {
        let host = host.into();
        Target::Named(Name { host, port })
    }

    #[test]
    fn addresses_are_parsed_on_the_spot() {
        for text in ["1.2.3.4:5", "[::1]:80", "[fe80::1%3]:9"] {
            assert_eq!(parse(text).unwrap(), Target::One(text.parse().unwrap()));
        }
        let local = ("::1", 7).to_target().unwrap();
        assert_eq!(local, Target::One("[::1]:7".parse().unwrap()));
    }

    #[test]
    fn names_are_left_to_be_looked_up() {
        assert_eq!(
            parse("some.host:80").unwrap(),
            target_named("some.host", 80)
        );
        let scoped = parse("[fe80::1%lo]:80").unwrap();
        assert_eq!(scoped, target_named("fe80::1%lo", 80));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_refused(
            "foo",
            "`foo` is not an address: it has no port; write `host:port`",
        );
        assert_refused("1.2.3.4:99999", "not a number from 0 to 65535");
        assert_refused("host:http", "not a number");
        assert_refused(":80", "no host");
        assert_refused("::1:80", "in brackets");
        assert_refused("", "no port");
        assert_refused(("", 80), "not the name of a host");
        assert_refused(("a\0b", 80), "not the name of a host");
    }
}
