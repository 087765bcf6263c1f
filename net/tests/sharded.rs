//! Listeners that share an address: one port, all connections, about as many each.

mod common;

use common::{LIMIT, has_v6, run};
use futures::executor::block_on;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use windlass_net::{TcpListener, TcpStream};
use windlass_reactor::time::timeout;

/// The one that connects resets, so that no port is kept busy for a minute.
fn connect_and_reset(address: SocketAddr) {
    let stream = std::net::TcpStream::connect(address).unwrap();
    let socket = socket2::Socket::from(stream);
    socket.set_linger(Some(Duration::ZERO)).unwrap();
}

/// Has a thread for each of the listeners accept until `total` have come to all of them; returns
/// how many came to each.
fn counts(listeners: Vec<TcpListener>, total: usize, connect: impl FnOnce()) -> Vec<usize> {
    let accepted = Arc::new(AtomicUsize::new(0));
    let accept_all = |listener: TcpListener| {
        let accepted = accepted.clone();
        std::thread::spawn(move || {
            let mut count = 0;
            block_on(timeout(LIMIT, async {
                while accepted.load(Ordering::SeqCst) < total {
                    let moment = common::MOMENT;
                    if let Ok(connection) = timeout(moment, listener.accept()).await {
                        drop(connection.unwrap());
                        count += 1;
                        accepted.fetch_add(1, Ordering::SeqCst);
                    }
                }
            }))
            .expect("not all connections were accepted");
            count
        })
    };
    let accepting: Vec<_> = listeners.into_iter().map(accept_all).collect();
    connect();
    accepting
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect()
}

/// The share of each is a matter of chance, with a deviation of half a percent: ten percent is
/// 20 deviations.
#[test]
fn each_of_two_listeners_gets_about_half() {
    const CONNECTIONS: usize = 10_000;
    let listeners = run(TcpListener::bind_sharded("127.0.0.1:0", 2)).unwrap();
    let address = listeners[0].local_addr().unwrap();
    let counts = counts(listeners, CONNECTIONS, || {
        for _ in 0..CONNECTIONS {
            connect_and_reset(address);
        }
    });
    println!("{counts:?}");
    assert_eq!(counts.iter().sum::<usize>(), CONNECTIONS);
    let half = CONNECTIONS / 2;
    for count in counts {
        assert!(count.abs_diff(half) <= half / 10, "{count}");
    }
}

#[test]
fn all_have_one_port() {
    run(async {
        let v6 = has_v6().then_some("[::1]:0");
        for address in ["127.0.0.1:0"].into_iter().chain(v6) {
            let listeners = TcpListener::bind_sharded(address, 4).await.unwrap();
            assert_eq!(listeners.len(), 4);
            let shared = listeners[0].local_addr().unwrap();
            assert_ne!(shared.port(), 0);
            for listener in &listeners {
                assert_eq!(listener.local_addr().unwrap(), shared);
            }
            // Whichever of them gets it, it is got.
            let client = TcpStream::connect(shared).await.unwrap();
            let accepting = listeners.iter().map(|one| Box::pin(one.accept()));
            let (accepted, ..) = futures::future::select_all(accepting).await;
            assert_eq!(accepted.unwrap().1, client.local_addr().unwrap());
        }
    });
}

#[test]
fn what_is_taken_or_wrong_is_told() {
    run(async {
        let taken = common::listen().await;
        let address = taken.local_addr().unwrap();
        let error = TcpListener::bind_sharded(address, 2).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let listeners = TcpListener::bind_sharded([address, any], 2).await.unwrap();
        assert_ne!(listeners[1].local_addr().unwrap(), address);
        let error = TcpListener::bind_sharded(any, 0).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        // Nobody else gets a port that isn't asked for likewise.
        let shared = listeners[0].local_addr().unwrap();
        let error = TcpListener::bind(shared).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
    });
}
