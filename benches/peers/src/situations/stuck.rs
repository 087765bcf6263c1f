//! A task that blocks its thread, while another worker is free.

use super::super::{Socket, detach, run, sleep, spawn};
use crate::case::{Case, Report};
use crate::clock;
use crate::control::Control;
use crate::gate::Gate;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Tasks of each kind.
const EACH: usize = 8;

/// The longest delays so far, in nanoseconds, by who was delayed.
#[derive(Default)]
struct Delays {
    timers: AtomicU64,
    sockets: AtomicU64,
    woken: AtomicU64,
    spawned: AtomicU64,
    stop: Gate,
}

/// A task blocks its thread for `count` milliseconds: the longest delay of tasks that it had
/// woken, of tasks that it had spawned, of timers, and of sockets; of each kind several, which
/// have lived on all workers before.
pub(super) fn blocked_thread(case: Case) -> Report {
    let delays = Arc::new(Delays::default());
    let (clients, addresses): (Vec<_>, Vec<_>) = (0..EACH).map(|_| client(&delays)).unzip();
    let control = Control::start();
    run(case.workers, scene(case, delays.clone(), addresses));
    for client in clients {
        client.join().expect("the thread does not panic");
    }
    let millis = |delay: &AtomicU64| delay.load(Ordering::Relaxed) as f64 / 1e6;
    let kinds = [
        ("timers_ms", millis(&delays.timers)),
        ("sockets_ms", millis(&delays.sockets)),
        ("woken_ms", millis(&delays.woken)),
        ("spawned_ms", millis(&delays.spawned)),
    ];
    let longest = kinds.iter().map(|&(_, delay)| delay).fold(0.0, f64::max);
    let report = Report::of("delay_ms", longest).and("control_us", control.stop());
    kinds
        .into_iter()
        .fold(report, |report, (name, delay)| report.and(name, delay))
}

async fn scene(case: Case, delays: Arc<Delays>, addresses: Vec<SocketAddr>) {
    for address in addresses {
        detach(echo(address));
        detach(tick(delays.clone()));
    }
    let mut sleepers = Vec::new();
    for _ in 0..EACH {
        let sleeper = Arc::new((Gate::default(), AtomicU64::new(0)));
        detach(sleep_until_woken(sleeper.clone(), delays.clone()));
        sleepers.push(sleeper);
    }
    // Until all have found their places.
    sleep(Duration::from_millis(100)).await;
    let _ = spawn(block(case, delays.clone(), sleepers)).await;
    // What was held up until now is seen by the time that this is over.
    sleep(Duration::from_millis(50)).await;
    delays.stop.open();
}

type Sleeper = Arc<(Gate, AtomicU64)>;

/// The task that blocks.
async fn block(case: Case, delays: Arc<Delays>, sleepers: Vec<Sleeper>) {
    for sleeper in sleepers {
        sleeper.1.store(clock::stamp(), Ordering::Relaxed);
        sleeper.0.open();
        let (delays, spawned) = (delays.clone(), clock::stamp());
        detach(async move { note(&delays.spawned, spawned) });
    }
    std::thread::sleep(Duration::from_millis(case.count));
}

async fn sleep_until_woken(sleeper: Sleeper, delays: Arc<Delays>) {
    sleeper.0.opened().await;
    note(&delays.woken, sleeper.1.load(Ordering::Relaxed));
}

async fn tick(delays: Arc<Delays>) {
    while !delays.stop.is_open() {
        let due = clock::stamp() + 1_000_000;
        sleep(Duration::from_millis(1)).await;
        note(&delays.timers, due);
    }
}

async fn echo(address: SocketAddr) {
    let (mut socket, mut buffer) = (Socket::connect(address).await, Vec::new());
    loop {
        buffer.resize(1, 0);
        let count;
        (count, buffer) = socket.read(buffer).await;
        if count == 0 {
            return;
        }
        buffer = socket.write_all(buffer).await;
    }
}

/// Starts a client of `echo`, on a thread of its own, and says where it can be reached.
fn client(delays: &Arc<Delays>) -> (std::thread::JoinHandle<()>, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    let address = listener.local_addr().expect("is bound");
    let delays = delays.clone();
    let client = move || {
        let (mut stream, _) = listener.accept().expect("accepts");
        stream.set_nodelay(true).expect("is a TCP socket");
        while !delays.stop.is_open() {
            let sent = clock::stamp();
            let trip = stream
                .write_all(&[0])
                .and_then(|()| stream.read_exact(&mut [0]));
            if trip.is_err() {
                // Only at the end, when the runtime is dropped with the other side in it.
                assert!(delays.stop.is_open(), "{trip:?}");
                return;
            }
            note(&delays.sockets, sent);
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    (std::thread::spawn(client), address)
}

/// Keeps the longest delay.
fn note(longest: &AtomicU64, due: u64) {
    longest.fetch_max(clock::stamp().saturating_sub(due), Ordering::Relaxed);
}
