//! monoio: a thread of its own, on `io_uring` where the system has it, else on epoll.
//!
//! A task that wakes itself runs again before all others, and the system is asked for what is ready
//! only when no task is. So the situations with a task that always yields or wakes itself do not
//! end here.

use crate::clock;
use ::monoio::io::{AsyncReadRent, AsyncWriteRentExt};
use ::monoio::net::TcpStream;
use ::monoio::task::JoinHandle;
use ::monoio::{FusionDriver, RuntimeBuilder};
use std::future::{Future, pending, ready};
use std::hint::black_box;
use std::net::SocketAddr;
use std::time::Duration;

// It has no yield of its own; this one wakes the task and is pending once.
pub use ::monoio::{spawn, time::sleep};
pub use futures_lite::future::yield_now;

#[path = "../situations/mod.rs"]
pub mod situations;

/// Makes a runtime, evaluates an expression with it, and returns the value.
macro_rules! with_runtime {
    (|$runtime:ident| $body:expr) => {{
        let mut $runtime = RuntimeBuilder::<FusionDriver>::new()
            .enable_timer()
            .build()
            .expect("the runtime starts");
        $body
    }};
}

/// Runs a future as a task of a fresh runtime and returns its output.
pub fn run<F>(_workers: usize, future: F) -> F::Output
where
    F: Future + 'static,
    F::Output: 'static,
{
    with_runtime!(|runtime| runtime.block_on(async { spawn(future).await }))
}

/// Spawns a task that nobody joins.
pub fn detach<F>(future: F)
where
    F: Future<Output = ()> + 'static,
{
    let handle: JoinHandle<()> = spawn(future);
    drop(handle);
}

/// Returns a timeout over a future that never ends.
pub fn expire_after(duration: Duration) -> impl Future {
    ::monoio::time::timeout(duration, pending::<()>())
}

/// Blocks on ready futures, one after the other, and says how long that took.
pub fn block_on_ready(count: u64) -> Duration {
    with_runtime!(|runtime| clock::timed(count, || runtime.block_on(ready(black_box(1_u32)))))
}

/// A connection.
pub struct Socket(TcpStream);

impl Socket {
    /// Connects to `address`.
    pub async fn connect(address: SocketAddr) -> Self {
        Self(TcpStream::connect_addr(address).await.expect("connects"))
    }

    /// Reads into `buffer`; 0 bytes are the end.
    pub async fn read(&mut self, buffer: Vec<u8>) -> (usize, Vec<u8>) {
        let (count, buffer) = self.0.read(buffer).await;
        (count.unwrap_or(0), buffer)
    }

    /// Writes all of `buffer` and gives it back.
    pub async fn write_all(&mut self, buffer: Vec<u8>) -> Vec<u8> {
        let (written, buffer) = self.0.write_all(buffer).await;
        written.expect("writes");
        buffer
    }
}
