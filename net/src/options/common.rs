//! The options that take more than one call, or that differ between IPv4 and IPv6.

use super::Keepalive;
use super::table::{self, named};
use socket2::{Domain, SockRef};
use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use windlass_reactor::sys::tcp::{self, FastOpen};

/// The highest DSCP: it has six bits, above the two of congestion notification.
const HIGHEST_DSCP: u8 = 63;

pub(crate) fn is_v6(socket: &SockRef<'_>) -> io::Result<bool> {
    Ok(socket.local_addr()?.domain() == Domain::IPV6)
}

/// Sets how many routers a packet may pass, for the family of the socket.
pub(crate) fn set_ttl(socket: &SockRef<'_>, ttl: u32) -> io::Result<()> {
    if is_v6(socket)? {
        socket.set_unicast_hops_v6(ttl)?;
        // For IPv4 connections of an IPv6 socket; not every system has that.
        let _ = socket.set_ttl_v4(ttl);
        Ok(())
    } else {
        socket.set_ttl_v4(ttl)
    }
}

pub(crate) fn ttl(socket: &SockRef<'_>) -> io::Result<u32> {
    if is_v6(socket)? {
        socket.unicast_hops_v6()
    } else {
        socket.ttl_v4()
    }
}

/// Sets the class of the packets; the bits of congestion notification are TCP's own, and stay 0.
pub(crate) fn set_dscp(socket: &SockRef<'_>, dscp: u8) -> io::Result<()> {
    if dscp > HIGHEST_DSCP {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("a DSCP of {dscp} was given; it is from 0 to {HIGHEST_DSCP}"),
        ));
    }
    set_tos(socket, dscp << 2)
}

pub(crate) fn dscp(socket: &SockRef<'_>) -> io::Result<u8> {
    Ok(tos(socket)? >> 2)
}

/// Sets the class of the packets, with the bits of congestion notification.
pub(crate) fn set_tos(socket: &SockRef<'_>, tos: u8) -> io::Result<()> {
    let tos = u32::from(tos);
    if is_v6(socket)? {
        table::set_traffic_class(socket, tos)?;
        // As for the time to live.
        let _ = table::set_tos(socket, tos);
        Ok(())
    } else {
        table::set_tos(socket, tos)
    }
}

pub(crate) fn tos(socket: &SockRef<'_>) -> io::Result<u8> {
    let tos = if is_v6(socket)? {
        table::traffic_class(socket)?
    } else {
        table::tos(socket)?
    };
    Ok(tos as u8)
}

pub(crate) fn set_multicast_loop(socket: &SockRef<'_>, looped: bool) -> io::Result<()> {
    if is_v6(socket)? {
        socket.set_multicast_loop_v6(looped)?;
        // As for the time to live.
        let _ = socket.set_multicast_loop_v4(looped);
        Ok(())
    } else {
        socket.set_multicast_loop_v4(looped)
    }
}

pub(crate) fn multicast_loop(socket: &SockRef<'_>) -> io::Result<bool> {
    if is_v6(socket)? {
        socket.multicast_loop_v6()
    } else {
        socket.multicast_loop_v4()
    }
}

pub(crate) fn set_multicast_ttl(socket: &SockRef<'_>, ttl: u32) -> io::Result<()> {
    if is_v6(socket)? {
        socket.set_multicast_hops_v6(ttl)?;
        // As for the time to live.
        let _ = socket.set_multicast_ttl_v4(ttl);
        Ok(())
    } else {
        socket.set_multicast_ttl_v4(ttl)
    }
}

pub(crate) fn multicast_ttl(socket: &SockRef<'_>) -> io::Result<u32> {
    if is_v6(socket)? {
        socket.multicast_hops_v6()
    } else {
        socket.multicast_ttl_v4()
    }
}

pub(crate) fn set_keepalive(socket: &SockRef<'_>, keepalive: Option<Keepalive>) -> io::Result<()> {
    let Some(keepalive) = keepalive else {
        return socket.set_keepalive(false);
    };
    // What may be lacking comes first, so that an error leaves it off.
    if let Some(time) = keepalive.idle {
        table::set_keepalive_idle(socket, in_seconds(time))?;
    }
    if let Some(time) = keepalive.interval {
        table::set_keepalive_interval(socket, in_seconds(time))?;
    }
    if let Some(count) = keepalive.probes {
        table::set_keepalive_probes(socket, count)?;
    }
    socket.set_keepalive(true)
}

pub(crate) fn keepalive(socket: &SockRef<'_>) -> io::Result<Option<Keepalive>> {
    if !socket.keepalive()? {
        return Ok(None);
    }
    Ok(Some(Keepalive {
        idle: where_there(table::keepalive_idle(socket))?,
        interval: where_there(table::keepalive_interval(socket))?,
        probes: where_there(table::keepalive_probes(socket))?,
    }))
}

fn where_there<R>(got: io::Result<R>) -> io::Result<Option<R>> {
    match got {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        got => got.map(Some),
    }
}

/// Sets what closing does with what isn't sent yet. A limit is in whole seconds: rounded up, lest
/// a short one become a reset.
pub(crate) fn set_linger(socket: &SockRef<'_>, limit: Option<Duration>) -> io::Result<()> {
    socket.set_linger(limit.map(in_seconds))
}

/// Sets for how long data may go unacknowledged; in milliseconds, rounded up, as 0 is the system's
/// own choice.
pub(crate) fn set_user_timeout(socket: &SockRef<'_>, limit: Option<Duration>) -> io::Result<()> {
    let limit = limit.map(|limit| {
        let milliseconds = limit.as_nanos().div_ceil(1_000_000).max(1);
        let milliseconds = milliseconds.min(i32::MAX as u128) as u64;
        Duration::from_millis(milliseconds)
    });
    table::set_user_timeout(socket, limit)
}

/// Rounds up to whole seconds, as far as an option can hold them.
fn in_seconds(time: Duration) -> Duration {
    let seconds = time.as_nanos().div_ceil(1_000_000_000);
    Duration::from_secs(seconds.min(i32::MAX as u128) as u64)
}

pub(crate) fn set_fast_open(
    socket: BorrowedFd<'_>,
    option: FastOpen,
    value: u32,
) -> io::Result<()> {
    let value = c_int::try_from(value).unwrap_or(c_int::MAX);
    named(option.name(), tcp::set_fast_open(socket, option, value))
}

pub(crate) fn fast_open(socket: &impl AsFd, option: FastOpen) -> io::Result<u32> {
    let value = named(option.name(), tcp::fast_open(socket.as_fd(), option))?;
    Ok(u32::try_from(value).unwrap_or(0))
}

pub(crate) fn device(socket: &SockRef<'_>) -> io::Result<Option<String>> {
    let name = table::device(socket)?;
    Ok(name.map(|name| String::from_utf8_lossy(&name).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::in_seconds;
    use std::time::Duration;

    #[test]
    fn times_are_rounded_up_to_seconds() {
        assert_eq!(in_seconds(Duration::ZERO), Duration::ZERO);
        assert_eq!(in_seconds(Duration::from_nanos(1)), Duration::from_secs(1));
        assert_eq!(
            in_seconds(Duration::from_millis(1001)),
            Duration::from_secs(2)
        );
        assert_eq!(
            in_seconds(Duration::MAX),
            Duration::from_secs(i32::MAX as u64)
        );
    }
}
