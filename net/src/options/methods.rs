//! The methods that set and tell options, which several types have.
//!
//! Each type has a method `option_socket` that lends the socket without handing the descriptor out:
//! none of these options changes what a short read means.

/// What sockets of all kinds have.
macro_rules! socket_options {
    ($socket:ty) => {
        impl $socket {
            /// Returns how many routers a packet may pass (`IP_TTL`, `IPV6_UNICAST_HOPS`).
            ///
            /// # Errors
            ///
            /// What the system says.
            pub fn ttl(&self) -> std::io::Result<u32> {
                $crate::options::common::ttl(&self.option_socket())
            }

            /// Sets how many routers a packet may pass (`IP_TTL`, `IPV6_UNICAST_HOPS`).
            ///
            /// # Errors
            ///
            /// What the system says.
            pub fn set_ttl(&self, ttl: u32) -> std::io::Result<()> {
                $crate::options::common::set_ttl(&self.option_socket(), ttl)
            }

            /// Returns the class of the packets (DSCP), for routers that tell classes apart.
            ///
            /// # Errors
            ///
            /// `Unsupported` if this system has no such option; else what it says.
            pub fn dscp(&self) -> std::io::Result<u8> {
                $crate::options::common::dscp(&self.option_socket())
            }

            /// Sets the class of the packets (DSCP, the upper six bits of `IP_TOS` or
            /// `IPV6_TCLASS`).
            ///
            /// # Errors
            ///
            /// `InvalidInput` if it is above 63, `Unsupported` if this system has no such option;
            /// else what it says.
            pub fn set_dscp(&self, dscp: u8) -> std::io::Result<()> {
                $crate::options::common::set_dscp(&self.option_socket(), dscp)
            }

            /// Returns how many bytes wait to be read at the most (`SO_RCVBUF`); Linux says twice
            /// what was set, for what it keeps beside them.
            ///
            /// # Errors
            ///
            /// What the system says.
            pub fn receive_buffer_size(&self) -> std::io::Result<usize> {
                self.option_socket().recv_buffer_size()
            }

            /// Sets how many bytes wait to be read at the most (`SO_RCVBUF`), as far as the system
            /// allows; it doesn't adapt the size any more then.
            ///
            /// A window above 64 KiB is agreed on when a connection is made: so a large buffer is
            /// set on a [`TcpSocket`](crate::TcpSocket) before.
            ///
            /// # Errors
            ///
            /// What the system says.
            pub fn set_receive_buffer_size(&self, size: usize) -> std::io::Result<()> {
                self.option_socket().set_recv_buffer_size(size)
            }

            /// Returns how many written bytes wait to be acknowledged at the most (`SO_SNDBUF`);
            /// Linux says twice what was set, for what it keeps beside them.
            ///
            /// # Errors
            ///
            /// What the system says.
            pub fn send_buffer_size(&self) -> std::io::Result<usize> {
                self.option_socket().send_buffer_size()
            }

            /// Sets how many written bytes wait to be acknowledged at the most (`SO_SNDBUF`), as
            /// far as the system allows; it doesn't adapt the size any more then.
            ///
            /// # Errors
            ///
            /// What the system says.
            pub fn set_send_buffer_size(&self, size: usize) -> std::io::Result<()> {
                self.option_socket().set_send_buffer_size(size)
            }

            /// Returns the mark of the packets, for routing and filters (`SO_MARK`).
            ///
            /// # Errors
            ///
            /// `Unsupported` if this system has no such option; else what it says.
            pub fn mark(&self) -> std::io::Result<u32> {
                $crate::options::table::mark(&self.option_socket())
            }

            /// Sets the mark of the packets, for routing and filters (`SO_MARK`).
            ///
            /// # Errors
            ///
            /// `PermissionDenied` without the capability `CAP_NET_ADMIN`, `Unsupported` if this
            /// system has no such option; else what it says.
            pub fn set_mark(&self, mark: u32) -> std::io::Result<()> {
                $crate::options::table::set_mark(&self.option_socket(), mark)
            }

            /// Returns the network device that the socket is bound to, if it is
            /// (`SO_BINDTODEVICE`).
            ///
            /// # Errors
            ///
            /// `Unsupported` if this system has no such option; else what it says.
            pub fn device(&self) -> std::io::Result<Option<String>> {
                $crate::options::common::device(&self.option_socket())
            }

            /// Returns the processor that the socket's packets came in on last, or that was set
            /// (`SO_INCOMING_CPU`).
            ///
            /// # Errors
            ///
            /// `Unsupported` if this system has no such option; else what it says.
            pub fn incoming_cpu(&self) -> std::io::Result<usize> {
                $crate::options::table::incoming_cpu(&self.option_socket())
            }

            /// Says which processor the socket is served on (`SO_INCOMING_CPU`): of listeners that
            /// share a port, the one that has the processor of the packet gets the connection.
            ///
            /// # Errors
            ///
            /// `Unsupported` if this system has no such option; else what it says.
            pub fn set_incoming_cpu(&self, cpu: usize) -> std::io::Result<()> {
                $crate::options::table::set_incoming_cpu(&self.option_socket(), cpu)
            }
        }
    };
}

