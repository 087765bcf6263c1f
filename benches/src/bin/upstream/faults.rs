//! What each mode does with one connection.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use socket2::SockRef;
use windlass_benches::{Checker, fill};

/// How many bytes are moved at a time.
const PIECE: usize = 64 * 1_024;

/// Connects to `address` until its queue is full, and returns the connections that fill it.
///
/// A listener whose queue is full drops what asks to connect, so from then on nobody is answered.
pub(crate) fn fill_queue(address: SocketAddr) -> io::Result<Vec<TcpStream>> {
    let mut callers = Vec::new();
    for _ in 0..16 {
        match TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
            Ok(caller) => callers.push(caller),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => return Ok(callers),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("the queue of the listener does not fill"))
}

/// Reads `bytes` bytes, then resets the connection.
pub(crate) fn reset(stream: TcpStream, bytes: u64) -> io::Result<()> {
    SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
    io::copy(&mut stream.take(bytes), &mut io::sink())?;
    Ok(())
}

/// Echoes one byte every tenth of a second.
pub(crate) fn slow(mut stream: TcpStream) -> io::Result<()> {
    let mut byte = [0];
    while stream.read(&mut byte)? == 1 {
        thread::sleep(Duration::from_millis(100));
        stream.write_all(&byte)?;
    }
    Ok(())
}

/// Sends `bytes` bytes of the pattern, ends this side, and waits for the end of the other.
pub(crate) fn source(mut stream: TcpStream, bytes: u64) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut sent = 0;
    while sent < bytes {
        let length = (bytes - sent).min(PIECE as u64);
        let piece = &mut piece[..length as usize];
        fill(piece, sent);
        stream.write_all(piece)?;
        sent += length;
    }
    stream.shutdown(Shutdown::Write)?;
    io::copy(&mut stream, &mut io::sink())?;
    println!("sent {sent} bytes");
    Ok(())
}

/// Reads to the end, compares with the pattern, and prints how many bytes came.
pub(crate) fn sink(mut stream: TcpStream) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut checker = Checker::default();
    loop {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            break;
        }
        checker.check(&piece[..count]).map_err(io::Error::other)?;
    }
    println!("received {} bytes", checker.seen());
    Ok(())
}
