//! Connecting, without blocking: `connect` begins, and the socket is writable once it is over.

use super::builder::TcpSocket;
use super::eyeballs::{self, ATTEMPT_DELAY};
use super::socket::Socket;
use super::stream::TcpStream;
use crate::address::ToAddresses;
use crate::resolve;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use windlass_reactor::{Direction, Taken};

impl TcpStream {
    /// Connects to `address`: if there are several, or a name has several, to the one that answers
    /// first ("Happy Eyeballs", RFC 8305).
    ///
    /// IPv6 and IPv4 addresses take turns, beginning with the first that there is. When one has
    /// failed, or has not answered for 250 ms, the next is tried as well; as soon as there is a
    /// connection, the other attempts are given up. For another delay, a limit, an address to
    /// connect from or options there is [`Connector`](crate::Connector).
    ///
    /// How long one address may take is left to the system, which can be minutes; see
    /// [`timeout`](windlass_reactor::time::timeout).
    ///
    /// ```
    /// # futures::executor::block_on(async {
    /// use windlass_net::{TcpListener, TcpStream};
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let stream = TcpStream::connect(("localhost", listener.local_addr()?.port())).await?;
    /// assert_eq!(stream.peer_addr()?, listener.local_addr()?);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// What the system says of the address, unchanged; if there are several, a
    /// [`ConnectError`](crate::ConnectError), which names all, of the kind that tells most.
    /// `InvalidInput` if there is no address, or if the text given for one is none; a
    /// [`LookupError`](crate::LookupError) if a name can't be looked up.
    ///
    /// # Cancel safety
    ///
    /// Dropping it gives the connection up.
    pub async fn connect(address: impl ToAddresses) -> io::Result<Self> {
        let addresses = resolve::addresses(address).await?;
        let to_one = |address| Ok(Connecting::new(TcpSocket::for_address(address)?, address));
        eyeballs::race(addresses.as_slice(), ATTEMPT_DELAY, None, to_one).await
    }
}

/// A connection that is being made.
///
/// Written by hand, since it is what a task that connects has to have room for.
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub(super) struct Connecting {
    /// Gone once it is done.
    stream: Option<TcpStream>,
    address: SocketAddr,
    begun: bool,
}

impl Connecting {
    pub(super) fn new(socket: TcpSocket, address: SocketAddr) -> Self {
        Self {
            stream: Some(socket.into_stream()),
            address,
            begun: false,
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Future for Connecting {
    type Output = io::Result<TcpStream>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self {
            stream,
            address,
            begun,
        } = self.get_mut();
        let connecting = stream
            .as_ref()
            .expect("a connection is polled until it is made");
        // The first attempt comes before any wait: a socket that was registered before it has been
        // connected would count as hung up. Nobody else waits on this socket, so that its polled
        // wait is ours.
        let attempt = |socket: &Socket| {
            if *begun {
                outcome(socket)
            } else {
                *begun = true;
                begin(socket, *address)
            }
        };
        ready!(
            connecting
                .inner
                .poll_io_with(context, Direction::Write, attempt)
        )?;
        Poll::Ready(Ok(stream.take().expect("it is there still")))
    }
}

/// Starts to connect. Some systems refuse here, and a connection to this machine may be made here.
fn begin(socket: &Socket, address: SocketAddr) -> io::Result<Taken<()>> {
    match rustix::net::connect(socket, &address) {
        Ok(()) => Ok(Taken::Some(())),
        // connect(2): after EINTR it goes on by itself, too.
        Err(Errno::INPROGRESS | Errno::INTR) => Err(io::ErrorKind::WouldBlock.into()),
        // connect(2): the system lacks a local port or a route. Nothing goes on, so that to wait,
        // as for any other WouldBlock, would be for ever.
        Err(Errno::AGAIN) => Err(io::Error::new(
            io::ErrorKind::AddrNotAvailable,
            "the system has no local port or route to spare for a connection (EAGAIN); try later",
        )),
        Err(error) => Err(error.into()),
    }
}

/// Tells, after an event, what came of it.
///
/// `SO_ERROR` is read once: reading it clears it, and the cause would be lost.
fn outcome(socket: &Socket) -> io::Result<Taken<()>> {
    if let Some(error) = socket.stream.take_error()? {
        return Err(error);
    }
    match socket.stream.peer_addr() {
        Ok(_) => Ok(Taken::Some(())),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => still_connecting(socket),
        Err(error) => Err(error),
    }
}

/// Neither an error nor a connection: an event too early, after which it goes on, unless the socket
/// is ready all the same. Then no other event need ever come.
fn still_connecting(socket: &Socket) -> io::Result<Taken<()>> {
    let mut asked = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::OUT)];
    let now = rustix::event::Timespec::default();
    match poll(&mut asked, Some(&now)) {
        Ok(0) | Err(Errno::INTR) => Err(io::ErrorKind::WouldBlock.into()),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::NotConnected,
            "connecting has ended without a connection, and the system gave no cause; \
             has somebody else taken the socket's error?",
        )),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Socket, TcpSocket, begin, outcome};
    use crate::system;
    use crate::tcp::TcpStream;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::io;
    use std::net::{SocketAddr, TcpListener};
    use std::os::fd::AsFd;
    use std::time::Duration;

    fn wait_for_outcome(socket: &Socket) {
        let mut asked = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::OUT)];
        let limit = Timespec {
            tv_sec: 10,
            tv_nsec: 0,
        };
        assert_eq!(poll(&mut asked, Some(&limit)), Ok(1));
    }

    fn begun(address: SocketAddr) -> TcpStream {
        let stream = TcpSocket::for_address(address).unwrap().into_stream();
        match begin(stream.inner.get_ref(), address) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
        stream
    }

    fn refusing_address() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    }

    /// An error that somebody else has taken fails, and doesn't wait for ever.
    #[test]
    fn an_error_that_was_taken_is_not_waited_for() {
        let stream = begun(refusing_address());
        let socket = stream.inner.get_ref();
        wait_for_outcome(socket);
        assert!(socket.stream.take_error().unwrap().is_some());
        let error = outcome(socket).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotConnected, "{error}");
    }

    /// The cause is told.
    #[test]
    fn the_cause_is_told() {
        let stream = begun(refusing_address());
        wait_for_outcome(stream.inner.get_ref());
        let error = outcome(stream.inner.get_ref()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }

    /// An event that comes too early is one to go on waiting after.
    #[test]
    fn an_early_event_goes_on_waiting() {
        let (_listener, _accepted, address) = listener_that_is_full();
        let stream = begun(address);
        let told = outcome(stream.inner.get_ref()).unwrap_err();
        assert_eq!(told.kind(), io::ErrorKind::WouldBlock, "{told}");
    }

    /// Makes a listener that answers no more connections, as its backlog is full.
    fn listener_that_is_full() -> (socket2::Socket, Vec<std::net::TcpStream>, SocketAddr) {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let listener = system::tcp_socket(socket2::Domain::IPV4).unwrap();
        listener.bind(&any.into()).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap().as_socket().unwrap();
        let mut accepted = Vec::new();
        let limit = Duration::from_millis(100);
        while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, limit) {
            accepted.push(stream);
        }
        (listener, accepted, address)
    }
}
