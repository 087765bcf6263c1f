//! An async runtime whose readiness mechanism is chosen at run time.
//!
//! This crate is the face of three that can also be used alone: it re-exports them and adds
//! [`net::Acceptor`], which joins them.
//!
//! | here | from | what |
//! | --- | --- | --- |
//! | [`block_on`], [`spawn`], [`Runtime`] and what goes with them | `windlass-executor` | runs tasks, on one thread or on many |
//! | [`net`], [`io`] | `windlass-net` | sockets, name look-up, copying |
//! | [`time`], [`signal`], [`reactor`], [`budget`] | `windlass-reactor` | waits for descriptors, deadlines and signals |
//!
//! An echo server:
//!
//! ```no_run
//! use windlass::net::TcpListener;
//!
//! fn main() -> std::io::Result<()> {
//!     windlass::block_on(async {
//!         let listener = TcpListener::bind("127.0.0.1:7000").await?;
//!         let mut incoming = listener.incoming();
//!         while let Some(accepted) = incoming.next().await {
//!             let (stream, _peer) = accepted?;
//!             windlass::spawn(async move { windlass::io::copy(&stream, &stream).await });
//!         }
//!         Ok(())
//!     })
//! }
//! ```
//!
//! Which mechanism serves is found out when the program runs: the fastest that works of those in
//! [`reactor::Backend`]. `WINDLASS_BACKEND=poll` forces one, and so does [`Builder::backend`].

#![forbid(unsafe_code)]

mod acceptor;

#[doc(inline)]
pub use windlass_executor::{
    AbortHandle, Builder, CancellationToken, Cancelled, CancelledOwned, Culprit, Drain, DrainGuard,
    DropGuard, Dump, Endpoint, Handle, Id, JoinError, JoinHandle, JoinSet, LocalHandle, Metrics,
    RootView, Runtime, SpawnError, Stall, StalledTask, TaskBuilder, TaskLocal, TaskLocalError,
    TaskLocalFuture, TaskPanic, TaskState, TaskView, Tracked, WaitingFor, WorkerMetrics, YieldNow,
    block_in_place, block_on, spawn, spawn_blocking, spawn_local, spawn_on, try_spawn, yield_now,
};

/// Copying between streams and from files, and the standard streams.
pub mod io {
    #[doc(inline)]
    pub use windlass_net::io::*;
}

/// Sockets and the look-up of names.
pub mod net {
    pub use crate::acceptor::{Acceptor, AcceptorCounts, AcceptorHandle};
    #[doc(inline)]
    pub use windlass_net::{
        AcceptBackoff, BindError, ConnectError, Connector, Credentials, Failed, Inbound, Incoming,
        Keepalive, Listener, LookingUp, LookupError, Outbound, OwnedReadHalf, OwnedWriteHalf,
        PipeReader, PipeWriter, ReadHalf, Received, ReceivedFds, Resolver, ReuniteError, Shutdown,
        SystemResolver, TcpListener, TcpSocket, TcpStream, ToAddresses, UdpSocket, UnixAddr,
        UnixAddrError, UnixDatagram, UnixListener, UnixSeqpacket, UnixSeqpacketListener,
        UnixStream, WriteHalf, descriptor_limit, lookup_host, lookup_host_by, pipe,
    };
}

/// Waiting for descriptors of any kind, for executors of your own, and the mechanism itself.
pub mod reactor {
    #[doc(inline)]
    pub use windlass_reactor::*;
}

#[doc(inline)]
pub use windlass_reactor::{budget, signal, time};

/// Has the examples of the README compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
