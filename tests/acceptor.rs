//! The acceptor: limits, time limits, panics, the end; on every back end that works here.

use std::future::{Future, pending};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream as StdStream};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use windlass::io::copy;
use windlass::net::{
    Acceptor, AcceptorCounts, AcceptorHandle, Listener, TcpListener, TcpStream, descriptor_limit,
};
use windlass::reactor::Backend;
use windlass::time::{sleep, timeout};
use windlass::{Drain, JoinHandle, Runtime, spawn};

/// Nothing here takes longer, however slow the machine.
const LIMIT: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(50);

fn on_all<F: Future<Output = ()>>(test: impl Fn() -> F) {
    for backend in Backend::available() {
        let runtime = Runtime::builder().workers(2).backend(backend).build();
        runtime.unwrap().block_on(async {
            let done = timeout(LIMIT, test()).await;
            done.unwrap_or_else(|_| panic!("it hangs on {backend:?}"));
        });
    }
}

type Serving = JoinHandle<io::Result<()>>;

/// Starts a server, set up by `set`.
async fn serve<F>(
    set: impl FnOnce(Acceptor<TcpListener>) -> Acceptor<TcpListener>,
    handler: impl Fn(TcpStream, SocketAddr) -> F + Clone + Send + 'static,
) -> (SocketAddr, AcceptorHandle, Serving)
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = set(Acceptor::new(listener));
    let handle = acceptor.handle();
    (address, handle, spawn(acceptor.serve(handler)))
}

async fn echo(stream: TcpStream, _: SocketAddr) -> io::Result<()> {
    copy(&stream, &stream).await.map(drop)
}

async fn until(handle: &AcceptorHandle, done: impl Fn(AcceptorCounts) -> bool) {
    while !done(handle.counts()) {
        sleep(Duration::from_millis(1)).await;
    }
}

async fn round_trip(client: &TcpStream) {
    let mut byte = [0];
    client.write_all(b"x").await.unwrap();
    client.read_exact(&mut byte).await.unwrap();
}

#[test]
fn connections_above_the_limit_wait_until_one_ends() {
    on_all(|| async {
        let (address, handle, _serving) = serve(|it| it.max_connections(2), echo).await;
        let mut clients = Vec::new();
        for _ in 0..6 {
            clients.push(TcpStream::connect(address).await.unwrap());
        }
        for done in 1..=6 {
            round_trip(&clients[0]).await;
            assert!(handle.counts().active <= 2);
            clients.remove(0);
            until(&handle, |counts| counts.finished == done).await;
        }
        let counts = handle.drain(LIMIT).await;
        assert_eq!((counts.accepted, counts.finished), (6, 6));
    });
}

#[test]
fn connections_above_the_limit_are_refused_if_so_wanted() {
    on_all(|| async {
        let set = |it: Acceptor<_>| it.max_connections(1).refuse_when_full();
        let (address, handle, _serving) = serve(set, echo).await;
        let first = TcpStream::connect(address).await.unwrap();
        round_trip(&first).await;
        let second = TcpStream::connect(address).await.unwrap();
        assert_eq!(second.read(&mut [0]).await.unwrap_or(0), 0);
        drop(first);
        until(&handle, |counts| counts.active == 0).await;
        round_trip(&TcpStream::connect(address).await.unwrap()).await;
        let counts = handle.drain(LIMIT).await;
        assert_eq!((counts.accepted, counts.refused), (2, 1));
    });
}

/// A listener that has nothing to accept must not keep the last place from the other.
#[test]
fn shards_share_one_limit() {
    on_all(|| async {
        let listeners = TcpListener::bind_sharded("127.0.0.1:0", 3).await.unwrap();
        let address = listeners[0].local_addr().unwrap();
        let acceptor = Acceptor::sharded(listeners).max_connections(1);
        let handle = acceptor.handle();
        let serving = spawn(acceptor.serve(echo));
        let mut clients = Vec::new();
        for _ in 0..30 {
            let client = TcpStream::connect(address).await.unwrap();
            clients.push(spawn(async move { round_trip(&client).await }));
        }
        for client in clients {
            client.await.unwrap();
        }
        handle.stop();
        serving.await.unwrap().unwrap();
        let counts = handle.drain(LIMIT).await;
        assert_eq!((counts.accepted, counts.finished), (30, 30));
    });
}

