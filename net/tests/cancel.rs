//! Futures that are dropped before they are done: nothing is lost, and nothing is left behind.

mod common;

use common::{Count, MOMENT, fill, listen, pair, pattern, run};
use futures::future::join;
use std::pin::pin;
use std::sync::Arc;
use std::task::Context;
use windlass_net::{TcpStream, lookup_host};
use windlass_reactor::time::timeout;

#[test]
fn a_cancelled_read_takes_no_byte() {
    run(async {
        let (client, server) = pair().await;
        let bytes = pattern(2000);
        let writing = async {
            for piece in bytes.chunks(7) {
                client.write_all(piece).await.unwrap();
                windlass_reactor::time::sleep(MOMENT / 600).await;
            }
        };
        let reading = async {
            let mut all = Vec::new();
            let mut space = [0; 5];
            while all.len() < bytes.len() {
                let read = timeout(MOMENT / 500, server.read(&mut space)).await;
                if let Ok(count) = read {
                    all.extend_from_slice(&space[..count.unwrap()]);
                }
            }
            all
        };
        let ((), all) = join(writing, reading).await;
        assert!(all == bytes);
    });
}

/// A future that was dropped is not woken, and its waker is let go of.
#[test]
fn a_cancelled_wait_leaves_no_waker() {
    run(async {
        let (client, server) = pair().await;
        let (count, waker) = Count::waker();
        let mut context = Context::from_waker(&waker);
        let (mut one, mut two) = ([0; 8], [0; 8]);
        {
            let mut reading = pin!(server.read(&mut one));
            let mut peeking = pin!(server.peek(&mut two));
            assert!(reading.as_mut().poll(&mut context).is_pending());
            assert!(peeking.as_mut().poll(&mut context).is_pending());
            assert_eq!(Arc::strong_count(&count), 4);
        }
        assert_eq!(Arc::strong_count(&count), 2);
        client.write_all(b"late").await.unwrap();
        assert_eq!(server.read(&mut one).await.unwrap(), 4);
        assert_eq!(count.get(), 0);
    });
}

#[test]
fn cancelling_one_of_several_waits_leaves_the_others() {
    run(async {
        let (client, server) = pair().await;
        let (count, waker) = Count::waker();
        let mut context = Context::from_waker(&waker);
        let (mut one, mut two) = ([0; 8], [0; 8]);
        let mut kept = pin!(server.peek(&mut one));
        assert!(kept.as_mut().poll(&mut context).is_pending());
        {
            let mut dropped = pin!(server.peek(&mut two));
            assert!(dropped.as_mut().poll(&mut context).is_pending());
        }
        client.write_all(b"kept").await.unwrap();
        common::wait_until(|| count.get() == 1);
        assert_eq!(kept.await.unwrap(), 4);
    });
}

/// Reading all and writing all can go on after they were interrupted.
#[test]
fn reading_and_writing_all_go_on_where_they_were() {
    run(async {
        let (client, server) = pair().await;
        let bytes = pattern(3 << 20);
        let writing = async {
            let mut written = 0;
            while timeout(MOMENT / 100, client.write_all_from(&bytes, &mut written))
                .await
                .is_err()
            {}
            assert_eq!(written, bytes.len());
        };
        let reading = async {
            let (mut all, mut filled) = (vec![0; bytes.len()], 0);
            while timeout(MOMENT / 90, server.read_exact_from(&mut all, &mut filled))
                .await
                .is_err()
            {}
            all
        };
        let ((), all) = join(writing, reading).await;
        assert!(all == bytes);
    });
}

#[test]
fn a_cancelled_write_of_all_has_written_a_beginning() {
    run(async {
        let (client, server) = pair().await;
        let bytes = pattern(32 << 20);
        let mut written = 0;
        let writing = client.write_all_from(&bytes, &mut written);
        assert!(timeout(MOMENT, writing).await.is_err());
        assert!(0 < written && written < bytes.len());
        drop(client);
        assert!(common::read_to_end(&server).await.unwrap() == bytes[..written]);
    });
}

#[test]
fn a_cancelled_connect_closes_its_socket() {
    if !common::is_child() {
        return common::assert_passes_in_child("a_cancelled_connect_closes_its_socket");
    }
    run(async {
        let (_listener, _waiting, address) = common::silent("127.0.0.1:0");
        let give_up = async || {
            let connecting = TcpStream::connect(address);
            assert!(timeout(MOMENT / 10, connecting).await.is_err());
        };
        common::assert_leaves_no_descriptor(20, give_up).await;
        // Others are connected as ever.
        let listener = listen().await;
        TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
    });
}

#[test]
fn a_cancelled_lookup_leaves_no_waker() {
    let (count, waker) = Count::waker();
    for _ in 0..100 {
        let mut looking = pin!(lookup_host("localhost:1"));
        let _ = looking.as_mut().poll(&mut Context::from_waker(&waker));
    }
    common::wait_until(|| Arc::strong_count(&count) == 2);
    assert!(!run(lookup_host("localhost:1")).unwrap().is_empty());
}

/// The stream goes while another task waits with it: the wait ends with the stream's task.
#[test]
fn dropping_a_stream_that_is_waited_for_is_no_harm() {
    run(async {
        let (client, server) = pair().await;
        fill(&server).await;
        let (_, waker) = Count::waker();
        let mut context = Context::from_waker(&waker);
        assert!(server.poll_read(&mut context, &mut [0; 8]).is_pending());
        assert!(server.poll_write(&mut context, &[0; 8]).is_pending());
        drop(server);
        let mut space = vec![0; 1 << 20];
        while client.read(&mut space).await.unwrap() > 0 {}
    });
}
