//! One busy connection among idle ones: requests one after another, and what they cost the server.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use windlass_benches::{ANSWER, processor_time};

use crate::Failure;

/// What is asked each time.
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// For how long requests are made that do not count.
const WARM_UP: Duration = Duration::from_millis(150);

/// How long a server may take after its last answer to go back to its wait, so that the account of
/// its processor time is closed when it is read.
const SETTLES: Duration = Duration::from_millis(50);

/// The arguments of `load busy`.
#[derive(Args)]
pub(crate) struct Busy {
    /// The server.
    #[arg(long)]
    connect: SocketAddr,
    /// The server's process, whose processor time is read.
    #[arg(long)]
    process: i32,
    /// For how long requests are made.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// How many idle connections the server must have by then.
    #[arg(long, default_value_t = 0)]
    idle: usize,
    /// Sends SIGUSR1 to the server before and after, upon which it says what it has counted.
    #[arg(long)]
    mark: bool,
}

/// What was measured.
struct Measured {
    /// Requests that were answered.
    requests: u64,
    /// How long they took.
    elapsed: Duration,
    /// The server's processor time meanwhile.
    processor: Duration,
}

impl Busy {
    /// Makes the requests and prints `REQUESTS,SECONDS,NANOSECONDS`, the last of processor time.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut stream = crate::connect(self.connect)?;
        // Whoever answers this has accepted all that connected before.
        ask_for(&mut stream, WARM_UP)?;
        let open = fs::read_dir(format!("/proc/{}/fd", self.process))?.count();
        if open <= self.idle {
            return Err(format!("{open} descriptors for {} idle connections", self.idle).into());
        }

        self.mark()?;
        let measured = self.measure(&mut stream)?;
        self.mark()?;
        println!(
            "{},{:.6},{}",
            measured.requests,
            measured.elapsed.as_secs_f64(),
            measured.processor.as_nanos()
        );
        Ok(())
    }

    /// Makes the requests that count.
    fn measure(&self, stream: &mut TcpStream) -> Result<Measured, Failure> {
        let before = self.settled()?;
        let start = Instant::now();
        let requests = ask_for(stream, Duration::from_secs_f64(self.seconds))?;
        let elapsed = start.elapsed();
        Ok(Measured {
            requests,
            elapsed,
            processor: self.settled()? - before,
        })
    }

    /// Returns the processor time of the server once it waits.
    fn settled(&self) -> Result<Duration, Failure> {
        thread::sleep(SETTLES);
        processor_time(self.process)
            .map_err(|error| format!("processor time of {}: {error}", self.process).into())
    }

    /// Has the server say what it has counted so far.
    fn mark(&self) -> Result<(), Failure> {
        if self.mark {
            let process = Pid::from_raw(self.process).ok_or("0 is no process")?;
            kill_process(process, Signal::USR1)?;
        }
        Ok(())
    }
}

/// Makes requests until `time` is over, and returns how many.
fn ask_for(stream: &mut TcpStream, time: Duration) -> Result<u64, Failure> {
    let end = Instant::now() + time;
    let mut answer = [0; ANSWER.len()];
    let mut requests = 0;
    loop {
        stream.write_all(REQUEST)?;
        stream.read_exact(&mut answer)?;
        if answer != *ANSWER {
            return Err(format!("answered {:?}", String::from_utf8_lossy(&answer)).into());
        }
        requests += 1;
        if Instant::now() >= end {
            return Ok(requests);
        }
    }
}
