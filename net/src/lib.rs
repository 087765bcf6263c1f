//! Async TCP, UDP and Unix sockets on the windlass reactor, under any executor.
//!
//! The order to read this crate in:
//!
//! 1. [`TcpStream`] (`tcp/stream.rs`): an operation is tried, and where it would block, the task
//!    waits for the reactor. What streams of all kinds offer is in `stream/`: reading and writing in
//!    `methods.rs`, their halves in `split.rs` (borrowed) and `owned.rs`. What one attempt is, is in
//!    `tcp/socket.rs`; how a stream is connected, in `tcp/connect.rs`, and to which of several
//!    addresses, in `tcp/eyeballs.rs`; urgent data in `tcp/urgent.rs`.
//! 2. [`TcpListener`] (`tcp/listener.rs`): what happens between a call of `accept` and a stream is
//!    in `accept/queue.rs`; how it waits when descriptors run out is in `accept/shortage.rs`;
//!    several listeners on one address are in `tcp/sharded.rs`.
//! 3. [`UdpSocket`] (`udp/socket.rs`): what one attempt is, is in `udp/attempt.rs`;
//!    batches are in `udp/batch.rs`.
//! 4. [`UnixStream`], [`UnixListener`], [`UnixDatagram`] and [`UnixSeqpacket`] (`unix/`): what an
//!    attempt is, is in `unix/socket.rs` and `unix/message.rs`; descriptors that are passed are in
//!    `unix/descriptors.rs`.
//! 5. What is said before: [`TcpSocket`] (`tcp/builder.rs`), [`Connector`] (`tcp/connector.rs`),
//!    and the options of all (`options/`).
//! 6. What an address may be given as: [`ToAddresses`] (`address.rs`); names are looked up by
//!    threads of their own, or by a [`Resolver`] of yours (`resolve/`).
//! 7. [`io`]: copying, in one direction or both (`copy/`): through a buffer, or within the kernel;
//!    and whole pieces, read and written in a way that can be cancelled (`exact/`).
//! 8. Pipes (`pipe/`), and the standard streams (`stdio/`).
//! 9. The traits of other crates (`compat/`).
//!
//! What differs between systems is in five tables: `system.rs`, for options `options/table.rs`, for
//! batches of datagrams `udp/system/`, for Unix sockets `unix/system.rs`, and for copying within the
//! kernel `copy/kernel.rs`.
//! There is no unsafe code: system calls go through std, socket2, and rustix and the reactor crate
//! where these stop.
//!
//! No executor is needed but one that polls futures: a thread that has no reactor is served by the
//! one that the reactor crate starts for the process.

#![forbid(unsafe_code)]

mod accept;
mod address;
mod compat;
mod copy;
#[cfg(feature = "futures-io")]
mod exact;
pub mod io;
mod listener;
mod options;
mod pipe;
mod resolve;
mod stdio;
mod stream;
mod system;
mod tcp;
mod udp;
mod unix;

pub use accept::{AcceptBackoff, Incoming};
pub use address::ToAddresses;
pub use listener::{Listener, descriptor_limit};
pub use options::Keepalive;
pub use pipe::{PipeReader, PipeWriter, pipe};
pub use resolve::{LookingUp, LookupError, Resolver, SystemResolver, lookup_host, lookup_host_by};
pub use std::net::Shutdown;
pub use stream::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use tcp::{BindError, ConnectError, Connector, TcpListener, TcpSocket, TcpStream};
pub use udp::{Failed, Inbound, Outbound, Received, UdpSocket};
pub use unix::{
    Credentials, ReceivedFds, UnixAddr, UnixAddrError, UnixDatagram, UnixListener, UnixSeqpacket,
    UnixSeqpacketListener, UnixStream,
};
pub use windlass_reactor::Direction;
