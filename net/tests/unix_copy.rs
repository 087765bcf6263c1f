//! Copying between TCP and Unix streams in any pairing: through a buffer, and within the kernel.

mod common;

use common::strace::{can_trace, traced};
use common::{LIMIT, MOMENT, pattern, run};
use futures::future::{join, join3};
use windlass_net::io::{CopyFrom, CopyTo, KernelEnd, copy, copy_bidirectional};
use windlass_net::{Shutdown, TcpStream, UnixStream};
use windlass_reactor::time::timeout;

/// A stream of either kind.
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    async fn pair(is_unix: bool) -> (Self, Self) {
        if is_unix {
            let (one, other) = UnixStream::pair().unwrap();
            (Self::Unix(one), Self::Unix(other))
        } else {
            let (one, other) = common::pair().await;
            (Self::Tcp(one), Self::Tcp(other))
        }
    }

    async fn write_all(&self, bytes: &[u8]) {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes).await.unwrap(),
            Self::Unix(stream) => stream.write_all(bytes).await.unwrap(),
        }
    }

    fn end(&self) {
        match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write).unwrap(),
            Self::Unix(stream) => stream.shutdown(Shutdown::Write).unwrap(),
        }
    }

    async fn send(&self, bytes: &[u8]) {
        self.write_all(bytes).await;
        self.end();
    }

    async fn read_to_end(&self) -> Vec<u8> {
        let (mut all, mut space) = (Vec::new(), vec![0; 50_000]);
        loop {
            let count = match self {
                Self::Tcp(stream) => stream.read(&mut space).await.unwrap(),
                Self::Unix(stream) => stream.read(&mut space).await.unwrap(),
            };
            match count {
                0 => return all,
                count => all.extend_from_slice(&space[..count]),
            }
        }
    }
}

/// As the streams are, and with their ends in the kernel.
impl CopyFrom for &Stream {
    fn poll_read(
        &mut self,
        context: &mut std::task::Context<'_>,
        space: &mut [u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        match self {
            Stream::Tcp(stream) => stream.poll_read(context, space),
            Stream::Unix(stream) => stream.poll_read(context, space),
        }
    }

    fn kernel_end(&self) -> Option<KernelEnd<'_>> {
        match self {
            Stream::Tcp(stream) => CopyFrom::kernel_end(stream),
            Stream::Unix(stream) => CopyFrom::kernel_end(stream),
        }
    }
}

impl CopyTo for &Stream {
    fn poll_write(
        &mut self,
        context: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        match self {
            Stream::Tcp(stream) => stream.poll_write(context, bytes),
            Stream::Unix(stream) => stream.poll_write(context, bytes),
        }
    }

    fn poll_flush(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn poll_close(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        self.end();
        std::task::Poll::Ready(Ok(()))
    }

    fn kernel_end(&self) -> Option<KernelEnd<'_>> {
        match self {
            Stream::Tcp(stream) => CopyTo::kernel_end(stream),
            Stream::Unix(stream) => CopyTo::kernel_end(stream),
        }
    }
}

const PAIRINGS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// Small messages, and then bulk, both ways at once, with ends that come one after the other.
#[test]
fn nothing_is_lost_in_any_pairing() {
    for (client_is_unix, server_is_unix) in PAIRINGS {
        run(async {
            let (client, a) = Stream::pair(client_is_unix).await;
            let (b, server) = Stream::pair(server_is_unix).await;
            let (up, down) = (pattern(9 << 20), pattern((5 << 20) + 17));
            let sending = async {
                for piece in up[..10_000].chunks(113) {
                    client.write_all(piece).await;
                }
                client.send(&up[10_000..]).await;
            };
            let there = join(sending, server.read_to_end());
            let back = join(server.send(&down), client.read_to_end());
            let (((), got_up), ((), got_down), moved) =
                join3(there, back, copy_bidirectional(&a, &b)).await;
            assert!(got_up == up && got_down == down);
            assert_eq!(moved.unwrap(), (up.len() as u64, down.len() as u64));
        });
    }
}

