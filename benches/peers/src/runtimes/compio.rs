//! compio: a thread of its own, on `io_uring`.

use crate::clock;
use ::compio::BufResult;
use ::compio::io::{AsyncRead, AsyncWriteExt};
use ::compio::net::TcpStream;
use ::compio::runtime::Runtime;
use std::future::{Future, pending, ready};
use std::hint::black_box;
use std::net::SocketAddr;
use std::time::Duration;

pub use ::compio::{runtime::spawn, time::sleep};
// It has no yield of its own; this one wakes the task and is pending once.
pub use futures_lite::future::yield_now;

#[path = "../situations/mod.rs"]
pub mod situations;

/// Runs a future as a task of a fresh runtime and returns its output.
pub fn run<F>(_workers: usize, future: F) -> F::Output
where
    F: Future + 'static,
    F::Output: 'static,
{
    let runtime = Runtime::new().expect("the runtime starts");
    match runtime.block_on(async { spawn(future).await }) {
        Ok(output) => output,
        Err(_) => panic!("the task has panicked or was cancelled"),
    }
}

/// Spawns a task that nobody joins.
pub fn detach<F>(future: F)
where
    F: Future<Output = ()> + 'static,
{
    spawn(future).detach();
}

/// Returns a timeout over a future that never ends.
pub fn expire_after(duration: Duration) -> impl Future {
    ::compio::time::timeout(duration, pending::<()>())
}

/// Blocks on ready futures, one after the other, and says how long that took.
pub fn block_on_ready(count: u64) -> Duration {
    let runtime = Runtime::new().expect("the runtime starts");
    clock::timed(count, || runtime.block_on(ready(black_box(1_u32))))
}

/// A connection.
pub struct Socket(TcpStream);

impl Socket {
    /// Connects to `address`.
    pub async fn connect(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).await.expect("connects"))
    }

    /// Reads into `buffer`; 0 bytes are the end.
    pub async fn read(&mut self, buffer: Vec<u8>) -> (usize, Vec<u8>) {
        let BufResult(count, buffer) = self.0.read(buffer).await;
        (count.unwrap_or(0), buffer)
    }

    /// Writes all of `buffer` and gives it back.
    pub async fn write_all(&mut self, buffer: Vec<u8>) -> Vec<u8> {
        let BufResult(written, buffer) = self.0.write_all(buffer).await;
        written.expect("writes");
        buffer
    }
}
