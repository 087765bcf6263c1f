//! The floor of a proxy of small messages: nothing but a loop of epoll, read and write.
//!
//! Level-triggered, as that takes the fewest calls: what was read and passed on needs no second read
//! to learn that there is no more. It is no proxy to use: a side that does not read what it is sent
//! holds up all the others, and the connection to the upstream blocks.
//!
//! ```text
//! bare_proxy --listen 127.0.0.1:0 --upstream ADDR
//! ```

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;

use clap::Parser;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use windlass_benches::listen;

/// The event data of the listener; all others are indices of [`Proxy::sides`].
const LISTENER: u64 = u64::MAX;

/// Passes connections on, by an event loop straight over the system calls.
#[derive(Parser)]
struct Arguments {
    /// Where to listen; port 0 takes a free one.
    #[arg(long)]
    listen: SocketAddr,
    /// The server behind it.
    #[arg(long)]
    upstream: SocketAddr,
}

/// What the loop knows.
struct Proxy {
    epoll: rustix::fd::OwnedFd,
    upstream: SocketAddr,
    /// Client and upstream of a connection in turn, so that they differ in the lowest bit of their
    /// indices. Numbers of connections that are over are not used again.
    sides: Vec<Option<Side>>,
    /// What was read last.
    buffer: Vec<u8>,
}

/// One end of a connection.
struct Side {
    stream: TcpStream,
    has_ended: bool,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let listener = listen(arguments.listen)?;
    println!("listening on {}", listener.local_addr()?);
    let mut proxy = Proxy {
        epoll: epoll::create(CreateFlags::CLOEXEC)?,
        upstream: arguments.upstream,
        sides: Vec::new(),
        buffer: vec![0; 64 << 10],
    };
    proxy.add(&listener, LISTENER)?;
    let mut events = Vec::with_capacity(1024);
    loop {
        events.clear();
        epoll::wait(&proxy.epoll, spare_capacity(&mut events), None)?;
        for event in &events {
            match event.data.u64() {
                LISTENER => proxy.accept(&listener)?,
                index => proxy.pass_on(index as usize)?,
            }
        }
    }
}

impl Proxy {
    fn add(&self, source: impl AsFd, data: u64) -> io::Result<()> {
        Ok(epoll::add(
            &self.epoll,
            source,
            EventData::new_u64(data),
            EventFlags::IN,
        )?)
    }

    fn accept(&mut self, listener: &TcpListener) -> io::Result<()> {
        while let Ok((client, _)) = listener.accept() {
            for stream in [client, TcpStream::connect(self.upstream)?] {
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                self.add(&stream, self.sides.len() as u64)?;
                self.sides.push(Some(Side {
                    stream,
                    has_ended: false,
                }));
            }
        }
        Ok(())
    }

    /// Reads once from a side and writes all of it to the other.
    fn pass_on(&mut self, index: usize) -> io::Result<()> {
        let pair = &mut self.sides[index & !1..=index | 1];
        let (first, second) = pair.split_at_mut(1);
        let (Some(first), Some(second)) = (&mut first[0], &mut second[0]) else {
            return Ok(()); // The other side's event came before, in the same wait.
        };
        let (from, to) = match index % 2 {
            0 => (first, second),
            _ => (second, first),
        };
        let count = match from.stream.read(&mut self.buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(_) => 0,
        };
        let is_over = match count {
            0 => {
                from.has_ended = true;
                // So that its end is not told over and over.
                let _ = epoll::delete(&self.epoll, &from.stream);
                to.stream.shutdown(Shutdown::Write).is_err() || to.has_ended
            }
            _ => write_all(&to.stream, &self.buffer[..count]).is_err(),
        };
        if is_over {
            pair.fill_with(|| None);
        }
        Ok(())
    }
}

/// Writes all of `bytes`, waiting for this one connection when it must.
fn write_all(mut stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(stream, PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
