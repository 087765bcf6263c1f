//! The methods that Unix sockets of several kinds have.

/// What listeners have; takes the listener and its kind.
macro_rules! listener_methods {
    ($listener:ty, $kind:expr) => {
        impl $listener {
            /// Makes a socket that has a name and listens.
            ///
            /// # Errors
            ///
            /// A [`UnixAddrError`](crate::UnixAddrError), of the kind that the system says: most
            /// often `AddrInUse` if there is such a file, as a socket leaves it behind. `InvalidInput`
            /// if it is no name, and `Unsupported` where the system has no such names or sockets.
            pub fn bind(address: impl Into<UnixAddr>) -> std::io::Result<Self> {
                let socket = ListeningSocket::bind($kind, &address.into())?;
                Ok(Self {
                    file: None,
                    queue: Queue::from_nonblocking(socket),
                })
            }

            fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.queue.socket().as_fd()
            }
        }

        $crate::unix::methods::file_method!($listener);
    };
}

/// What sockets have that may have a file.
macro_rules! file_method {
    ($socket:ty) => {
        impl $socket {
            /// Has the file of its name removed when it is dropped, unless it is another file by
            /// then. Of a socket without one, nothing is.
            ///
            /// A process that is killed leaves the file all the same.
            ///
            /// # Errors
            ///
            /// What the system says when asked which file that is.
            pub fn remove_file_on_drop(&mut self) -> std::io::Result<()> {
                if self.file.is_none() {
                    self.file = $crate::unix::file::SocketFile::of(&self.local_addr()?)?;
                }
                Ok(())
            }
        }
    };
}

/// What all have. Each has a method `fd`, which lends the descriptor.
macro_rules! names {
    ($socket:ty) => {
        impl $socket {
            /// Returns the name of this socket.
            ///
            /// # Errors
            ///
            /// What the system says.
            pub fn local_addr(&self) -> std::io::Result<UnixAddr> {
                $crate::unix::local_addr(self.fd())
            }

            /// Takes the error that is pending on the socket (`SO_ERROR`).
            ///
            /// # Errors
            ///
            /// What the system says when asked.
            pub fn take_error(&self) -> std::io::Result<Option<std::io::Error>> {
                socket2::SockRef::from(&self.fd()).take_error()
            }
        }

        /// Lends the descriptor, for what this type doesn't offer.
        impl std::os::fd::AsFd for $socket {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.fd()
            }
        }

        /// As for [`AsFd`](std::os::fd::AsFd).
        impl std::os::fd::AsRawFd for $socket {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                std::os::fd::AsRawFd::as_raw_fd(&self.fd())
            }
        }

        impl std::fmt::Debug for $socket {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($socket))
                    .field("fd", &std::os::fd::AsRawFd::as_raw_fd(&self.fd()))
                    .field("local", &self.local_addr().ok())
                    .finish()
            }
        }
    };
}

/// What sockets have that have a peer.
macro_rules! peer_methods {
    ($socket:ty) => {
        impl $socket {
            /// Returns the name of the peer.
            ///
            /// # Errors
            ///
            /// `NotConnected` if there is none; else what the system says.
            pub fn peer_addr(&self) -> std::io::Result<UnixAddr> {
                $crate::unix::peer_addr(self.fd())
            }

            /// Says who is at the other end.
            ///
            /// # Errors
            ///
            /// `NotConnected` if nobody is, or the system doesn't tell of such sockets; else what
            /// it says.
            pub fn peer_cred(&self) -> std::io::Result<$crate::Credentials> {
                $crate::unix::credentials::of_peer(self.fd())
            }

            /// Ends one direction or both. It doesn't wait.
            ///
            /// # Errors
            ///
            /// What the system says.
            pub fn shutdown(&self, how: std::net::Shutdown) -> std::io::Result<()> {
                $crate::unix::shut_down(self.fd(), how)
            }
        }
    };
}

pub(super) use {file_method, listener_methods, names, peer_methods};
