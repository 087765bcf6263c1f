//! What connections cost in system calls, on epoll: each test runs itself again in a child, twice under
//! strace, and looks at what the longer run has called more often.

mod support;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream as StdTcpStream};
use std::thread;
use support::LIMIT;
use support::child;
use support::trace::{MEMORY, SLACK, WAITS, assert_near, assert_none, compare, run};
use windlass::net::{TcpListener, TcpStream};
use windlass::{spawn, yield_now};

/// A connection's message.
const MESSAGE: [u8; 64] = [7; 64];

async fn echo(stream: TcpStream) {
    let mut space = [0; 256];
    while let Ok(count @ 1..) = stream.read(&mut space).await {
        stream.write_all(&space[..count]).await.unwrap();
    }
}

/// Serves so many connections to their ends.
fn serve(connections: usize) {
    run(1, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        child::say_ready(listener.local_addr().ok());
        let mut tasks = Vec::new();
        for _ in 0..connections {
            let (stream, _) = listener.accept().await.unwrap();
            tasks.push(spawn(echo(stream)));
        }
        // All of them are to wait for their first message, in each run.
        for _ in 0..10 {
            yield_now().await;
        }
        child::say_ready(None);
        for task in tasks {
            task.await.unwrap();
        }
    });
}

fn connect(address: SocketAddr) -> StdTcpStream {
    let stream = StdTcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

#[test]
fn a_steady_echo_is_a_wait_a_read_and_a_write() {
    let rounds = (100, 1_100);
    compare(
        "a_steady_echo_is_a_wait_a_read_and_a_write",
        rounds,
        |_| serve(1),
        |child, rounds| {
            let mut stream = connect(child.wait_until_ready().unwrap());
            child.wait_until_ready();
            for _ in 0..rounds {
                stream.write_all(&MESSAGE).unwrap();
                stream.read_exact(&mut [0; 64]).unwrap();
            }
        },
        |calls| {
            assert_near(calls.of(&["recvfrom"]), 1_000);
            assert_near(calls.of(&["sendto"]), 1_000);
            assert_near(calls.of(WAITS), 1_000);
            assert_none(calls.besides(&[&["recvfrom", "sendto"], WAITS]));
            assert_none(calls.failed(&["recvfrom", "sendto"]));
        },
    );
}

#[test]
fn many_busy_connections_share_their_waits() {
    const CONNECTIONS: usize = 64;
    let rounds = (5, 55);
    compare(
        "many_busy_connections_share_their_waits",
        rounds,
        |_| serve(CONNECTIONS),
        |child, rounds| {
            let address = child.wait_until_ready().unwrap();
            let mut streams: Vec<_> = (0..CONNECTIONS).map(|_| connect(address)).collect();
            child.wait_until_ready();
            for _ in 0..rounds {
                streams
                    .iter_mut()
                    .for_each(|stream| stream.write_all(&MESSAGE).unwrap());
                streams
                    .iter_mut()
                    .for_each(|stream| stream.read_exact(&mut [0; 64]).unwrap());
            }
        },
        |calls| {
            let messages = (50 * CONNECTIONS) as i64;
            assert_near(calls.of(&["recvfrom"]), messages);
            assert_near(calls.of(&["sendto"]), messages);
            assert_none(calls.besides(&[&["recvfrom", "sendto"], WAITS]));
            assert_none(calls.failed(&["recvfrom", "sendto"]));
            // While it is traced every call takes so long that I/O is looked at after each task.
            let waits = calls.of(WAITS);
            assert!(waits <= messages + SLACK, "{waits} waits");
        },
    );
}

#[test]
fn a_connection_whose_request_is_there_is_served_without_being_registered() {
    let rounds = (20, 100);
    compare(
        "a_connection_whose_request_is_there_is_served_without_being_registered",
        rounds,
        |connections| {
            run(1, async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                child::say_ready(listener.local_addr().ok());
                // Every connection is there, and its request with it.
                child::wait_for_parent();
                for _ in 0..connections {
                    let (stream, _) = listener.accept().await.unwrap();
                    let serve = async move {
                        let mut space = [0; 256];
                        let count = stream.read(&mut space).await.unwrap();
                        stream.write_all(&space[..count]).await.unwrap();
                    };
                    spawn(serve).await.unwrap();
                }
            });
        },
        |child, connections| {
            let address = child.wait_until_ready().unwrap();
            let streams: Vec<_> = (0..connections)
                .map(|_| {
                    let mut stream = connect(address);
                    stream.write_all(&MESSAGE).unwrap();
                    stream
                })
                .collect();
            child.go_on();
            for mut stream in streams {
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer).unwrap();
                assert_eq!(answer, MESSAGE);
            }
        },
        |calls| {
            assert_eq!(calls.of(&["epoll_ctl"]), 0);
            for name in ["accept4", "recvfrom", "sendto", "close"] {
                assert_near(calls.of(&[name]), 80);
            }
            let once = ["accept4", "recvfrom", "sendto", "close"];
            // With its checks on, the standard library looks at each descriptor that it closes.
            let checks: &[&str] = if cfg!(debug_assertions) {
                &["fcntl"]
            } else {
                &[]
            };
            assert_none(calls.besides(&[&once, checks, WAITS, MEMORY]));
            // Looks at I/O between tasks, not waits of a connection.
            assert!(calls.of(WAITS) <= 80 + SLACK);
        },
    );
}

/// The last thing that a connection does is to be closed; the peer sees the end, not a reset.
#[test]
fn a_served_connection_ends_in_order() {
    run(1, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let client = thread::spawn(move || {
            let mut stream = connect(address);
            stream.write_all(&MESSAGE).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            answer
        });
        let (stream, _) = listener.accept().await.unwrap();
        spawn(echo(stream)).await.unwrap();
        assert_eq!(client.join().unwrap(), MESSAGE);
    });
}
