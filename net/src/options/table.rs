//! The options that not every system has: which of them has which, in one table.
//!
//! An option that the system lacks, or that its kernel doesn't know when asked, is an error of the
//! kind `Unsupported` that names it. No method is missing for want of an option.

use rustix::io::Errno;
use socket2::SockRef;
use std::io;
use std::time::Duration;

/// The error for an option that isn't there.
pub(crate) fn unsupported(option: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!("this system has no option {option} for this socket"),
    )
}

/// Names the option, where the kernel says that it has none such.
pub(crate) fn named<R>(option: &str, done: io::Result<R>) -> io::Result<R> {
    done.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NOPROTOOPT | Errno::OPNOTSUPP) => unsupported(option),
        _ if error.kind() == io::ErrorKind::Unsupported => unsupported(option),
        _ => error,
    })
}

macro_rules! options {
    ($(
        $option:literal on [$($system:literal)*]:
        $name:ident($socket:ident $(, $value:ident: $type:ty)?) -> $result:ty = $body:expr;
    )*) => {$(
        pub(crate) fn $name($socket: &SockRef<'_> $(, $value: $type)?) -> io::Result<$result> {
            #[cfg(any($(target_os = $system),*))]
            {
                named($option, $body)
            }
            #[cfg(not(any($(target_os = $system),*)))]
            {
                let _ = ($socket, $($value)?);
                Err(unsupported($option))
            }
        }
    )*};
}

