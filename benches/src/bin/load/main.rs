//! The clients: one subcommand for each kind of load that a script needs.
//!
//! Plain blocking code, or one `poll` loop where many connections must be waited for at once: a
//! client that measures a runtime must not be built on one. Every subcommand checks what comes
//! back, is bounded in time, and exits with 1 when anything was lost, wrong or late.

mod burst;
mod busy;
mod churn;
mod crowd;
mod idle;
mod kill;
mod pingpong;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;

/// Any failure of a client, with a text that says what was wrong.
type Failure = Box<dyn Error>;

/// Puts load on a server and checks what comes back.
#[derive(Parser)]
enum Load {
    /// Echo round trips one after another, with a pause between them.
    Pingpong(pingpong::Pingpong),
    /// Many short connections: connect, send, read the echo, close.
    Burst(burst::Burst),
    /// HTTP requests one after another, and what they cost the server.
    Busy(busy::Busy),
    /// Opens connections and holds them.
    Idle(idle::Idle),
    /// Opens and closes connections in a loop, one at a time.
    Churn(churn::Churn),
    /// Opens more connections at once than the server can hold, and waits until each was served.
    Crowd(crowd::Crowd),
    /// Opens connections, writes all that fits, and dies in the middle of it.
    Kill(kill::Kill),
}

fn main() -> ExitCode {
    let ended = match Load::parse() {
        Load::Pingpong(pingpong) => pingpong.run(),
        Load::Burst(burst) => burst.run(),
        Load::Busy(busy) => busy.run(),
        Load::Idle(idle) => idle.run(),
        Load::Churn(churn) => churn.run(),
        Load::Crowd(crowd) => crowd.run(),
        Load::Kill(kill) => kill.run(),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("load: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// The longest that a blocking read or write may take before the server counts as stuck.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// Connects, gives up on a stuck peer after [`PATIENCE`], and sends small pieces at once.
fn connect(address: std::net::SocketAddr) -> std::io::Result<std::net::TcpStream> {
    let stream = std::net::TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
