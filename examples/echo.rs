//! An echo server whose idle connections cost next to nothing.
//!
//! It shows how to keep a connection small. A task that waits in `readable` needs no buffer: when
//! something has come, it is read into one that belongs to the thread and written back at once.
//! Only what can't be written yet is copied, and kept until it is.
//!
//! ```text
//! cargo run --release --example echo -- --listen 127.0.0.1:7000
//! ```

#![forbid(unsafe_code)]

use clap::Parser;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::process::ExitCode;
use windlass::net::TcpStream;
use windlass::yield_now;
use windlass_examples::{HELP, Options, Totals, run, serve};

/// Sends back whatever comes, over TCP.
#[derive(Debug, Parser)]
#[command(name = "echo", after_help = HELP)]
struct Arguments {
    #[command(flatten)]
    server: Options,
    /// How many bytes are read at a time; each thread has one buffer of this size
    #[arg(long, value_name = "BYTES", default_value_t = 65_536,
          value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    buffer: u32,
}

static TOTALS: Totals = Totals::new("bytes");

thread_local! {
    /// What all connections of a thread are read into, one after the other.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn main() -> ExitCode {
    run(|arguments: Arguments| {
        let hint = "type: nc HOST PORT";
        let size = arguments.buffer as usize;
        let handler = move |stream| echo(stream, size);
        serve(
            &arguments.server,
            &TOTALS,
            hint,
            |acceptor| acceptor,
            handler,
        )
    })
}

/// Serves one connection.
///
/// What is alive across an `await` is what an idle connection costs, so that is the stream and
/// little else. The block uses what it has captured in place, where an `async fn` would move it
/// first; `poll_readable` needs no place for the wait, of which there is one at a time; and what
/// happens seldom is boxed.
#[expect(clippy::manual_async_fn, reason = "120 bytes instead of 80")]
fn echo(stream: TcpStream, size: usize) -> impl Future<Output = io::Result<()>> {
    async move {
        loop {
            poll_fn(|context| stream.poll_readable(context)).await?;
            match pass(&stream, size)? {
                Passed::Everything => {}
                Passed::Part => yield_now().await,
                Passed::Unwritten(rest) => Box::pin(write(&stream, rest)).await?,
                Passed::End => return Ok(()),
            }
        }
    }
}

/// Writes what could not be written at once.
async fn write(stream: &TcpStream, rest: Box<[u8]>) -> io::Result<()> {
    let _owed = TOTALS.owe();
    stream.write_all(&rest).await?;
    TOTALS.served(rest.len() as u64);
    Ok(())
}

/// What became of the bytes that had come.
enum Passed {
    /// There are none left.
    Everything,
    /// There may be more, but it is the turn of the other connections.
    Part,
    /// These the client does not take yet.
    Unwritten(Box<[u8]>),
    /// There will be no more.
    End,
}

/// Reads what is there, as much as the buffer takes, and writes it back.
fn pass(stream: &TcpStream, size: usize) -> io::Result<Passed> {
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.is_empty() {
            buffer.resize(size, 0);
        }
        let count = match stream.try_read(buffer) {
            Ok(0) => return Ok(Passed::End),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(Passed::Everything);
            }
            Err(error) => return Err(error),
        };
        let written = match stream.try_write(&buffer[..count]) {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        TOTALS.served(written as u64);
        Ok(if written < count {
            Passed::Unwritten(buffer[written..count].into())
        } else if count == size {
            Passed::Part
        } else {
            Passed::Everything
        })
    })
}