options! {
    "SO_REUSEPORT" on ["linux" "android" "freebsd" "netbsd" "openbsd" "dragonfly" "macos" "ios"]:
        set_reuse_port(socket, shared: bool) -> () = socket.set_reuse_port(shared);
    "SO_REUSEPORT" on ["linux" "android" "freebsd" "netbsd" "openbsd" "dragonfly" "macos" "ios"]:
        reuse_port(socket) -> bool = socket.reuse_port();

    // The systems on which sockets that share a port share its connections evenly. On others,
    // which have SO_REUSEPORT as well, one of the sockets gets all.
    "SO_REUSEPORT with balancing" on ["linux" "android" "freebsd" "dragonfly"]:
        set_balanced_port(socket) -> () = {
            #[cfg(target_os = "freebsd")]
            let set = socket.set_reuse_port_lb(true);
            #[cfg(not(target_os = "freebsd"))]
            let set = socket.set_reuse_port(true);
            set
        };

    "TCP_KEEPIDLE" on ["linux" "android" "freebsd" "netbsd" "dragonfly" "macos" "ios" "illumos"
                       "solaris"]:
        set_keepalive_idle(socket, time: Duration) -> () =
            socket.set_tcp_keepalive(&socket2::TcpKeepalive::new().with_time(time));
    "TCP_KEEPIDLE" on ["linux" "android" "freebsd" "netbsd" "dragonfly" "macos" "ios" "illumos"
                       "solaris"]:
        keepalive_idle(socket) -> Duration = socket.tcp_keepalive_time();
    "TCP_KEEPINTVL" on ["linux" "android" "freebsd" "netbsd" "dragonfly" "macos" "ios" "illumos"]:
        set_keepalive_interval(socket, time: Duration) -> () =
            socket.set_tcp_keepalive(&socket2::TcpKeepalive::new().with_interval(time));
    "TCP_KEEPINTVL" on ["linux" "android" "freebsd" "netbsd" "dragonfly" "macos" "ios" "illumos"]:
        keepalive_interval(socket) -> Duration = socket.tcp_keepalive_interval();
    "TCP_KEEPCNT" on ["linux" "android" "freebsd" "netbsd" "dragonfly" "macos" "ios" "illumos"]:
        set_keepalive_probes(socket, count: u32) -> () =
            socket.set_tcp_keepalive(&socket2::TcpKeepalive::new().with_retries(count));
    "TCP_KEEPCNT" on ["linux" "android" "freebsd" "netbsd" "dragonfly" "macos" "ios" "illumos"]:
        keepalive_probes(socket) -> u32 = socket.tcp_keepalive_retries();

    "TCP_USER_TIMEOUT" on ["linux" "android"]:
        set_user_timeout(socket, limit: Option<Duration>) -> () =
            socket.set_tcp_user_timeout(limit);
    "TCP_USER_TIMEOUT" on ["linux" "android"]:
        user_timeout(socket) -> Option<Duration> = socket.tcp_user_timeout();
    "TCP_QUICKACK" on ["linux" "android"]:
        set_quickack(socket, quick: bool) -> () = socket.set_tcp_quickack(quick);
    "TCP_QUICKACK" on ["linux" "android"]:
        quickack(socket) -> bool = socket.tcp_quickack();
    "TCP_CORK" on ["linux" "android"]:
        set_cork(socket, corked: bool) -> () = socket.set_tcp_cork(corked);
    "TCP_CORK" on ["linux" "android"]:
        cork(socket) -> bool = socket.tcp_cork();

    "IP_TOS" on ["linux" "android" "freebsd" "netbsd" "openbsd" "dragonfly" "macos" "ios"
                 "illumos"]:
        set_tos(socket, tos: u32) -> () = socket.set_tos_v4(tos);
    "IP_TOS" on ["linux" "android" "freebsd" "netbsd" "openbsd" "dragonfly" "macos" "ios"
                 "illumos"]:
        tos(socket) -> u32 = socket.tos_v4();
    "IPV6_TCLASS" on ["linux" "android" "freebsd" "netbsd" "openbsd" "dragonfly" "macos"
                      "illumos"]:
        set_traffic_class(socket, class: u32) -> () = socket.set_tclass_v6(class);
    "IPV6_TCLASS" on ["linux" "android" "freebsd" "netbsd" "openbsd" "dragonfly" "macos"
                      "illumos"]:
        traffic_class(socket) -> u32 = socket.tclass_v6();

    "SO_MARK" on ["linux" "android"]:
        set_mark(socket, mark: u32) -> () = socket.set_mark(mark);
    "SO_MARK" on ["linux" "android"]:
        mark(socket) -> u32 = socket.mark();
    "SO_BINDTODEVICE" on ["linux" "android"]:
        bind_device(socket, name: Option<&str>) -> () =
            socket.bind_device(name.map(str::as_bytes));
    "SO_BINDTODEVICE" on ["linux" "android"]:
        device(socket) -> Option<Vec<u8>> = socket.device();
    "SO_INCOMING_CPU" on ["linux"]:
        set_incoming_cpu(socket, cpu: usize) -> () = socket.set_cpu_affinity(cpu);
    "SO_INCOMING_CPU" on ["linux"]:
        incoming_cpu(socket) -> usize = socket.cpu_affinity();
}

#[cfg(test)]
mod tests {
    use super::{named, unsupported};
    use rustix::io::Errno;
    use std::io;

    options! {
        "SO_NO_SUCH" on []:
            set_no_such(socket, value: bool) -> () = socket.set_keepalive(value);
    }

    use socket2::SockRef;

    #[test]
    fn what_a_system_lacks_is_named() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let error = set_no_such(&SockRef::from(&socket), true).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert!(error.to_string().contains("SO_NO_SUCH"), "{error}");
    }

    #[test]
    fn what_a_kernel_lacks_is_named() {
        for lacking in [Errno::NOPROTOOPT, Errno::OPNOTSUPP] {
            let error = named::<()>("SO_MARK", Err(lacking.into())).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            assert!(error.to_string().contains("SO_MARK"), "{error}");
        }
        let denied = named::<()>("SO_MARK", Err(Errno::PERM.into())).unwrap_err();
        assert_eq!(denied.raw_os_error(), Some(Errno::PERM.raw_os_error()));
    }
}
