//! The life of a server: it listens, says so, stops when asked, and drains.

use crate::{Totals, say};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;
use windlass::net::{Acceptor, TcpListener, TcpStream};
use windlass::reactor::Backend;
use windlass::signal::{Signal, SignalKind};
use windlass::{Handle, Runtime, spawn};

/// How long clients that are being served are waited for when the server is asked to stop.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);

/// What the help of each server says of signals.
pub const HELP: &str = "SIGUSR1 has it print what its workers have done and what its tasks wait for; \
                        SIGINT (ctrl-c) or SIGTERM has it stop.";

/// The arguments that all servers take.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Where to listen, as HOST:PORT; with port 0 the system chooses a port
    #[arg(long, value_name = "ADDR")]
    pub listen: String,
    /// How many threads run connections, the main thread included; one per processor unless given
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// How to wait for sockets: epoll, kqueue, devpoll or poll; the fastest that works unless
    /// given, here or in the environment
    #[arg(long, value_name = "NAME")]
    pub backend: Option<Backend>,
}

impl Options {
    /// Makes the runtime that was asked for.
    ///
    /// # Errors
    ///
    /// If there can't be so many workers, or the back end doesn't work here.
    pub fn runtime(&self) -> io::Result<Runtime> {
        let mut builder = Runtime::builder();
        if let Some(workers) = self.workers {
            builder = builder.workers(workers);
        }
        if let Some(backend) = self.backend {
            builder = builder.backend(backend);
        }
        builder.build()
    }
}

/// Runs a server until it is asked to stop.
///
/// `handler` serves a connection, within the limits that `set` has put on the acceptor; `hint` says
/// what to type, where `ADDR`, or `HOST PORT`, stands for the address. On ctrl-c or `SIGTERM` nothing more is accepted. Clients that are owed something, or
/// that go on being served, get a few seconds; idle connections are closed. A second signal ends
/// it at once.
///
/// # Errors
///
/// If the server can't listen, or its listener fails.
pub fn serve<F>(
    options: &Options,
    totals: &'static Totals,
    hint: &str,
    set: impl FnOnce(Acceptor<TcpListener>) -> Acceptor<TcpListener>,
    handler: impl Fn(TcpStream) -> F + Clone + Send + 'static,
) -> io::Result<()>
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let runtime = options.runtime()?;
    let counts = runtime.block_on(async {
        let listener = TcpListener::bind(&options.listen).await?;
        let address = listener.local_addr()?;
        let mut stop = Stop::new()?;
        let acceptor = set(Acceptor::new(listener)).drain_by(totals.owed());
        let counts = acceptor.handle();
        let mut accepting = spawn(acceptor.serve(move |stream, _peer| handler(stream)));
        spawn(show(Signal::new(SignalKind::USER_DEFINED_1)?));
        say(format_args!("listening on {address}"));
        let host_and_port = format!("{} {}", address.ip(), address.port());
        say(hint
            .replace("HOST PORT", &host_and_port)
            .replace("ADDR", &address.to_string()));

        if let First::B(ended) = first(stop.requested(), &mut accepting).await {
            ended??;
            return Ok(counts);
        }
        totals.stop();
        // The listener is closed once this has ended.
        let _ = accepting.await;
        let limit = DRAIN_LIMIT.as_secs();
        say(format_args!(
            "stopping: clients get {limit} seconds to finish; ctrl-c ends it at once"
        ));
        if let First::B(left @ 1..) = first(stop.requested(), totals.drain(DRAIN_LIMIT)).await {
            say(format_args!("{left} clients are cut off"));
        }
        io::Result::Ok(counts)
    })?;
    // This closes what is still open.
    drop(runtime);
    let counts = counts.counts();
    let errors = counts.failed + counts.timed_out + counts.panicked;
    say(totals.in_words(counts.accepted, errors));
    Ok(())
}

/// Prints what the runtime has done, and what its tasks do, whenever somebody asks by a signal.
async fn show(mut asked: Signal) {
    while asked.recv().await.is_ok() {
        let runtime = Handle::current();
        say(format_args!("{}\n{}", runtime.metrics(), runtime.dump()));
    }
}

/// Listens for ctrl-c and `SIGTERM`.
#[derive(Debug)]
pub struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    /// Listens from now on.
    ///
    /// # Errors
    ///
    /// If there are no descriptors left.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: Signal::new(SignalKind::INTERRUPT)?,
            terminate: Signal::new(SignalKind::TERMINATE)?,
        })
    }

    /// Waits until either comes.
    pub async fn requested(&mut self) {
        poll_fn(|context| self.poll_requested(context)).await;
    }

    fn poll_requested(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let interrupt = self.interrupt.poll_recv(context);
        let terminate = self.terminate.poll_recv(context);
        if interrupt.is_ready() || terminate.is_ready() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// Which of two futures was done first.
#[derive(Debug)]
pub enum First<A, B> {
    /// The one that was given first.
    A(A),
    /// The other one.
    B(B),
}

/// Waits for the first of two futures; the other one is dropped.
pub async fn first<A: Future, B: Future>(a: A, b: B) -> First<A::Output, B::Output> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    poll_fn(|context| {
        if let Poll::Ready(output) = a.as_mut().poll(context) {
            return Poll::Ready(First::A(output));
        }
        b.as_mut().poll(context).map(First::B)
    })
    .await
}