#[test]
fn a_connection_has_its_time_and_no_more() {
    on_all(|| async {
        let began = Instant::now();
        let (address, handle, _serving) = serve(|it| it.time_limit(SHORT), echo).await;
        let client = TcpStream::connect(address).await.unwrap();
        while began.elapsed() < LIMIT {
            // What happens on it makes no difference.
            let written = client.write_all(b"x").await;
            if written.is_err() || client.read(&mut [0]).await.unwrap_or(0) == 0 {
                break;
            }
        }
        assert!(began.elapsed() >= SHORT);
        until(&handle, |counts| {
            counts.timed_out == 1 && counts.active == 0
        })
        .await;
    });
}

#[test]
fn a_connection_on_which_nothing_happens_is_ended() {
    on_all(|| async {
        let limit = SHORT * 10;
        let (address, handle, _serving) = serve(|it| it.idle_limit(limit), echo).await;
        let client = TcpStream::connect(address).await.unwrap();
        // For longer than the limit, and never idle as long unless this machine is.
        let (began, mut sent) = (Instant::now(), Instant::now());
        let mut byte = [0];
        while began.elapsed() < limit * 3 / 2 {
            let before = sent;
            sent = Instant::now();
            let written = client.write_all(b"x").await;
            if written.is_err() || client.read(&mut byte).await.unwrap_or(0) == 0 {
                assert!(
                    before.elapsed() >= limit,
                    "ended {:?} after",
                    before.elapsed()
                );
                break;
            }
            sleep(SHORT / 2).await;
        }
        assert_eq!(client.read(&mut byte).await.unwrap_or(0), 0);
        assert!(sent.elapsed() >= limit, "{:?}", sent.elapsed());
        until(&handle, |counts| counts.timed_out == 1).await;
    });
}

#[test]
fn errors_and_panics_cost_their_connection_only() {
    on_all(|| async {
        let handler = |stream: TcpStream, peer: SocketAddr| {
            // Some panic before there is a future.
            assert!(peer.port() != 0);
            async move {
                let mut what = [0];
                stream.read_exact(&mut what).await?;
                match what[0] {
                    b'p' => panic!("as asked"),
                    b'e' => Err(io::Error::other("as asked")),
                    _ => Ok(()),
                }
            }
        };
        let (address, handle, _serving) = serve(|it| it.max_connections(1), handler).await;
        for what in [b"p", b"e", b"o"] {
            let client = TcpStream::connect(address).await.unwrap();
            client.write_all(what).await.unwrap();
            assert_eq!(client.read(&mut [0]).await.unwrap_or(0), 0);
        }
        let counts = handle.drain(LIMIT).await;
        let ends = (counts.panicked, counts.failed, counts.finished);
        assert_eq!(ends, (1, 1, 1));
        assert_eq!(counts.active, 0);
    });
}

/// One that panics before it has made a future.
#[test]
fn a_handler_that_makes_no_future() {
    on_all(|| async {
        let handler = |_: TcpStream, _: SocketAddr| -> std::future::Ready<io::Result<()>> {
            panic!("as asked")
        };
        let (address, handle, serving) = serve(|it| it.max_connections(1), handler).await;
        for _ in 0..3 {
            let client = TcpStream::connect(address).await.unwrap();
            assert_eq!(client.read(&mut [0]).await.unwrap_or(0), 0);
        }
        handle.stop();
        serving.await.unwrap().unwrap();
        assert_eq!(handle.drain(LIMIT).await.panicked, 3);
    });
}