/// What connections have, and sockets that may become one.
macro_rules! connection_options {
    ($socket:ty) => {
        impl $socket {
            /// Says whether small writes are sent at once (`TCP_NODELAY`).
            ///
            /// # Errors
            ///
            /// What the system says.
            pub fn nodelay(&self) -> std::io::Result<bool> {
                self.option_socket().tcp_nodelay()
            }

            /// Has small writes sent at once, not gathered while data are unacknowledged
            /// (`TCP_NODELAY`).
            ///
            /// # Errors
            ///
            /// What the system says.
            pub fn set_nodelay(&self, nodelay: bool) -> std::io::Result<()> {
                self.option_socket().set_tcp_nodelay(nodelay)
            }

            /// Says whether only full packets are sent (`TCP_CORK`).
            ///
            /// # Errors
            ///
            /// `Unsupported` if this system has no such option; else what it says.
            pub fn cork(&self) -> std::io::Result<bool> {
                $crate::options::table::cork(&self.option_socket())
            }

            /// Has only full packets sent until it is taken back, or for 200 ms (`TCP_CORK`): for
            /// an answer that takes several writes.
            ///
            /// # Errors
            ///
            /// `Unsupported` if this system has no such option; else what it says.
            pub fn set_cork(&self, corked: bool) -> std::io::Result<()> {
                $crate::options::table::set_cork(&self.option_socket(), corked)
            }

            /// Says whether what comes is acknowledged at once (`TCP_QUICKACK`).
            ///
            /// # Errors
            ///
            /// `Unsupported` if this system has no such option; else what it says.
            pub fn quickack(&self) -> std::io::Result<bool> {
                $crate::options::table::quickack(&self.option_socket())
            }

            /// Has what comes acknowledged at once (`TCP_QUICKACK`), for now: the system goes back
            /// to its own judgement by and by.
            ///
            /// # Errors
            ///
            /// `Unsupported` if this system has no such option; else what it says.
            pub fn set_quickack(&self, quick: bool) -> std::io::Result<()> {
                $crate::options::table::set_quickack(&self.option_socket(), quick)
            }

            /// Returns how a silent peer is probed; `None` if it isn't (`SO_KEEPALIVE`).
            ///
            /// # Errors
            ///
            /// What the system says.
            pub fn keepalive(&self) -> std::io::Result<Option<$crate::Keepalive>> {
                $crate::options::common::keepalive(&self.option_socket())
            }

            /// Has a silent peer probed, so that one that is gone ends the connection, and that
            /// firewalls on the way don't forget it; `None` has it left alone (`SO_KEEPALIVE`).
            ///
            /// # Errors
            ///
            /// `Unsupported` if a time or count is said for which this system has no option, and
            /// then the socket isn't probed if it wasn't before; else what the system says.
            pub fn set_keepalive(
                &self,
                keepalive: Option<$crate::Keepalive>,
            ) -> std::io::Result<()> {
                $crate::options::common::set_keepalive(&self.option_socket(), keepalive)
            }

            /// Returns for how long written data may go unacknowledged, if that was set
            /// (`TCP_USER_TIMEOUT`).
            ///
            /// # Errors
            ///
            /// `Unsupported` if this system has no such option; else what it says.
            pub fn user_timeout(&self) -> std::io::Result<Option<std::time::Duration>> {
                $crate::options::table::user_timeout(&self.option_socket())
            }

            /// Has the connection end with `TimedOut` when written data go unacknowledged for
            /// `limit`, in milliseconds, rounded up; `None` leaves it to the system
            /// (`TCP_USER_TIMEOUT`).
            ///
            /// # Errors
            ///
            /// `Unsupported` if this system has no such option; else what it says.
            pub fn set_user_timeout(
                &self,
                limit: Option<std::time::Duration>,
            ) -> std::io::Result<()> {
                $crate::options::common::set_user_timeout(&self.option_socket(), limit)
            }

            /// Returns what closing does with what isn't sent yet; see
            /// [`set_linger`](Self::set_linger).
            ///
            /// # Errors
            ///
            /// What the system says.
            pub fn linger(&self) -> std::io::Result<Option<std::time::Duration>> {
                self.option_socket().linger()
            }

            /// Says what closing does with what isn't sent yet (`SO_LINGER`): `None`, as at first,
            /// has the system send it later; zero throws it away and resets the connection, which
            /// the peer reads as an error.
            ///
            /// Any other limit, in whole seconds, rounded up, has whoever closes the socket wait,
            /// though it doesn't block else: dropping it holds up its thread, and all tasks there.
            /// To know that all has come, shut the write direction down and read to the end.
            ///
            /// # Errors
            ///
            /// What the system says.
            pub fn set_linger(&self, limit: Option<std::time::Duration>) -> std::io::Result<()> {
                $crate::options::common::set_linger(&self.option_socket(), limit)
            }
        }
    };
}

pub(crate) use {connection_options, socket_options};
