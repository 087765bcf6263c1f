//! The methods that accept, which listeners of all kinds have.

/// Takes the listener, what a connection becomes and the type of addresses, and how a listener is
/// made in the examples.
macro_rules! accepting_methods {
    ($listener:ty, $stream:ty, $address:ty, $bind:literal) => {
        impl $crate::Listener for $listener {
            type Stream = $stream;
            type Address = $address;

            fn poll_accept(
                &self,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<($stream, $address)>> {
                $crate::listener::past_shortages(|| self.queue.poll_accept(context))
            }
        }

        impl $listener {
            /// Accepts a connection, waiting until there is one; returns the stream and the address
            /// of the peer.
            ///
            /// Connections that have failed by then are passed over. If there are no descriptors or
            /// no memory, this is told once; until a connection is accepted again, each call then
            /// waits and tries until it succeeds. So a loop that calls it and does nothing about
            /// errors doesn't spin.
            ///
            /// ```no_run
            /// # async fn example() -> std::io::Result<()> {
            #[doc = $bind]
            /// loop {
            ///     match listener.accept().await {
            ///         Ok((_stream, address)) => println!("{address} has connected"),
            ///         Err(error) => eprintln!("cannot accept: {error}"),
            ///     }
            /// }
            /// # }
            /// ```
            ///
            /// # Errors
            ///
            /// That of a shortage: `EMFILE`, `ENFILE`, `ENOBUFS` or `ENOMEM`. Any other means that
            /// the listener can't be used.
            ///
            /// # Cancel safety
            ///
            /// No connection is accepted by a future that is dropped before it is done.
            pub fn accept(&self) -> impl Future<Output = std::io::Result<($stream, $address)>> {
                let mut accepting = self.queue.accepting();
                std::future::poll_fn(move |context| accepting.poll(context))
            }

            /// As [`accept`](Self::accept), for those who write futures by hand. Of several tasks
            /// that call it, the latest is woken.
            ///
            /// # Errors
            ///
            /// As for [`accept`](Self::accept).
            pub fn poll_accept(
                &self,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<($stream, $address)>> {
                self.queue.poll_accept(context)
            }

            /// Accepts connections for ever: the listener as a stream.
            pub fn incoming(&self) -> $crate::Incoming<'_, Self> {
                $crate::Incoming::new(self)
            }

            /// Says how long to wait between attempts while descriptors or memory are short; for
            /// all who accept.
            pub fn set_accept_backoff(&self, backoff: $crate::AcceptBackoff) {
                self.queue.set_backoff(backoff);
            }

            /// Returns how many attempts to accept have failed for want of descriptors or memory.
            pub fn accept_shortages(&self) -> u64 {
                self.queue.shortages()
            }
        }

        impl $crate::accept::Accepts for $listener {
            type Socket = ListeningSocket;

            fn queue(&self) -> &$crate::accept::Queue<ListeningSocket> {
                &self.queue
            }
        }
    };
}

pub(crate) use accepting_methods;
