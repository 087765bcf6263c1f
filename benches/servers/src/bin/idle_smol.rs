//! The server on smol.

use std::io;
use std::net::SocketAddr;

use clap::Parser;
use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::net::{TcpListener, TcpStream};
use smol::{Async, LocalExecutor};
use windlass_bench_servers::{SPACE, listen};
use windlass_benches::{ANSWER, Asked};

/// Answers HTTP requests, on smol.
#[derive(Parser)]
struct Arguments {
    /// Where to listen; port 0 takes a free one.
    #[arg(long)]
    listen: SocketAddr,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let executor = LocalExecutor::new();
    smol::block_on(executor.run(async {
        let listener = TcpListener::from(Async::new(listen(arguments.listen)?)?);
        loop {
            let (stream, _peer) = listener.accept().await?;
            executor.spawn(serve(stream)).detach();
        }
    }))
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
