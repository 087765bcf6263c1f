//! Sending to the peer and receiving, for sockets that keep messages apart.

/// Takes the socket, the attempt that sends, how its examples make two that are connected, what is
/// said of a message that comes, and of one that is sent.
macro_rules! message_methods {
    ($socket:ty, $send:path, $pair:literal, $comes:literal, $goes:literal) => {
        impl $socket {
            #[doc = $comes]
            ///
            /// ```
            /// # futures::executor::block_on(async {
            #[doc = $pair]
            /// one.send(b"too long").await?;
            /// one.send(b"next").await?;
            ///
            /// let mut space = [0; 5];
            /// let received = other.recv(&mut space).await?;
            /// assert_eq!(&space[..received.length], b"too l");
            /// assert!(received.truncated);
            /// let received = other.recv(&mut space).await?;
            /// assert_eq!(&space[..received.length], b"next");
            /// # std::io::Result::Ok(()) }).unwrap();
            /// ```
            ///
            /// # Errors
            ///
            /// What the system says.
            ///
            /// # Cancel safety
            ///
            /// Nothing is received by a future that is dropped before it is done.
            pub fn recv(
                &self,
                space: &mut [u8],
            ) -> impl Future<Output = std::io::Result<$crate::Received>> {
                self.inner.io_with(Direction::Read, move |socket| {
                    message::receive(socket.as_fd(), space, RecvFlags::empty())
                })
            }

            /// As [`recv`](Self::recv), but leaves it there for the next call.
            ///
            /// # Errors
            ///
            /// As for [`recv`](Self::recv).
            ///
            /// # Cancel safety
            ///
            /// Nothing is taken, whatever happens.
            pub fn peek(
                &self,
                space: &mut [u8],
            ) -> impl Future<Output = std::io::Result<$crate::Received>> {
                self.inner.io_with(Direction::Read, move |socket| {
                    message::receive(socket.as_fd(), space, RecvFlags::PEEK)
                })
            }

            #[doc = $goes]
            ///
            /// # Errors
            ///
            /// What the system says: `NotConnected` or `EDESTADDRREQ` without a peer, `BrokenPipe`,
            /// `ConnectionReset` or `ConnectionRefused` if the peer is gone, `EMSGSIZE` if it is
            /// too long. There is no `SIGPIPE`.
            ///
            /// # Cancel safety
            ///
            /// Nothing is sent by a future that is dropped before it is done.
            pub fn send(&self, bytes: &[u8]) -> impl Future<Output = std::io::Result<usize>> {
                self.inner
                    .io_with(Direction::Write, move |socket| $send(socket.as_fd(), bytes))
            }

            /// As [`recv`](Self::recv), but doesn't wait.
            ///
            /// # Errors
            ///
            /// `WouldBlock` if nothing is there; else as for [`recv`](Self::recv).
            pub fn try_recv(&self, space: &mut [u8]) -> std::io::Result<$crate::Received> {
                self.inner.try_io_taking(Direction::Read, |socket| {
                    message::receive(socket.as_fd(), space, RecvFlags::empty())
                })
            }

            /// As [`peek`](Self::peek), but doesn't wait.
            ///
            /// # Errors
            ///
            /// As for [`try_recv`](Self::try_recv).
            pub fn try_peek(&self, space: &mut [u8]) -> std::io::Result<$crate::Received> {
                self.inner.try_io_taking(Direction::Read, |socket| {
                    message::receive(socket.as_fd(), space, RecvFlags::PEEK)
                })
            }

            /// As [`send`](Self::send), but doesn't wait.
            ///
            /// # Errors
            ///
            /// `WouldBlock` if there is no room; else as for [`send`](Self::send).
            pub fn try_send(&self, bytes: &[u8]) -> std::io::Result<usize> {
                self.inner
                    .try_io_taking(Direction::Write, |socket| $send(socket.as_fd(), bytes))
            }

            /// As [`recv`](Self::recv), for those who write futures by hand. Of several tasks that
            /// call a receiving `poll_` method, the latest is woken.
            ///
            /// # Errors
            ///
            /// As for [`recv`](Self::recv).
            pub fn poll_recv(
                &self,
                context: &mut Context<'_>,
                space: &mut [u8],
            ) -> Poll<std::io::Result<$crate::Received>> {
                self.inner.poll_io_with(context, Direction::Read, |socket| {
                    message::receive(socket.as_fd(), space, RecvFlags::empty())
                })
            }

            /// As [`send`](Self::send), for those who write futures by hand. Of several tasks that
            /// call a sending `poll_` method, the latest is woken.
            ///
            /// # Errors
            ///
            /// As for [`send`](Self::send).
            pub fn poll_send(
                &self,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<std::io::Result<usize>> {
                self.inner
                    .poll_io_with(context, Direction::Write, |socket| {
                        $send(socket.as_fd(), bytes)
                    })
            }

            /// Waits until something may be there to receive. There may be nothing all the same,
            /// so it is followed by [`try_recv`](Self::try_recv), in a loop.
            ///
            /// # Errors
            ///
            /// What the system says when asked to watch the socket.
            ///
            /// # Cancel safety
            ///
            /// Nothing is lost when it is dropped.
            pub fn readable(&self) -> impl Future<Output = std::io::Result<()>> {
                self.inner.readable()
            }

            /// Waits until there may be room to send; as [`readable`](Self::readable).
            ///
            /// # Errors
            ///
            /// As for [`readable`](Self::readable).
            ///
            /// # Cancel safety
            ///
            /// Nothing is lost when it is dropped.
            pub fn writable(&self) -> impl Future<Output = std::io::Result<()>> {
                self.inner.writable()
            }

            /// As [`readable`](Self::readable); see [`poll_recv`](Self::poll_recv).
            ///
            /// # Errors
            ///
            /// As for [`readable`](Self::readable).
            pub fn poll_readable(&self, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
                self.inner.poll_readable(context)
            }

            /// As [`writable`](Self::writable); see [`poll_send`](Self::poll_send).
            ///
            /// # Errors
            ///
            /// As for [`readable`](Self::readable).
            pub fn poll_writable(&self, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
                self.inner.poll_writable(context)
            }
        }
    };
}

pub(super) use message_methods;
