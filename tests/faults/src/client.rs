//! Those who talk to the servers.

use crate::scene::Server;
use crate::server::LIMIT;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

/// How many bytes make a server go over to moving them in bulk, and fill every buffer.
const MUCH: usize = 8 << 20;

/// What the server calls a client without an address.
pub(crate) const UNNAMED: &str = "(unnamed)";

/// Somebody who talks to a server.
pub(crate) enum Client {
    Tcp(TcpStream),
    Unix(UnixStream),
    Udp(UdpSocket),
}

impl Client {
    /// Connects.
    pub(crate) fn new(server: Server, address: &str) -> io::Result<Self> {
        if server == Server::Unix {
            let stream = UnixStream::connect(address)?;
            stream.set_write_timeout(Some(LIMIT))?;
            return Ok(Self::Unix(stream));
        }
        let address: SocketAddr = address.parse().map_err(io::Error::other)?;
        if server.is_udp() {
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            socket.connect(address)?;
            return Ok(Self::Udp(socket));
        }
        let stream = TcpStream::connect_timeout(&address, LIMIT)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(LIMIT))?;
        Ok(Self::Tcp(stream))
    }

    /// Returns its own address, as the server tells it.
    pub(crate) fn address(&self) -> io::Result<String> {
        let address = match self {
            Self::Tcp(stream) => stream.local_addr()?,
            Self::Udp(socket) => socket.local_addr()?,
            // They have no name.
            Self::Unix(_) => return Ok(UNNAMED.into()),
        };
        Ok(address.to_string())
    }

    pub(crate) fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Unix(stream) => stream.write_all(bytes),
            Self::Udp(socket) => socket.send(bytes).map(drop),
        }
    }

    /// Waits for these bytes to come back, so long.
    pub(crate) fn hear(&mut self, bytes: &[u8], limit: Duration) -> io::Result<()> {
        let mut space = vec![0; bytes.len()];
        match self {
            Self::Tcp(stream) => {
                stream.set_read_timeout(Some(limit))?;
                stream.read_exact(&mut space)?;
            }
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(limit))?;
                stream.read_exact(&mut space)?;
            }
            Self::Udp(socket) => {
                socket.set_read_timeout(Some(limit))?;
                // A limit of time keeps the system from going on by itself after a signal.
                while let Err(error) = socket.recv(&mut space) {
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
        match space == bytes {
            true => Ok(()),
            false => Err(io::Error::other("other bytes came back")),
        }
    }

    /// Says something and waits until it comes back.
    pub(crate) fn round(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.say(bytes)?;
        self.hear(bytes, LIMIT)
    }

    /// Says much, and hears it only after a while; or at once.
    pub(crate) fn much(&mut self, reads_late: bool) -> io::Result<()> {
        let Self::Tcp(stream) = self else {
            return Err(io::Error::other("that is for streams"));
        };
        let mut writer = stream.try_clone()?;
        let bytes: Vec<_> = (0..MUCH).map(|index| (index / 7) as u8).collect();
        let said = bytes.clone();
        let writing = thread::spawn(move || writer.write_all(&said));
        if reads_late {
            thread::sleep(Duration::from_millis(300));
        }
        let heard = self.hear(&bytes, LIMIT);
        if heard.is_err() {
            // The writer must not be left waiting.
            if let Self::Tcp(stream) = self {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        let written = writing
            .join()
            .map_err(|_| io::Error::other("the writer panicked"))?;
        heard.and(written)
    }

    /// Ends its side, and waits for the other end.
    pub(crate) fn end(&mut self, limit: Duration) -> io::Result<()> {
        let more = match self {
            Self::Tcp(stream) => {
                stream.shutdown(Shutdown::Write)?;
                stream.set_read_timeout(Some(limit))?;
                stream.read(&mut [0])?
            }
            Self::Unix(stream) => {
                stream.shutdown(Shutdown::Write)?;
                stream.set_read_timeout(Some(limit))?;
                stream.read(&mut [0])?
            }
            Self::Udp(_) => 0,
        };
        match more {
            0 => Ok(()),
            _ => Err(io::Error::other("more came back than was said")),
        }
    }
}

/// An echo server that goes on as long as the program, for relays to pass connections on to.
pub(crate) fn upstream() -> Result<SocketAddr, String> {
    let error = |error: io::Error| format!("no upstream server: {error}");
    let listener = TcpListener::bind("127.0.0.1:0").map_err(error)?;
    let address = listener.local_addr().map_err(error)?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || echo(&stream));
        }
    });
    Ok(address)
}

fn echo(mut stream: &TcpStream) {
    let mut space = vec![0; 1 << 16];
    while let Ok(count @ 1..) = stream.read(&mut space) {
        if stream.write_all(&space[..count]).is_err() {
            return;
        }
    }
}
