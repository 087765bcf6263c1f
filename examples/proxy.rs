//! A TCP proxy: whoever connects talks to the upstream server, as if to it directly.
//!
//! It shows `copy_bidirectional` with its idle timeout, a connect with a time limit, a reset that
//! is passed on as one, and a limit on open connections: when it is reached, the rest wait in the
//! queue of the listener.
//!
//! A proxy that is asked to stop gives all open connections the same few seconds, also those on
//! which nothing moves: it doesn't know the protocol, so it can't tell a client that is done from one
//! that waits for an answer. A second signal ends them at once.
//!
//! ```text
//! cargo run --release --example proxy -- --listen 127.0.0.1:7001 --upstream example.org:80
//! ```

#![forbid(unsafe_code)]

use clap::Parser;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use windlass::Runtime;
use windlass::io::{CopyBidirectional, copy_bidirectional};
use windlass::net::{Acceptor, TcpStream, lookup_host};
use windlass::time::timeout;
use windlass_examples::{HELP, Options, Totals, run, serve};

/// Passes TCP connections on to another server.
#[derive(Debug, Parser)]
#[command(name = "proxy", after_help = HELP)]
struct Arguments {
    #[command(flatten)]
    server: Options,
    /// Where connections are passed on to, as HOST:PORT; a name is looked up once, at the start
    #[arg(long, value_name = "ADDR")]
    upstream: String,
    /// A connection on which no byte is moved for so long is closed; 0 is never
    #[arg(long, value_name = "SECS", default_value_t = 300)]
    idle_timeout: u64,
    /// How long the upstream server may take to accept a connection
    #[arg(long, value_name = "SECS", default_value_t = 10,
          value_parser = clap::value_parser!(u64).range(1..))]
    connect_timeout: u64,
    /// How many connections are open at the most; others wait until one ends. Each takes two
    /// descriptors, and there are never more than the process may open (ulimit -n)
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,
}

/// What every connection needs to know.
struct Route {
    upstream: Vec<SocketAddr>,
    idle_limit: Option<Duration>,
    connect_limit: Duration,
}

static TOTALS: Totals = Totals::new("bytes");

fn main() -> ExitCode {
    run(|arguments: Arguments| {
        // Unlike the free `block_on`, this tells of a back end that doesn't work by an error.
        let runtime = Runtime::builder().workers(1).build()?;
        let route = Arc::new(Route {
            upstream: runtime.block_on(lookup_host(&arguments.upstream))?,
            idle_limit: match arguments.idle_timeout {
                0 => None,
                seconds => Some(Duration::from_secs(seconds)),
            },
            connect_limit: Duration::from_secs(arguments.connect_timeout),
        });
        let hint = format!("clients of {} may connect to ADDR", arguments.upstream);
        let most = arguments.max_connections as usize;
        let set = |acceptor: Acceptor<_>| acceptor.max_connections(most).descriptors_each(2);
        let handler = move |client| pass_on(client, route.clone());
        serve(&arguments.server, &TOTALS, &hint, set, handler)
    })
}

/// Serves one connection.
///
/// The block uses what it has captured in place, where an `async fn` would move it first.
#[expect(clippy::manual_async_fn, reason = "it is smaller")]
fn pass_on(client: TcpStream, route: Arc<Route>) -> impl Future<Output = io::Result<()>> {
    async move {
        let _owed = TOTALS.owe();
        relay(&client, &route).await
    }
}

/// Connects to the upstream server and copies until both sides have ended.
async fn relay(client: &TcpStream, route: &Route) -> io::Result<()> {
    // What is over soon takes no room in a task that lasts.
    let upstream = match Box::pin(connect(route)).await {
        Ok(upstream) => upstream,
        Err(error) => {
            // An end would tell the client that the server has been there, and had nothing to say.
            reset_when_dropped(client);
            return Err(error);
        }
    };
    // Whatever one side has sent at once is for the other side at once.
    client.set_nodelay(true)?;
    upstream.set_nodelay(true)?;
    let mut copy = copy_bidirectional(client, &upstream);
    if let Some(limit) = route.idle_limit {
        copy = copy.idle_timeout(limit);
    }
    let mut counted = Counted(copy);
    let ended = (&mut counted.0).await.map(drop);
    // What one side has cut off must not look to the other as if it were all there is.
    if ended.as_ref().err().is_some_and(is_cut_off) {
        reset_when_dropped(client);
        reset_when_dropped(&upstream);
    }
    ended
}

/// Has a connection end by a reset. One that has ended already says an error, and needs none.
fn reset_when_dropped(stream: &TcpStream) {
    let _ = stream.set_linger(Some(Duration::ZERO));
}

/// Connects to the upstream server in time.
async fn connect(route: &Route) -> io::Result<TcpStream> {
    timeout(route.connect_limit, TcpStream::connect(&route.upstream[..])).await?
}

/// Says whether a connection has ended by a fault of its own, and not by our idle timeout.
fn is_cut_off(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::TimedOut || error.raw_os_error().is_some()
}

/// Counts the bytes of a connection when it ends: also if it fails, or is cut off by a stop.
struct Counted<'a>(CopyBidirectional<&'a TcpStream, &'a TcpStream>);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let (up, down) = self.0.moved();
        TOTALS.served(up + down);
    }
}
