//! One server, written for each runtime as its users would write it.
//!
//! Each runs on one thread, with a task for each connection, and answers as
//! [`windlass_benches::Asked`] says. The floor beside them is `bare_echo --http`, which is no
//! runtime at all.

use std::io;
use std::net::{SocketAddr, TcpListener};

/// How many bytes a connection reads at once: several of the requests that come.
pub const SPACE: usize = 1_024;

/// Listens as the floor does, and prints `listening on ADDR`.
///
/// # Errors
///
/// What the system says.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = windlass_benches::listen(address)?;
    println!("listening on {}", listener.local_addr()?);
    Ok(listener)
}
