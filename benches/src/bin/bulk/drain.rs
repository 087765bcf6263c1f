//! The server behind the proxy.

use rustix::net::{RecvFlags, recv};
use std::io::{self, Write};
use std::net::TcpStream;

/// Serves each connection by a thread, for ever.
pub(crate) fn run() -> io::Result<()> {
    let listener = super::listen()?;
    for stream in listener.incoming() {
        let stream = stream?;
        std::thread::spawn(move || {
            if let Err(error) = serve(stream) {
                eprintln!("bulk drain: {error}");
            }
        });
    }
    Ok(())
}

fn serve(mut stream: TcpStream) -> io::Result<()> {
    let mut space = vec![0; 1 << 20];
    let mut total = 0_u64;
    loop {
        // The bytes are thrown away in the kernel: what is measured is the proxy.
        let (_, count) = recv(&stream, &mut space[..], RecvFlags::TRUNC)?;
        if count == 0 {
            return stream.write_all(&total.to_be_bytes());
        }
        total += count as u64;
    }
}
