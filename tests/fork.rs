//! What a forked child and its parent have both, and must not both use.

#[path = "../executor/tests/support/fork.rs"]
mod fork;
mod support;

use fork::beside_child;
use futures_util::future::join3;
use support::LIMIT;
use windlass::io::copy;
use windlass::net::{Shutdown, UnixStream};
use windlass::time::timeout;

/// Copies so many bytes that they go through a pipe, and checks that all are `byte`.
fn copy_bulk(byte: u8) {
    const BULK: usize = 8 << 20;
    windlass::block_on(async {
        let (from, a) = UnixStream::pair().unwrap();
        let (b, to) = UnixStream::pair().unwrap();
        let sending = async {
            from.write_all(&vec![byte; BULK]).await.unwrap();
            from.shutdown(Shutdown::Write).unwrap();
        };
        let mut received = vec![0; BULK];
        let all = join3(sending, copy(&a, &b), to.read_exact(&mut received));
        let ((), copied, read) = timeout(LIMIT, all).await.expect("bytes are lost");
        assert_eq!(copied.unwrap(), BULK as u64);
        read.unwrap();
        let strange = received.iter().filter(|one| **one != byte).count();
        assert_eq!(strange, 0, "bytes of another process");
    });
}

/// The thread keeps a pipe for the next copy, and both processes have it then.
#[test]
fn copies_of_parent_and_child_do_not_mix() {
    copy_bulk(1);
    for _ in 0..3 {
        beside_child(|| copy_bulk(2), || copy_bulk(3));
    }
}
