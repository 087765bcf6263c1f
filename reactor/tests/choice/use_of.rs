//! That a poller works, whatever it was made of: waits end, changes are seen, an echo answers.

use crate::support::{LONG, TimeLimit, run_on, wait};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;
use windlass_reactor::{Async, Events, Interest, Mode, Poller, Reactor, Token};

const ROUNDS: usize = 50;

/// Uses two pollers that `make` makes.
pub(crate) fn expect_works(make: impl Fn() -> Poller) {
    let _limit = TimeLimit::of(Duration::from_secs(60));
    let poller = make();
    notifications_end_waits(&poller);
    other_threads_change_the_set(&poller);
    echo(make());
}

fn notifications_end_waits(poller: &Poller) {
    let mut events = Events::new();
    for _ in 0..ROUNDS {
        thread::scope(|scope| {
            scope.spawn(|| poller.notify().unwrap());
            assert_eq!(poller.wait(&mut events, None).unwrap(), 0);
        });
    }
    // One that comes before the wait ends it as well; several are one.
    poller.notify().unwrap();
    poller.notify().unwrap();
    assert_eq!(poller.wait(&mut events, None).unwrap(), 0);
    let before = std::time::Instant::now();
    assert!(wait(poller, Duration::from_millis(2)).is_empty());
    assert!(before.elapsed() >= Duration::from_millis(2));
}

/// Each event comes only of what the other thread does, mostly while this one waits.
fn other_threads_change_the_set(poller: &Poller) {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(b"x").unwrap();
    for round in 0..ROUNDS as u64 {
        thread::scope(|scope| {
            scope.spawn(|| {
                let (interest, mode) = (Interest::READABLE, Mode::Level);
                poller
                    .add(ours.as_fd(), Token(round), interest, mode)
                    .unwrap();
            });
            let events = wait(poller, LONG);
            assert_eq!(events.len(), 1);
            assert_eq!(events[0].token(), Token(round));
        });
        poller.remove(ours.as_fd()).unwrap();
        assert!(wait(poller, Duration::ZERO).is_empty());
    }
}

fn echo(poller: Poller) {
    let mut reactor = Reactor::with_poller(poller);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let client = thread::spawn(move || ask(address));
    let answered = run_on(&mut reactor, async {
        let listener = Async::new(listener).unwrap();
        let (stream, _) = listener.read_with(TcpListener::accept).await.unwrap();
        answer(&Async::new(stream).unwrap()).await
    });
    client.join().unwrap();
    assert_eq!(answered, ROUNDS * 5);
}

/// Sends back what comes; returns how much it was.
async fn answer(stream: &Async<TcpStream>) -> usize {
    let mut space = [0; 64];
    let mut answered = 0;
    loop {
        let read = stream.read_with(|mut stream| stream.read(&mut space)).await;
        let count = read.unwrap();
        if count == 0 {
            return answered;
        }
        let written = stream.write_with(|mut stream| stream.write(&space[..count]));
        assert_eq!(written.await.unwrap(), count);
        answered += count;
    }
}

fn ask(address: SocketAddr) {
    let mut stream = TcpStream::connect(address).unwrap();
    for _ in 0..ROUNDS {
        stream.write_all(b"hello").unwrap();
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"hello");
    }
}