#[test]
fn a_stop_gives_connections_their_time_and_aborts_the_rest() {
    on_all(|| async {
        let (address, handle, serving) = serve(|it| it, echo).await;
        let done = TcpStream::connect(address).await.unwrap();
        let silent = TcpStream::connect(address).await.unwrap();
        round_trip(&done).await;
        round_trip(&silent).await;
        handle.stop();
        serving.await.unwrap().unwrap();
        assert!(StdStream::connect(address).is_err());
        // Those that are open still work.
        round_trip(&done).await;
        drop(done);
        let began = Instant::now();
        let counts = handle.drain(SHORT).await;
        assert!(began.elapsed() >= SHORT);
        assert_eq!((counts.finished, counts.aborted, counts.active), (1, 1, 0));
        assert_eq!(silent.read(&mut [0]).await.unwrap_or(0), 0);
    });
}

/// As many stops as may come to pass: one while all places are taken, too.
#[test]
fn a_stop_ends_the_wait_for_a_place() {
    on_all(|| async {
        let never = |_stream, _peer| pending::<io::Result<()>>();
        let (address, handle, serving) = serve(|it| it.max_connections(1), never).await;
        let _first = TcpStream::connect(address).await.unwrap();
        let _second = TcpStream::connect(address).await.unwrap();
        until(&handle, |counts| counts.active == 1).await;
        handle.stop();
        serving.await.unwrap().unwrap();
        assert_eq!(handle.drain(Duration::ZERO).await.aborted, 1);
    });
}

#[test]
fn only_guards_are_waited_for_if_so_wanted() {
    on_all(|| async {
        let owed = Drain::new();
        let set = |it: Acceptor<_>| it.drain_by(owed.clone());
        let (address, handle, _serving) = serve(set, echo).await;
        let idle = TcpStream::connect(address).await.unwrap();
        round_trip(&idle).await;
        let began = Instant::now();
        let counts = handle.drain(LIMIT).await;
        assert!(began.elapsed() < LIMIT / 2);
        assert_eq!(counts.aborted, 1);
    });
}

#[test]
fn serving_until_a_future_is_done() {
    on_all(|| async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = StdStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_read_timeout(Some(LIMIT)).unwrap();
        let asked = windlass::spawn_blocking(move || {
            client.write_all(b"hi").unwrap();
            client.read_exact(&mut [0; 2]).unwrap();
        });
        let counts = Acceptor::new(listener)
            .serve_until(asked, LIMIT, echo)
            .await;
        assert_eq!(counts.unwrap().finished, 1);
    });
}

/// A listener of somebody else, which fails.
struct Failing;

impl Listener for Failing {
    type Stream = ();
    type Address = ();

    fn poll_accept(&self, _: &mut Context<'_>) -> Poll<io::Result<((), ())>> {
        Poll::Ready(Err(io::Error::other("it is broken")))
    }
}

#[test]
fn a_listener_that_fails_is_told() {
    on_all(|| async {
        for count in [1, 2] {
            let acceptor = Acceptor::sharded((0..count).map(|_| Failing).collect());
            let never = |(), ()| pending::<io::Result<()>>();
            let error = acceptor.serve(never).await.unwrap_err();
            assert_eq!(error.to_string(), "it is broken");
        }
    });
}

/// More than there are descriptors for are not accepted, whatever was asked for: they wait, where
/// accepting would fail.
#[test]
fn descriptors_are_a_limit() {
    on_all(|| async {
        let Some(descriptors) = descriptor_limit() else {
            return eprintln!("skipped: this process may have any number of descriptors");
        };
        let set = |it: Acceptor<_>| {
            // So that two of them are more than there are.
            it.descriptors_each(u32::try_from(descriptors / 2 + 1).unwrap_or(u32::MAX))
        };
        let (address, handle, _serving) = serve(set, echo).await;
        let first = TcpStream::connect(address).await.unwrap();
        let second = TcpStream::connect(address).await.unwrap();
        round_trip(&first).await;
        second.write_all(b"x").await.unwrap();
        round_trip(&first).await;
        assert_eq!(handle.counts().accepted, 1);
        drop(first);
        second.read_exact(&mut [0]).await.unwrap();
    });
}
