//! A connection whose peer floods it, and a listener in a storm of connections, keep nobody waiting.

mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::LIMIT;
use windlass::net::{TcpListener, TcpStream};
use windlass::time::{sleep, timeout};
use windlass::{Runtime, spawn, yield_now};

/// How many turns of the neighbour are looked at.
const TURNS: usize = 300;

/// Runs `hog`, which counts what it does, beside a neighbour that yields and one that sleeps; prints
/// the gaps that the first one has seen.
fn beside_neighbours<F>(workers: usize, what: &str, hog: impl FnOnce(Arc<AtomicUsize>) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = Runtime::builder().workers(workers).build().unwrap();
    let done = Arc::new(AtomicUsize::new(0));
    let hog = hog(done.clone());
    let neighbours = async {
        let hog = spawn(hog);
        while done.load(Ordering::SeqCst) == 0 {
            yield_now().await;
        }
        let yielding = spawn(async {
            let mut gaps = Vec::with_capacity(TURNS);
            for _ in 0..TURNS {
                let begin = Instant::now();
                yield_now().await;
                gaps.push(begin.elapsed());
            }
            gaps.sort();
            gaps
        });
        let sleeping = spawn(async {
            for _ in 0..20 {
                sleep(Duration::from_millis(1)).await;
            }
        });
        let gaps = yielding.await.unwrap();
        sleeping.await.unwrap();
        let (median, longest) = (gaps[TURNS / 2], gaps[TURNS - 1]);
        println!("{what}, {workers} workers: gaps of {median:?}, {longest:?} at most");
        assert!(!hog.is_finished(), "there was no flood");
        hog.abort();
        assert!(hog.await.unwrap_err().is_cancelled());
    };
    runtime
        .block_on(timeout(LIMIT, neighbours))
        .expect("somebody starves");
}

/// A flood of small messages and one of large ones, read without a pause.
#[test]
fn a_connection_that_is_flooded() {
    for (workers, piece) in [(1, 64), (1, 1 << 16), (2, 64), (2, 1 << 16)] {
        let (listener, address) = listener(workers);
        let flood = thread::spawn(move || {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            while stream.write_all(&[0; 1 << 16]).is_ok() {}
        });
        let what = format!("reads of {piece}");
        beside_neighbours(workers, &what, |done| async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut space = vec![0; piece];
            while stream.read(&mut space).await.is_ok() {
                done.fetch_add(1, Ordering::SeqCst);
            }
        });
        // The hog is gone, and the connection with it.
        flood.join().unwrap();
    }
}

/// Connections that come as fast as they are accepted.
#[test]
fn a_listener_in_a_storm() {
    for workers in [1, 2] {
        let (listener, address) = listener(workers);
        let listener = Arc::new(listener);
        let is_over = Arc::new(AtomicBool::new(false));
        let storm: Vec<_> = (0..2)
            .map(|_| {
                let is_over = is_over.clone();
                thread::spawn(move || {
                    while !is_over.load(Ordering::SeqCst) {
                        let Ok(mut stream) = std::net::TcpStream::connect(address) else {
                            continue;
                        };
                        stream.set_read_timeout(Some(LIMIT)).unwrap();
                        // No number is kept for a minute: the end comes from there.
                        match stream.read(&mut [0]) {
                            Ok(count) => assert_eq!(count, 0),
                            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
                        }
                    }
                })
            })
            .collect();
        let accepting = listener.clone();
        beside_neighbours(workers, "accepting", |done| async move {
            loop {
                let (stream, _) = accepting.accept().await.unwrap();
                done.fetch_add(1, Ordering::SeqCst);
                stream.reset().unwrap();
            }
        });
        is_over.store(true, Ordering::SeqCst);
        // Not sooner: who goes on trying to connect to a number that nobody listens on may be given
        // that number himself, and is connected to himself.
        drop(listener);
        for thread in storm {
            thread.join().unwrap();
        }
    }
}

fn listener(workers: usize) -> (TcpListener, SocketAddr) {
    let runtime = Runtime::builder().workers(workers).build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// What two tasks send each other through streams comes whole, however often they are put off.
#[test]
fn streams_lose_nothing() {
    let runtime = Runtime::builder().workers(1).budget(3).build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let sent: Vec<u8> = (0..200_000_u32)
            .map(|number| (number % 251) as u8)
            .collect();
        let copy = sent.clone();
        let sending = spawn(async move {
            for piece in copy.chunks(100) {
                client.write_all(piece).await.unwrap();
            }
        });
        let echo = spawn(async move {
            let mut received = Vec::new();
            let mut space = [0; 77];
            loop {
                match server.read(&mut space).await.unwrap() {
                    0 => break received,
                    count => received.extend_from_slice(&space[..count]),
                }
            }
        });
        timeout(LIMIT, sending).await.unwrap().unwrap();
        assert!(timeout(LIMIT, echo).await.unwrap().unwrap() == sent);
    });
}