/// The types themselves have ends in the kernel, and their halves, too.
#[test]
fn the_streams_and_their_halves_are_copied() {
    run(async {
        let (client, a) = UnixStream::pair().unwrap();
        let (b, server) = common::pair().await;
        let (bytes, more) = (pattern(4 << 20), pattern(3 << 20));
        let (reader, writer) = a.into_split();
        let (to, from) = (b.split().1, b.split().0);
        let copying = join(copy(reader, to), async {
            let count = copy(from, writer.as_ref()).await.unwrap();
            writer.shutdown().unwrap();
            count
        });
        let outer = async {
            client.write_all(&bytes).await.unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            Stream::Unix(client).read_to_end().await
        };
        let inner = async {
            server.write_all(&more).await.unwrap();
            server.shutdown(Shutdown::Write).unwrap();
            let mut all = vec![0; bytes.len()];
            server.read_exact(&mut all).await.unwrap();
            all
        };
        let ((there, back), got_more, got) = join3(copying, outer, inner).await;
        assert_eq!(
            (there.unwrap(), back),
            (bytes.len() as u64, more.len() as u64)
        );
        assert!(got == bytes && got_more == more);
    });
}

/// What was read and not written is handed back, in bulk, in any pairing.
#[test]
fn a_copy_that_is_given_up_loses_nothing() {
    for (from_is_unix, to_is_unix) in PAIRINGS {
        run(async {
            let (from, a) = Stream::pair(from_is_unix).await;
            let (b, to) = Stream::pair(to_is_unix).await;
            let piece = pattern(1_000_003);
            let mut sent = Vec::new();
            let mut copying = copy(&a, &b);
            let sending = async {
                loop {
                    let rest = &piece[sent.len() % piece.len()..];
                    let count = match &from {
                        Stream::Tcp(stream) => timeout(MOMENT * 4, stream.write(rest)).await,
                        Stream::Unix(stream) => timeout(MOMENT * 4, stream.write(rest)).await,
                    };
                    match count {
                        Ok(count) => sent.extend_from_slice(&rest[..count.unwrap()]),
                        Err(_full) => return,
                    }
                }
            };
            futures::select_biased! {
                ended = futures::FutureExt::fuse(&mut copying) => panic!("{ended:?}"),
                () = futures::FutureExt::fuse(Box::pin(sending)) => {}
            }
            let moved = usize::try_from(copying.moved()).unwrap();
            let unwritten = copying.take_unwritten().unwrap();
            drop(copying);
            from.end();
            b.end();
            let (left, got) = join(a.read_to_end(), to.read_to_end()).await;
            assert_eq!(got.len(), moved);
            assert!([got, unwritten, left].concat() == sent);
        });
    }
}

/// Bulk is moved by splice(2), whichever the kinds are.
#[test]
fn bulk_goes_within_the_kernel_in_any_pairing() {
    const NAME: &str = "bulk_goes_within_the_kernel_in_any_pairing";
    const BULK: usize = 8 << 20;
    if !common::is_child() {
        if !cfg!(target_os = "linux") {
            return eprintln!("skipped: it goes through a buffer here");
        }
        if !can_trace() {
            return;
        }
        let calls = traced(&["-e", "trace=splice"], NAME);
        let moved = calls.iter().filter_map(|line| line.rsplit_once(" = "));
        let moved = moved.filter_map(|(_, count)| count.trim().parse::<usize>().ok());
        // In and out of a pipe.
        let expected = PAIRINGS.len() * BULK * 2;
        let moved = moved.sum::<usize>();
        assert!(moved * 10 > expected * 9, "{moved} of {expected} bytes");
        return;
    }
    for (from_is_unix, to_is_unix) in PAIRINGS {
        run(async {
            let (from, a) = Stream::pair(from_is_unix).await;
            let (b, to) = Stream::pair(to_is_unix).await;
            let bytes = pattern(BULK);
            let copying = async {
                copy(&a, &b).await.unwrap();
                b.end();
            };
            let copying = timeout(LIMIT, copying);
            let ((), got, ended) = join3(from.send(&bytes), to.read_to_end(), copying).await;
            ended.unwrap();
            assert!(got == bytes);
        });
    }
}
