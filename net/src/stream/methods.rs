//! Reading, writing and waiting, which streams of all kinds have.

/// Takes the stream, and how its examples make a `client` and a `server` that are connected. What
/// one attempt is, its socket says: see `socket.rs`.
macro_rules! stream_methods {
    ($stream:ty, $pair:literal) => {
        use $crate::stream::StreamSocket as _;

        impl $stream {
            /// Reads what is there into `space`, waiting until there is something; returns how many bytes
            /// came, 0 at the end.
            ///
            /// # Errors
            ///
            /// What the system says of the connection: most often `ConnectionReset`.
            ///
            /// # Cancel safety
            ///
            /// Nothing is read by a future that is dropped before it is done.
            pub fn read(&self, space: &mut [u8]) -> impl Future<Output = std::io::Result<usize>> {
                self.inner()
                    .io_with(windlass_reactor::Direction::Read, move |socket| {
                        socket.receive(space)
                    })
            }

            /// Reads into several spaces, one after the other; else as [`read`](Self::read).
            ///
            /// # Errors
            ///
            /// As for [`read`](Self::read).
            ///
            /// # Cancel safety
            ///
            /// As for [`read`](Self::read).
            pub fn read_vectored(
                &self,
                spaces: &mut [std::io::IoSliceMut<'_>],
            ) -> impl Future<Output = std::io::Result<usize>> {
                self.inner()
                    .io_with(windlass_reactor::Direction::Read, move |socket| {
                        socket.receive_vectored(spaces)
                    })
            }

            /// Reads until `space` is full.
            ///
            /// # Errors
            ///
            /// `UnexpectedEof` if the end comes first; else as for [`read`](Self::read). What came
            /// before is in `space`, but how much that is isn't told; see
            /// [`read_exact_from`](Self::read_exact_from).
            ///
            /// # Cancel safety
            ///
            /// What was read before it is dropped is lost; [`read_exact_from`](Self::read_exact_from)
            /// loses nothing.
            pub async fn read_exact(&self, space: &mut [u8]) -> std::io::Result<()> {
                self.read_exact_from(space, &mut 0).await
            }

            /// Reads until `space` is full, of which the first `filled` bytes are there already; counts on
            /// in `filled`, so that it can go on later.
            ///
            /// ```
            /// # futures::executor::block_on(async {
            #[doc = $pair]
            /// use std::time::Duration;
            /// use windlass_reactor::time::timeout;
            ///
            /// let (mut space, mut filled) = ([0; 4], 0);
            /// client.write_all(b"he").await?;
            /// let reading = server.read_exact_from(&mut space, &mut filled);
            /// assert!(timeout(Duration::from_millis(20), reading).await.is_err());
            /// client.write_all(b"ad").await?;
            /// server.read_exact_from(&mut space, &mut filled).await?;
            /// assert_eq!(&space, b"head");
            /// # std::io::Result::Ok(()) }).unwrap();
            /// ```
            ///
            /// # Errors
            ///
            /// As for [`read_exact`](Self::read_exact); `filled` is right then, too.
            ///
            /// # Panics
            ///
            /// If `filled` is more than `space` has.
            ///
            /// # Cancel safety
            ///
            /// Nothing is lost: `filled` says how much of `space` is there.
            pub async fn read_exact_from(
                &self,
                space: &mut [u8],
                filled: &mut usize,
            ) -> std::io::Result<()> {
                $crate::stream::read_exact_from(self.inner(), space, filled).await
            }

            /// Reads as [`read`](Self::read) does, but leaves the bytes there to be read again.
            ///
            /// # Errors
            ///
            /// As for [`read`](Self::read).
            ///
            /// # Cancel safety
            ///
            /// Nothing is lost when it is dropped.
            pub fn peek(&self, space: &mut [u8]) -> impl Future<Output = std::io::Result<usize>> {
                self.inner()
                    .io_with(windlass_reactor::Direction::Read, move |socket| {
                        socket.peek(space)
                    })
            }

            /// Writes as much of `bytes` as there is room for, waiting until there is some; returns how
            /// many bytes were taken.
            ///
            /// # Errors
            ///
            /// What the system says of the connection: `BrokenPipe` or `ConnectionReset` if the peer is
            /// gone. There is no `SIGPIPE`.
            ///
            /// # Cancel safety
            ///
            /// Nothing is written by a future that is dropped before it is done.
            pub fn write(&self, bytes: &[u8]) -> impl Future<Output = std::io::Result<usize>> {
                self.inner()
                    .io_with(windlass_reactor::Direction::Write, move |socket| {
                        socket.send(bytes)
                    })
            }

            /// Writes from several buffers, one after the other; else as [`write`](Self::write).
            ///
            /// # Errors
            ///
            /// As for [`write`](Self::write).
            ///
            /// # Cancel safety
            ///
            /// As for [`write`](Self::write).
            pub fn write_vectored(
                &self,
                buffers: &[std::io::IoSlice<'_>],
            ) -> impl Future<Output = std::io::Result<usize>> {
                self.inner()
                    .io_with(windlass_reactor::Direction::Write, move |socket| {
                        socket.send_vectored(buffers)
                    })
            }

            /// Writes all of `bytes`.
            ///
            /// # Errors
            ///
            /// As for [`write`](Self::write). Some of the bytes may have been written.
            ///
            /// # Cancel safety
            ///
            /// How much was written before it is dropped isn't known;
            /// [`write_all_from`](Self::write_all_from) tells it.
            pub fn write_all(&self, bytes: &[u8]) -> impl Future<Output = std::io::Result<()>> {
                let mut rest = bytes;
                self.inner()
                    .io_with(windlass_reactor::Direction::Write, move |socket| {
                        socket.send_rest(&mut rest)
                    })
            }

            /// Writes all of `bytes` but the first `written`, which were written before; counts on in
            /// `written`, so that it can go on later.
            ///
            /// # Errors
            ///
            /// As for [`write`](Self::write); `written` is right then, too.
            ///
            /// # Panics
            ///
            /// If `written` is more than there are bytes.
            ///
            /// # Cancel safety
            ///
            /// Nothing is lost: `written` says how far it came.
            pub fn write_all_from(
                &self,
                bytes: &[u8],
                written: &mut usize,
            ) -> impl Future<Output = std::io::Result<()>> {
                self.inner()
                    .io_with(windlass_reactor::Direction::Write, move |socket| {
                        let mut rest = &bytes[*written..];
                        let sent = socket.send_rest(&mut rest);
                        *written = bytes.len() - rest.len();
                        sent
                    })
            }

            /// Reads what is there, without waiting. The kernel is always asked.
            ///
            /// # Errors
            ///
            /// `WouldBlock` if there is nothing; else as for [`read`](Self::read).
            pub fn try_read(&self, space: &mut [u8]) -> std::io::Result<usize> {
                self.inner()
                    .try_io_taking(windlass_reactor::Direction::Read, |socket| {
                        socket.receive(space)
                    })
            }

            /// Reads what is there into several spaces, without waiting.
            ///
            /// # Errors
            ///
            /// As for [`try_read`](Self::try_read).
            pub fn try_read_vectored(
                &self,
                spaces: &mut [std::io::IoSliceMut<'_>],
            ) -> std::io::Result<usize> {
                self.inner()
                    .try_io_taking(windlass_reactor::Direction::Read, |socket| {
                        socket.receive_vectored(spaces)
                    })
            }

            /// Writes what there is room for, without waiting.
            ///
            /// # Errors
            ///
            /// `WouldBlock` if there is no room; else as for [`write`](Self::write).
            pub fn try_write(&self, bytes: &[u8]) -> std::io::Result<usize> {
                self.inner()
                    .try_io_taking(windlass_reactor::Direction::Write, |socket| {
                        socket.send(bytes)
                    })
            }

            /// Writes from several buffers what there is room for, without waiting.
            ///
            /// # Errors
            ///
            /// As for [`try_write`](Self::try_write).
            pub fn try_write_vectored(
                &self,
                buffers: &[std::io::IoSlice<'_>],
            ) -> std::io::Result<usize> {
                self.inner()
                    .try_io_taking(windlass_reactor::Direction::Write, |socket| {
                        socket.send_vectored(buffers)
                    })
            }

            /// Waits until a read may succeed. It may still say `WouldBlock`, and does if none was tried
            /// since data came last; so it is followed by [`try_read`](Self::try_read), in a loop.
            ///
            /// # Errors
            ///
            /// What the system says when the socket is registered with the reactor.
            ///
            /// # Cancel safety
            ///
            /// Nothing is lost when it is dropped.
            pub fn readable(&self) -> impl Future<Output = std::io::Result<()>> {
                self.inner().readable()
            }

            /// Waits until a write may succeed; else as [`readable`](Self::readable).
            ///
            /// # Errors
            ///
            /// As for [`readable`](Self::readable).
            ///
            /// # Cancel safety
            ///
            /// Nothing is lost when it is dropped.
            pub fn writable(&self) -> impl Future<Output = std::io::Result<()>> {
                self.inner().writable()
            }

            /// Runs an operation of your own on the socket, once, and takes note if it would block, so that
            /// [`readable`](Self::readable) and [`writable`](Self::writable) wait afterwards.
            ///
            /// # Errors
            ///
            /// What the operation says.
            pub fn try_io<R>(
                &self,
                direction: windlass_reactor::Direction,
                operation: impl FnOnce() -> std::io::Result<R>,
            ) -> std::io::Result<R> {
                self.inner().try_io(direction, |_| operation())
            }
        }

        $crate::stream::polled_methods!($stream);
        $crate::stream::split_method!($stream, $pair);
        $crate::stream::into_split_method!($stream, $pair);

        impl AsRef<$stream> for $stream {
            fn as_ref(&self) -> &$stream {
                self
            }
        }
    };
}

pub(crate) use stream_methods;
