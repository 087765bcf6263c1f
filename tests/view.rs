//! What a dump says of tasks that wait for sockets, on each mechanism that works here.

use std::net::SocketAddr;
use std::time::{Duration, Instant};
use windlass::io::copy_bidirectional;
use windlass::net::{TcpListener, TcpStream};
use windlass::reactor::Backend;
use windlass::time::{sleep, timeout};
use windlass::{Handle, Id, Runtime, TaskView, WaitingFor, spawn, yield_now};

/// Nothing here takes longer.
const LIMIT: Duration = Duration::from_secs(20);

/// Looks at a task once it waits for as many things as it should.
async fn waiting(task: Id, count: usize) -> TaskView {
    let end = Instant::now() + LIMIT;
    loop {
        let dump = Handle::current().dump();
        let found = dump.tasks.iter().find(|view| view.id == task);
        let view = found.expect("it is alive").clone();
        let is_known = !view.waits_for.contains(&WaitingFor::Other);
        if view.waits_for.len() == count && is_known {
            return view;
        }
        assert!(Instant::now() < end, "{view}");
        yield_now().await;
    }
}

fn reads_from(view: &TaskView) -> Vec<SocketAddr> {
    let peers = view
        .waits_for
        .iter()
        .filter_map(|waits_for| match waits_for {
            WaitingFor::Read(endpoint) => endpoint.peer,
            _ => None,
        });
    peers.collect()
}

async fn sockets() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepts = spawn(async move {
        let mut accepted = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            accepted.push(stream);
        }
    });
    let one = TcpStream::connect(address).await.unwrap();
    let two = TcpStream::connect(address).await.unwrap();
    let view = waiting(accepts.id(), 1).await;
    match &view.waits_for[0] {
        WaitingFor::Accept(on) => assert_eq!(on.local, Some(address)),
        other => panic!("{other}"),
    }

    // One that passes bytes on waits for both sides.
    let copies = spawn(async move { copy_bidirectional(&one, &two).await });
    let view = waiting(copies.id(), 2).await;
    assert_eq!(reads_from(&view), [address, address], "{view}");

    // One with a time limit waits for that, too.
    let three = TcpStream::connect(address).await.unwrap();
    let reads = spawn(async move { timeout(LIMIT, three.read(&mut [0])).await.is_ok() });
    let view = waiting(reads.id(), 2).await;
    assert_eq!(reads_from(&view), [address], "{view}");
    let is_sleep = |waits_for: &WaitingFor| matches!(waits_for, WaitingFor::Sleep { .. });
    assert!(view.waits_for.iter().any(is_sleep), "{view}");
    sleep(Duration::from_millis(1)).await;
    let metrics = Handle::current().metrics();
    assert!(metrics.total().events >= 1, "{metrics}");
    assert!(metrics.total().timers >= 1, "{metrics}");
    for task in [
        accepts.abort_handle(),
        copies.abort_handle(),
        reads.abort_handle(),
    ] {
        task.abort();
    }
}

#[test]
fn waits_for_sockets_are_named() {
    for backend in Backend::available() {
        for workers in [1, 2] {
            let builder = Runtime::builder().backend(backend).workers(workers);
            builder.build().unwrap().block_on(sockets());
        }
    }
}
