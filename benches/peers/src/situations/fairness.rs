//! Tasks that take more than their share, and what their neighbours notice.

use super::super::{Socket, detach, run, yield_now};
use crate::case::{Case, Report, Samples};
use crate::clock::{self, spin};
use crate::control::Control;
use crate::gate::Gate;
use crate::median::{largest, median};
use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Beside a task that wakes itself, 10 microseconds a poll, a neighbour is sent `count` messages
/// on a socket: how long each takes until it was read, and until its answer is back.
pub(super) fn hog(case: Case) -> Report {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    let address = listener.local_addr().expect("is bound");
    let client = std::thread::spawn(move || send(&listener, case.count));
    let control = Control::start();
    let one_way = run(case.workers, async move {
        let mut socket = Socket::connect(address).await;
        let stop = Arc::new(Gate::default());
        detach(turn_and_turn(stop.clone()));
        let (mut one_way, mut buffer) = (Samples::default(), vec![0; 8]);
        loop {
            buffer.resize(8, 0);
            let count;
            (count, buffer) = socket.read(buffer).await;
            let Ok(sent) = buffer[..count].try_into().map(u64::from_le_bytes) else {
                break;
            };
            one_way.since(sent);
            buffer = socket.write_all(buffer).await;
        }
        stop.open();
        one_way
    });
    let trips = client.join().expect("the thread does not panic");
    Report::of("median_us", median(&one_way.0))
        .and("max_us", largest(&one_way.0))
        .and("trip_median_us", median(&trips.0))
        .and("trip_max_us", largest(&trips.0))
        .and("control_us", control.stop())
}

/// The hog.
async fn turn_and_turn(stop: Arc<Gate>) {
    poll_fn(|context| {
        spin(Duration::from_micros(10));
        context.waker().wake_by_ref();
        match stop.is_open() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

/// The client: sends the time, waits for the answer.
fn send(listener: &TcpListener, count: u64) -> Samples {
    let (mut stream, _) = listener.accept().expect("accepts");
    stream.set_nodelay(true).expect("is a TCP socket");
    let mut trips = Samples::default();
    for _ in 0..count {
        std::thread::sleep(Duration::from_micros(100));
        let sent = clock::stamp();
        stream.write_all(&sent.to_le_bytes()).expect("writes");
        stream.read_exact(&mut [0; 8]).expect("reads");
        trips.since(sent);
    }
    trips
}

/// Beside a task whose socket is always ready and that never yields: the longest time, within
/// `count` milliseconds, that a neighbour which only yields is not run.
pub(super) fn greedy(case: Case) -> Report {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    let address = listener.local_addr().expect("is bound");
    std::thread::spawn(move || flood(&listener));
    let control = Control::start();
    let gaps = run(case.workers, async move {
        let end = Duration::from_millis(case.count);
        let (begun, stop) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
        let socket = Socket::connect(address).await;
        // The flood has filled the socket by then.
        spin(Duration::from_millis(20));
        detach(read_on(socket, begun.clone(), stop.clone(), 2 * end));
        let (start, mut gaps) = (Instant::now(), Samples::default());
        while start.elapsed() < end || !begun.is_open() {
            let before = clock::stamp();
            yield_now().await;
            gaps.since(before);
        }
        stop.open();
        gaps
    });
    Report::of("gap_ms", largest(&gaps.0) / 1e3).and("control_us", control.stop())
}

/// The greedy task. It gives up after a while, where nothing else would make it stop.
async fn read_on(mut socket: Socket, begun: Arc<Gate>, stop: Arc<Gate>, limit: Duration) {
    let (start, mut buffer) = (Instant::now(), vec![0; 16]);
    begun.open();
    while !stop.is_open() && start.elapsed() < limit {
        buffer.resize(16, 0);
        (_, buffer) = socket.read(buffer).await;
    }
}

/// Writes to whoever connects, for as long as it takes it.
fn flood(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().expect("accepts");
    while stream.write_all(&[0; 64 << 10]).is_ok() {}
}
