//! The floor: what a proxy costs that does nothing but wait and splice.

use clap::Args;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

const SIZE: usize = 1 << 20;

/// Where it passes connections on to.
#[derive(Args)]
pub(crate) struct Bare {
    /// The server behind it
    #[arg(long, value_name = "ADDR")]
    upstream: SocketAddr,
}

impl Bare {
    pub(crate) fn run(&self) -> io::Result<()> {
        let listener = super::listen()?;
        listener.set_nonblocking(true)?;
        let mut ways: Vec<Way> = Vec::new();
        loop {
            let mut asked = vec![PollFd::new(&listener, PollFlags::IN)];
            asked.extend(ways.iter().map(Way::asks));
            poll(&mut asked, None)?;
            let ready = asked.iter().map(|asked| !asked.revents().is_empty());
            let ready = ready.collect::<Vec<_>>();
            for (way, _) in ways
                .iter_mut()
                .zip(&ready[1..])
                .filter(|(_, ready)| **ready)
            {
                way.go()?;
            }
            ways.retain(|way| !way.is_over);
            if ready[0] {
                let client = listener.accept()?.0;
                let upstream = TcpStream::connect(self.upstream)?;
                // As a proxy does that passes on at once what it has.
                client.set_nodelay(true)?;
                upstream.set_nodelay(true)?;
                client.set_nonblocking(true)?;
                upstream.set_nonblocking(true)?;
                ways.push(Way::new(client.try_clone()?, upstream.try_clone()?)?);
                ways.push(Way::new(upstream, client)?);
            }
        }
    }
}

/// One direction of a connection.
struct Way {
    from: TcpStream,
    to: TcpStream,
    pipe: (OwnedFd, OwnedFd),
    held: usize,
    is_over: bool,
}

impl Way {
    fn new(from: TcpStream, to: TcpStream) -> io::Result<Self> {
        let pipe = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        fcntl_setpipe_size(&pipe.1, SIZE)?;
        Ok(Self {
            from,
            to,
            pipe,
            held: 0,
            is_over: false,
        })
    }

    fn asks(&self) -> PollFd<'_> {
        match self.held {
            0 => PollFd::new(&self.from, PollFlags::IN),
            _ => PollFd::new(&self.to, PollFlags::OUT),
        }
    }

    /// Moves until it would block.
    fn go(&mut self) -> io::Result<()> {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        loop {
            let moved = match self.held {
                0 => splice(&self.from, None, &self.pipe.1, None, SIZE, flags),
                held => splice(&self.pipe.0, None, &self.to, None, held, flags),
            };
            match moved {
                Err(Errno::AGAIN) => return Ok(()),
                Ok(0) => {
                    self.is_over = true;
                    return self.to.shutdown(Shutdown::Write);
                }
                Ok(count) if self.held == 0 => self.held = count,
                Ok(count) => self.held -= count,
                Err(error) => return Err(error.into()),
            }
        }
    }
}
