//! tokio: `current_thread` for one worker, `multi_thread` for more.

use crate::clock;
use ::tokio::io::{AsyncReadExt, AsyncWriteExt};
use ::tokio::net::TcpStream;
use ::tokio::runtime::{Builder, Runtime};
use ::tokio::task::JoinHandle;
use std::future::{Future, pending, ready};
use std::hint::black_box;
use std::net::SocketAddr;
use std::time::Duration;

pub use ::tokio::{task::spawn, task::yield_now, time::sleep};

#[path = "../situations/mod.rs"]
pub mod situations;

/// Makes the runtime that stands for a number of workers.
fn build(workers: usize) -> Runtime {
    let mut builder = match workers {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if workers > 1 {
        builder.worker_threads(workers);
    }
    builder.enable_all().build().expect("the runtime starts")
}

/// Runs a future as a task of a fresh runtime and returns its output.
pub fn run<F>(workers: usize, future: F) -> F::Output
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    build(workers)
        .block_on(async { spawn(future).await })
        .expect("the task ends")
}

/// Spawns a task that nobody joins.
pub fn detach<F>(future: F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let handle: JoinHandle<()> = spawn(future);
    drop(handle);
}

/// Returns a timeout over a future that never ends.
pub fn expire_after(duration: Duration) -> impl Future {
    ::tokio::time::timeout(duration, pending::<()>())
}

/// Blocks on ready futures, one after the other, and says how long that took.
pub fn block_on_ready(count: u64) -> Duration {
    let runtime = build(1);
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
    pub async fn read(&mut self, mut buffer: Vec<u8>) -> (usize, Vec<u8>) {
        let count = self.0.read(&mut buffer).await.unwrap_or(0);
        (count, buffer)
    }

    /// Writes all of `buffer` and gives it back.
    pub async fn write_all(&mut self, buffer: Vec<u8>) -> Vec<u8> {
        self.0.write_all(&buffer).await.expect("writes");
        buffer
    }
}
