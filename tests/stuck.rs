//! A task that blocks its thread does not keep a server from answering.

mod support;

use std::sync::mpsc;
use std::time::{Duration, Instant};
use support::LIMIT;
use windlass::net::{TcpListener, TcpStream};
use windlass::reactor::Backend;
use windlass::{Culprit, Runtime, spawn, time};

/// In what time help must have come, also on a machine that is busy with other things.
const HELPED: Duration = Duration::from_secs(5);

#[test]
fn connections_go_on_while_a_task_blocks_its_thread() {
    for backend in Backend::available() {
        println!("{backend}");
        let (tell, told) = mpsc::channel();
        let runtime = Runtime::builder()
            .workers(3)
            .backend(backend)
            .on_stall(move |stall| {
                let _ = tell.send(stall.clone());
            })
            .build()
            .unwrap();
        // Not as the future of `block_on`, which can not leave its thread.
        runtime
            .block_on(async { spawn(serve_and_ask()).await })
            .unwrap();
        let stall = told.recv_timeout(LIMIT).unwrap();
        assert!(matches!(stall.culprit, Culprit::Task(_)), "{stall}");
    }
}

/// Has connections on every worker, blocks one of those, and asks on all connections.
async fn serve_and_ask() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            spawn(echo(stream));
        }
    });
    let mut clients = Vec::new();
    for _ in 0..16 {
        let client = TcpStream::connect(address).await.unwrap();
        // It has waited once, and so has a reactor.
        clients.push(spawn(ask(client)).await.unwrap());
    }
    let (release, until_released) = mpsc::channel::<()>();
    let blocked = spawn(async move { until_released.recv_timeout(LIMIT).is_err() });
    time::sleep(Duration::from_millis(20)).await;
    let begin = Instant::now();
    let asking: Vec<_> = clients
        .into_iter()
        .map(|client| spawn(ask(client)))
        .collect();
    for asked in asking {
        asked.await.unwrap();
    }
    assert!(begin.elapsed() < HELPED, "{:?}", begin.elapsed());
    assert!(!blocked.is_finished());
    drop(release);
    assert!(blocked.await.unwrap());
}

async fn echo(stream: TcpStream) {
    let mut space = [0; 16];
    while let Ok(length @ 1..) = stream.read(&mut space).await {
        stream.write_all(&space[..length]).await.unwrap();
    }
}

async fn ask(stream: TcpStream) -> TcpStream {
    stream.write_all(b"x").await.unwrap();
    assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 1);
    stream
}
