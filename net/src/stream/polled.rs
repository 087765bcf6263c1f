//! The operations of a stream for those who write futures by hand.

/// What is documented at `stream_methods`.
macro_rules! polled_methods {
    ($stream:ty) => {
        impl $stream {
            /// As [`read`](Self::read), for those who write futures by hand. Of several tasks that
            /// call a reading `poll_` method, the latest is woken.
            ///
            /// # Errors
            ///
            /// As for [`read`](Self::read).
            pub fn poll_read(
                &self,
                context: &mut std::task::Context<'_>,
                space: &mut [u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.inner()
                    .poll_io_with(context, windlass_reactor::Direction::Read, |socket| {
                        socket.receive(space)
                    })
            }

            /// As [`read_vectored`](Self::read_vectored); see [`poll_read`](Self::poll_read).
            ///
            /// # Errors
            ///
            /// As for [`read`](Self::read).
            pub fn poll_read_vectored(
                &self,
                context: &mut std::task::Context<'_>,
                spaces: &mut [std::io::IoSliceMut<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.inner()
                    .poll_io_with(context, windlass_reactor::Direction::Read, |socket| {
                        socket.receive_vectored(spaces)
                    })
            }

            /// As [`peek`](Self::peek); see [`poll_read`](Self::poll_read).
            ///
            /// # Errors
            ///
            /// As for [`read`](Self::read).
            pub fn poll_peek(
                &self,
                context: &mut std::task::Context<'_>,
                space: &mut [u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.inner()
                    .poll_io_with(context, windlass_reactor::Direction::Read, |socket| {
                        socket.peek(space)
                    })
            }

            /// As [`write`](Self::write), for those who write futures by hand. Of several tasks that
            /// call a writing `poll_` method, the latest is woken.
            ///
            /// # Errors
            ///
            /// As for [`write`](Self::write).
            pub fn poll_write(
                &self,
                context: &mut std::task::Context<'_>,
                bytes: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.inner()
                    .poll_io_with(context, windlass_reactor::Direction::Write, |socket| {
                        socket.send(bytes)
                    })
            }

            /// As [`write_vectored`](Self::write_vectored); see [`poll_write`](Self::poll_write).
            ///
            /// # Errors
            ///
            /// As for [`write`](Self::write).
            pub fn poll_write_vectored(
                &self,
                context: &mut std::task::Context<'_>,
                buffers: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.inner()
                    .poll_io_with(context, windlass_reactor::Direction::Write, |socket| {
                        socket.send_vectored(buffers)
                    })
            }

            /// As [`readable`](Self::readable); see [`poll_read`](Self::poll_read).
            ///
            /// # Errors
            ///
            /// As for [`readable`](Self::readable).
            pub fn poll_readable(
                &self,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                self.inner().poll_readable(context)
            }

            /// As [`writable`](Self::writable); see [`poll_write`](Self::poll_write).
            ///
            /// # Errors
            ///
            /// As for [`readable`](Self::readable).
            pub fn poll_writable(
                &self,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                self.inner().poll_writable(context)
            }
        }
    };
}

pub(crate) use polled_methods;
