//! Several listeners on one address, each with a queue of its own.

use super::builder::TcpSocket;
use super::listener::{BindError, TcpListener, listen_on};
use crate::address::{self, ToAddresses};
use crate::resolve;
use std::io;
use std::net::SocketAddr;

impl TcpListener {
    /// Binds `count` listeners to `address`, which the system spreads its connections over; if
    /// there are several addresses, to the first that is free. Port 0 has the system choose one
    /// for all of them.
    ///
    /// Each has a queue of its own, so that workers that accept from one each don't get in each
    /// other's way, and a connection stays with the worker that accepted it. Which listener gets a
    /// connection depends on its addresses and ports (`SO_REUSEPORT`, on FreeBSD
    /// `SO_REUSEPORT_LB`): of many clients, each gets about as many. A listener that nobody
    /// accepts from keeps its share waiting, and resets it when it is dropped.
    ///
    /// Another process of the same user may have the same address, if it asks for it likewise:
    /// that is how a server is replaced without a gap, and why a second one started by mistake is
    /// not told that the address is in use.
    ///
    /// Where the system doesn't share connections evenly, the listeners are one in truth, with one
    /// queue: all are woken by a connection, and one gets it.
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// use windlass_net::TcpListener;
    ///
    /// let listeners = TcpListener::bind_sharded("127.0.0.1:0", 2).await?;
    /// assert_eq!(listeners[0].local_addr()?, listeners[1].local_addr()?);
    /// for listener in listeners {
    ///     // On a worker, or a runtime of its own:
    ///     let _serving = async move {
    ///         let mut incoming = listener.incoming();
    ///         while let Some(accepted) = incoming.next().await {
    ///             let (_stream, _peer) = accepted?;
    ///         }
    ///         std::io::Result::Ok(())
    ///     };
    /// }
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`bind`](TcpListener::bind); `InvalidInput` if `count` is 0.
    ///
    /// # Cancel safety
    ///
    /// Nothing is left bound when it is dropped.
    pub async fn bind_sharded(address: impl ToAddresses, count: usize) -> io::Result<Vec<Self>> {
        if count == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "no listener was asked for; at least one is needed",
            ));
        }
        let addresses = resolve::addresses(address).await?;
        let mut last_error = None;
        for address in addresses.as_slice() {
            match shards_on(*address, count) {
                Ok(listeners) => return Ok(listeners),
                Err(error) => last_error = Some(error),
            }
        }
        Err(last_error.unwrap_or_else(address::no_address))
    }
}

fn shards_on(address: SocketAddr, count: usize) -> io::Result<Vec<TcpListener>> {
    match separate(address, count) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            duplicates(listen_on(address)?, count)
        }
        done => done,
    }
}

/// Makes listeners of their own, each with its queue.
fn separate(address: SocketAddr, count: usize) -> io::Result<Vec<TcpListener>> {
    let first = bound(address)?;
    let address = first
        .local_addr()
        .map_err(|error| BindError::wrap(address, error))?;
    let mut sockets = vec![first];
    for _ in 1..count {
        sockets.push(bound(address)?);
    }
    // All are bound by now: the first gets no connections that others should have had, and if one
    // can't be bound, none has taken any.
    let listening = sockets.into_iter().map(TcpSocket::listen_by_default);
    listening
        .collect::<io::Result<_>>()
        .map_err(|error| BindError::wrap(address, error))
}

fn bound(address: SocketAddr) -> io::Result<TcpSocket> {
    let bind = || {
        let socket = TcpSocket::for_address(address)?;
        socket.set_reuse_address(true)?;
        socket.share_port_evenly()?;
        socket.try_bind(address)?;
        Ok(socket)
    };
    bind().map_err(|error| BindError::wrap(address, error))
}

/// Has several descriptors for one listener.
fn duplicates(listener: TcpListener, count: usize) -> io::Result<Vec<TcpListener>> {
    let mut listeners = Vec::with_capacity(count);
    for _ in 1..count {
        listeners.push(listener.duplicate()?);
    }
    listeners.push(listener);
    Ok(listeners)
}

#[cfg(test)]
mod tests {
    use super::{duplicates, listen_on};
    use crate::TcpStream;
    use futures::executor::block_on;
    use futures::future::select_all;

    /// The way it is on systems that don't share connections evenly.
    #[test]
    fn duplicates_share_one_queue() {
        block_on(async {
            let listener = listen_on("127.0.0.1:0".parse().unwrap()).unwrap();
            let address = listener.local_addr().unwrap();
            let listeners = duplicates(listener, 3).unwrap();
            assert_eq!(listeners.len(), 3);
            for _ in 0..10 {
                let accepting = listeners.iter().map(|one| Box::pin(one.accept()));
                let accepting = select_all(accepting);
                let client = TcpStream::connect(address).await.unwrap();
                let ((_, peer), ..) = {
                    let (accepted, place, rest) = accepting.await;
                    (accepted.unwrap(), place, rest)
                };
                assert_eq!(peer, client.local_addr().unwrap());
            }
        });
    }
}
