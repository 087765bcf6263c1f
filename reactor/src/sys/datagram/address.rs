//! The addresses of sockets, as the kernel has them.

use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};

/// A `sockaddr_in` or `sockaddr_in6`: the family, the port with the upper byte first, and then for
/// IPv4 the address, for IPv6 the flow, the address and the scope.
#[derive(Clone, Copy)]
#[repr(C, align(4))]
pub(super) struct Name([u8; Name::LENGTH]);

impl Name {
    /// The length of the longer one, of IPv6.
    pub(super) const LENGTH: usize = 28;
    const LENGTH_V4: usize = 16;

    pub(super) const NONE: Self = Self([0; Self::LENGTH]);

    /// Writes an address; returns how long it is, too.
    pub(super) fn new(address: SocketAddr) -> (Self, usize) {
        let mut name = Self::NONE;
        let Self(bytes) = &mut name;
        bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        let (family, length) = match address {
            SocketAddr::V4(address) => {
                bytes[4..8].copy_from_slice(&address.ip().octets());
                (libc::AF_INET, Self::LENGTH_V4)
            }
            SocketAddr::V6(address) => {
                bytes[4..8].copy_from_slice(&address.flowinfo().to_ne_bytes());
                bytes[8..24].copy_from_slice(&address.ip().octets());
                bytes[24..28].copy_from_slice(&address.scope_id().to_ne_bytes());
                (libc::AF_INET6, Self::LENGTH)
            }
        };
        bytes[..2].copy_from_slice(&(family as u16).to_ne_bytes());
        (name, length)
    }

    /// Reads an address of that length; nothing if it is of another family.
    pub(super) fn address(&self, length: usize) -> Option<SocketAddr> {
        let Self(bytes) = self;
        let family = libc::c_int::from(u16::from_ne_bytes(part(bytes, 0)));
        let port = u16::from_be_bytes(part(bytes, 2));
        match family {
            libc::AF_INET if length >= Self::LENGTH_V4 => {
                Some(SocketAddr::from((part::<4>(bytes, 4), port)))
            }
            libc::AF_INET6 if length >= Self::LENGTH => {
                let flow = u32::from_ne_bytes(part(bytes, 4));
                let scope = u32::from_ne_bytes(part(bytes, 24));
                let address = Ipv6Addr::from(part::<16>(bytes, 8));
                Some(SocketAddrV6::new(address, port, flow, scope).into())
            }
            _ => None,
        }
    }

    /// Reads an address out of bytes, if one is there.
    pub(super) fn read(bytes: &[u8]) -> Option<SocketAddr> {
        let length = bytes.len().min(Self::LENGTH);
        let mut name = Self::NONE;
        name.0[..length].copy_from_slice(&bytes[..length]);
        name.address(length)
    }

    pub(super) fn pointer(&mut self) -> *mut libc::c_void {
        self.0.as_mut_ptr().cast()
    }
}

/// Copies bytes out of the middle of others.
fn part<const LENGTH: usize>(bytes: &[u8], from: usize) -> [u8; LENGTH] {
    let mut part = [0; LENGTH];
    part.copy_from_slice(&bytes[from..from + LENGTH]);
    part
}

#[cfg(test)]
mod tests {
    use super::Name;
    use std::net::{SocketAddr, SocketAddrV6};

    #[test]
    fn what_is_written_is_read() {
        let v6 = SocketAddrV6::new("fe80::1".parse().unwrap(), 1025, 7, 3);
        for address in ["1.2.3.4:513".parse().unwrap(), SocketAddr::V6(v6)] {
            let (name, length) = Name::new(address);
            assert_eq!(name.address(length), Some(address));
            assert_eq!(name.address(0), None);
            assert_eq!(Name::read(&name.0[..length]), Some(address));
        }
        assert_eq!(Name::NONE.address(Name::LENGTH), None);
    }
}
