//! The kinds of descriptor that are waited for, each with whatever is at its other end.

use socket2::{Domain, SockAddr, Socket, Type};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tcp,
    Udp,
    UnixStream,
    PipeReadEnd,
    PipeWriteEnd,
    Eventfd,
    Listener,
}

/// A descriptor that does not block, and its other end.
pub(crate) struct Subject {
    pub(crate) kind: Kind,
    descriptor: File,
    /// The other end; an eventfd is its own, and a listener's is where to connect to.
    pub(crate) peer: Option<File>,
    pub(crate) address: Option<SockAddr>,
    /// Connections made, kept open.
    pub(crate) clients: Vec<Socket>,
}

impl Subject {
    pub(crate) fn new(kind: Kind) -> Self {
        let (descriptor, peer, address) = match kind {
            Kind::Tcp => with_peer(tcp_pair()),
            Kind::Udp => with_peer(udp_pair()),
            Kind::UnixStream => with_peer(Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap()),
            Kind::PipeReadEnd => {
                let (read_end, write_end) = pipe();
                (read_end, Some(write_end), None)
            }
            Kind::PipeWriteEnd => {
                let (read_end, write_end) = pipe();
                (write_end, Some(read_end), None)
            }
            Kind::Eventfd => {
                let counter = eventfd();
                let peer = counter.try_clone().unwrap();
                (counter, Some(peer), None)
            }
            Kind::Listener => {
                let listener = listener();
                let address = listener.local_addr().unwrap();
                (OwnedFd::from(listener), None, Some(address))
            }
        };
        rustix::io::ioctl_fionbio(&descriptor, true).unwrap();
        if let Some(peer) = &peer {
            rustix::io::ioctl_fionbio(peer, true).unwrap();
        }
        Self {
            kind,
            descriptor: File::from(descriptor),
            peer: peer.map(File::from),
            address,
            clients: Vec::new(),
        }
    }

    pub(crate) fn number(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// The same under another number, unless somebody else has taken that by now.
    pub(crate) fn renumbered(mut self, number: RawFd) -> Option<Self> {
        let lowest = rustix::io::fcntl_dupfd_cloexec(&self.descriptor, number).unwrap();
        let is_it = lowest.as_raw_fd() == number;
        self.descriptor = File::from(lowest);
        is_it.then_some(self)
    }

    pub(crate) fn socket(&self) -> socket2::SockRef<'_> {
        socket2::SockRef::from(&self.descriptor)
    }

    pub(crate) fn peer_socket(&self) -> socket2::SockRef<'_> {
        socket2::SockRef::from(self.peer.as_ref().unwrap())
    }

    /// Takes whatever there is, until it would block; a counter needs no second look.
    pub(crate) fn drain(&self) {
        if self.kind == Kind::Listener {
            while self.socket().accept().is_ok() {}
            return;
        }
        drain(&self.descriptor);
    }

    /// Fills the way to the peer, so that the descriptor is not writable any more and stays so.
    pub(crate) fn fill(&self) {
        if self.kind == Kind::Eventfd {
            let _ = (&self.descriptor).write(&(u64::MAX - 1).to_ne_bytes());
            return;
        }
        let block = [0; 16384];
        loop {
            let mut moved = false;
            while let Ok(written @ 1..) = (&self.descriptor).write(&block) {
                moved |= written > 0;
            }
            if !moved {
                return;
            }
            // The kernel may still be handing on what it took, which makes room again.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl AsFd for Subject {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl From<Subject> for OwnedFd {
    fn from(subject: Subject) -> OwnedFd {
        OwnedFd::from(subject.descriptor)
    }
}

/// Reads until it would block or is at the end.
pub(crate) fn drain(mut file: &File) {
    let mut space = [0; 65536];
    loop {
        match file.read(&mut space) {
            Ok(0) => return,
            // A counter is 0 again after one read.
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn with_peer((a, b): (Socket, Socket)) -> (OwnedFd, Option<OwnedFd>, Option<SockAddr>) {
    (a.into(), Some(b.into()), None)
}

fn loopback() -> SockAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()
}

pub(crate) fn listener() -> Socket {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    listener.bind(&loopback()).unwrap();
    listener.listen(16).unwrap();
    listener
}

/// Two ends of one connection, with small buffers, so that they fill soon.
pub(crate) fn tcp_pair() -> (Socket, Socket) {
    let listener = listener();
    listener.set_recv_buffer_size(8192).unwrap();
    let client = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    client.set_send_buffer_size(8192).unwrap();
    client.connect(&listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    client.set_tcp_nodelay(true).unwrap();
    (client, server)
}

fn udp_pair() -> (Socket, Socket) {
    let make = || {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        socket.bind(&loopback()).unwrap();
        socket
    };
    let (a, b) = (make(), make());
    a.connect(&b.local_addr().unwrap()).unwrap();
    b.connect(&a.local_addr().unwrap()).unwrap();
    (a, b)
}

/// A pipe that is closed on exec: (read end, write end).
pub(crate) fn pipe() -> (OwnedFd, OwnedFd) {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap()
}

fn eventfd() -> OwnedFd {
    let flags = rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK;
    rustix::event::eventfd(0, flags).unwrap()
}
