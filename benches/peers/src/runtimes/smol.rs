//! smol: one `Executor` run by as many threads as there are workers.

use crate::clock;
use crate::gate::Gate;
use ::smol::io::{AsyncReadExt, AsyncWriteExt};
use ::smol::net::TcpStream;
use ::smol::{Executor, Task, Timer};
use futures_lite::future::or;
use std::future::{Future, pending, ready};
use std::hint::black_box;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

pub use ::smol::future::yield_now;

#[path = "../situations/mod.rs"]
pub mod situations;

/// What every thread of the process runs; a process measures one case.
static EXECUTOR: Executor<'static> = Executor::new();

/// Runs a future as a task and returns its output.
pub fn run<F>(workers: usize, future: F) -> F::Output
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let stop = Arc::new(Gate::default());
    let others: Vec<_> = (1..workers)
        .map(|_| {
            let stop = stop.clone();
            std::thread::spawn(move || ::smol::block_on(EXECUTOR.run(stop.opened())))
        })
        .collect();
    let output = ::smol::block_on(EXECUTOR.run(EXECUTOR.spawn(future)));
    stop.open();
    drop(others);
    output
}

/// Spawns a task.
pub fn spawn<F>(future: F) -> Task<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    EXECUTOR.spawn(future)
}

/// Spawns a task that nobody joins.
pub fn detach<F>(future: F)
where
    F: Future<Output = ()> + Send + 'static,
{
    spawn(future).detach();
}

/// Waits.
pub async fn sleep(duration: Duration) {
    Timer::after(duration).await;
}

/// Returns a timeout over a future that never ends.
pub fn expire_after(duration: Duration) -> impl Future {
    or(pending::<()>(), sleep(duration))
}

/// Blocks on ready futures, one after the other, and says how long that took.
pub fn block_on_ready(count: u64) -> Duration {
    clock::timed(count, || ::smol::block_on(ready(black_box(1_u32))))
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
