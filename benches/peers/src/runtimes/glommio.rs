//! glommio: a thread of its own, on `io_uring`.

use crate::clock;
use ::glommio::net::TcpStream;
use ::glommio::{LocalExecutor, LocalExecutorBuilder, Task};
use futures_lite::{AsyncReadExt, AsyncWriteExt};
use std::future::{Future, pending, ready};
use std::hint::black_box;
use std::net::SocketAddr;
use std::time::Duration;

pub use ::glommio::{spawn_local as spawn, timer::sleep};
pub use futures_lite::future::yield_now;

#[path = "../situations/mod.rs"]
pub mod situations;

/// Makes an executor that asks for little locked memory, of which there is often little.
fn build() -> LocalExecutor {
    LocalExecutorBuilder::default()
        .io_memory(64 << 10)
        .ring_depth(64)
        .make()
        .expect("the runtime starts")
}

/// Runs a future as a task of a fresh runtime and returns its output.
pub fn run<F>(_workers: usize, future: F) -> F::Output
where
    F: Future + 'static,
    F::Output: 'static,
{
    build().run(async { spawn(future).await })
}

/// Spawns a task that nobody joins.
pub fn detach<F>(future: F)
where
    F: Future<Output = ()> + 'static,
{
    let task: Task<()> = spawn(future);
    task.detach();
}

/// Returns a timeout over a future that never ends.
pub fn expire_after(duration: Duration) -> impl Future {
    ::glommio::timer::timeout(duration, pending::<::glommio::Result<(), ()>>())
}

/// Blocks on ready futures, one after the other, and says how long that took.
pub fn block_on_ready(count: u64) -> Duration {
    let executor = build();
    clock::timed(count, || executor.run(ready(black_box(1_u32))))
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
