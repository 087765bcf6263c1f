//! A proxy on tokio.

use std::io;
use std::net::SocketAddr;

use clap::Parser;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use windlass_bench_servers::listen;

/// Passes connections on, on tokio.
#[derive(Parser)]
struct Arguments {
    /// Where to listen; port 0 takes a free one.
    #[arg(long)]
    listen: SocketAddr,
    /// The server behind it.
    #[arg(long)]
    upstream: SocketAddr,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(listen(arguments.listen)?)?;
        loop {
            let (client, _peer) = listener.accept().await?;
            tokio::spawn(pass_on(client, arguments.upstream));
        }
    })
}

/// Passes on what comes from either side until both have ended.
async fn pass_on(mut client: TcpStream, upstream: SocketAddr) -> io::Result<()> {
    let mut upstream = TcpStream::connect(upstream).await?;
    client.set_nodelay(true)?;
    upstream.set_nodelay(true)?;
    copy_bidirectional(&mut client, &mut upstream).await?;
    Ok(())
}
