//! The server on windlass.
//!
//! On SIGUSR1 it prints `interest changes N`: how often the interest of a registered descriptor was
//! changed where the kernel sees it, since the start.

use std::io;
use std::net::SocketAddr;

use clap::Parser;
use windlass::net::{TcpListener, TcpStream};
use windlass::reactor::{Backend, Handle};
use windlass::signal::{Signal, SignalKind};
use windlass::{Runtime, spawn};
use windlass_bench_servers::SPACE;
use windlass_benches::{ANSWER, Asked};

/// Answers HTTP requests, on windlass.
#[derive(Parser)]
struct Arguments {
    /// Where to listen; port 0 takes a free one.
    #[arg(long)]
    listen: SocketAddr,
    /// How to wait for sockets.
    #[arg(long)]
    backend: Backend,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let runtime = Runtime::builder()
        .workers(1)
        .backend(arguments.backend)
        .build()?;
    runtime.block_on(async {
        let asked = Signal::new(SignalKind::USER_DEFINED_1)?;
        spawn(tell_changes(asked));
        // Of a listener that is its own the runtime knows what it may conclude from a short read.
        let listener = TcpListener::bind(arguments.listen).await?;
        println!("listening on {}", listener.local_addr()?);
        let mut incoming = listener.incoming();
        while let Some(accepted) = incoming.next().await {
            let (stream, _peer) = accepted?;
            spawn(serve(stream));
        }
        Ok(())
    })
}

/// Answers what comes until the client closes.
async fn serve(stream: TcpStream) -> io::Result<()> {
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

/// Prints the count each time it is asked for.
async fn tell_changes(mut asked: Signal) -> io::Result<()> {
    let reactor = Handle::current().ok_or(io::ErrorKind::NotFound)?;
    loop {
        asked.recv().await?;
        println!("interest changes {}", reactor.interest_changes());
    }
}
