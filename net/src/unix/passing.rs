//! Sending and receiving descriptors, on sockets of all kinds.

/// Takes the socket, how its examples make two that are connected, and what is said of the bytes
/// that go along. The type has a method `inner`, which lends the `Async`, and `send_flags`.
macro_rules! passing_methods {
    ($socket:ty, $pair:literal, $attempt:path, $about:literal) => {
        impl $socket {
            /// Sends bytes, and with them descriptors, which the peer gets duplicates of; waits
            /// until there is room, and returns how many bytes were taken.
            ///
            #[doc = $about]
            ///
            /// ```
            /// # futures::executor::block_on(async {
            #[doc = $pair]
            /// use std::io::Write;
            /// use std::os::fd::AsFd;
            ///
            /// let (reader, mut writer) = std::io::pipe()?;
            /// one.send_fds(b"a pipe", &[reader.as_fd()]).await?;
            ///
            /// let mut space = [0; 16];
            /// let received = other.recv_fds(&mut space, 1).await?;
            /// assert_eq!(&space[..received.length], b"a pipe");
            /// let mut reader = std::fs::File::from(received.fds.into_iter().next().unwrap());
            /// writer.write_all(b"hello")?;
            /// drop(writer);
            /// assert_eq!(std::io::read_to_string(&mut reader)?, "hello");
            /// # std::io::Result::Ok(()) }).unwrap();
            /// ```
            ///
            /// # Errors
            ///
            /// `InvalidInput` if there are more than 253 descriptors, or no bytes where one is
            /// needed. `BrokenPipe` or `ConnectionReset` if the peer is gone; `ETOOMANYREFS` if
            /// too many are on their way. There is no `SIGPIPE`.
            ///
            /// # Cancel safety
            ///
            /// Nothing is sent by a future that is dropped before it is done.
            pub fn send_fds(
                &self,
                bytes: &[u8],
                fds: &[std::os::fd::BorrowedFd<'_>],
            ) -> impl Future<Output = std::io::Result<usize>> {
                self.inner
                    .io_with(windlass_reactor::Direction::Write, move |socket| {
                        $attempt(std::os::fd::AsFd::as_fd(socket), bytes, fds)
                    })
            }

            /// As [`send_fds`](Self::send_fds), but doesn't wait.
            ///
            /// # Errors
            ///
            /// `WouldBlock` if there is no room; else as for [`send_fds`](Self::send_fds).
            pub fn try_send_fds(
                &self,
                bytes: &[u8],
                fds: &[std::os::fd::BorrowedFd<'_>],
            ) -> std::io::Result<usize> {
                self.inner
                    .try_io_taking(windlass_reactor::Direction::Write, |socket| {
                        $attempt(std::os::fd::AsFd::as_fd(socket), bytes, fds)
                    })
            }

            /// Receives bytes into `space`, and at most `most` descriptors with them, waiting until
            /// something comes. More than 253 never come at once.
            ///
            /// They are closed when a program is started in this process (`FD_CLOEXEC`), from the
            /// moment that they are there; on Apple's systems and Solaris from right after.
            ///
            /// # Errors
            ///
            /// What the system says of the connection.
            ///
            /// # Cancel safety
            ///
            /// Nothing is received by a future that is dropped before it is done.
            pub fn recv_fds(
                &self,
                space: &mut [u8],
                most: usize,
            ) -> impl Future<Output = std::io::Result<$crate::ReceivedFds>> {
                self.inner
                    .io_with(windlass_reactor::Direction::Read, move |socket| {
                        $crate::unix::message::receive_fds(
                            std::os::fd::AsFd::as_fd(socket),
                            space,
                            most,
                        )
                    })
            }

            /// As [`recv_fds`](Self::recv_fds), but doesn't wait.
            ///
            /// # Errors
            ///
            /// `WouldBlock` if nothing is there; else as for [`recv_fds`](Self::recv_fds).
            pub fn try_recv_fds(
                &self,
                space: &mut [u8],
                most: usize,
            ) -> std::io::Result<$crate::ReceivedFds> {
                self.inner
                    .try_io_taking(windlass_reactor::Direction::Read, |socket| {
                        $crate::unix::message::receive_fds(
                            std::os::fd::AsFd::as_fd(socket),
                            space,
                            most,
                        )
                    })
            }
        }
    };
}

pub(super) use passing_methods;
