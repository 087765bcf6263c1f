//! The server on tokio.

use std::io;
use std::net::SocketAddr;

use clap::Parser;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use windlass_bench_servers::{SPACE, listen};
use windlass_benches::{ANSWER, Asked};

/// Answers HTTP requests, on tokio.
#[derive(Parser)]
struct Arguments {
    /// Where to listen; port 0 takes a free one.
    #[arg(long)]
    listen: SocketAddr,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(listen(arguments.listen)?)?;
        loop {
            let (stream, _peer) = listener.accept().await?;
            tokio::spawn(serve(stream));
        }
    })
}

/// Answers what comes until the client closes.
async fn serve(mut stream: TcpStream) -> io::Result<()> {
    let mut space = [0; SPACE];
    loop {
        let count = stream.read(&mut space).await?;
        let asked = Asked::by(&space[..count]);
        for _ in 0..asked.requests {
            stream.write_all(ANSWER).await?;
        }
        if count == 0 || asked.close {
            return Ok(());
        }
    }
}
